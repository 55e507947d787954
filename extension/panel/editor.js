// Runs in: side panel. The address that opens a file in the user's editor. Pure.

/** What an address must not be, whatever the template says. */
const never = /^(javascript|data|blob|file|chrome|chrome-extension|about|view-source):/i;

/**
 * @param {string} template with {path} and {line}, as in the settings
 * @param {string} repoDir the repository, absolute; "" when it is not known
 * @param {string} path relative to it, or absolute
 * @param {number} line
 * @returns {string} "" when there is none
 */
export function editorAddress(template, repoDir, path, line) {
  const isAbsolute = /^(\/|[A-Za-z]:[\\/])/.test(path);
  if (!repoDir) return "";
  const whole = straight(isAbsolute ? path : `${repoDir}/${path}`);
  if (!whole.startsWith(straight(repoDir) + "/")) return ""; // an answer names files, but only of the project
  const encoded = whole.split("/").map(encodeURIComponent).join("/").replace(/^([A-Za-z])%3A/, "$1:");
  const inPlace = template.includes("/{path}") ? encoded.replace(/^\//, "") : encoded;
  const address = template.replaceAll("{path}", () => inPlace).replaceAll("{line}", String(line));
  return /^[a-z][a-z0-9+.-]*:/i.test(address) && !never.test(address) ? address : "";
}

/** A path with / between its names, and no "." and "..". @param {string} path */
function straight(path) {
  const names = path.replaceAll("\\", "/").split("/");
  /** @type {string[]} */
  const kept = [];
  for (const [at, name] of names.entries()) {
    if (name === "..") kept.pop();
    else if (name !== "." && (name !== "" || at === 0)) kept.push(name);
  }
  return kept.join("/");
}
