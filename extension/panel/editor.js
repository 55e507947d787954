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
  if (!isAbsolute && !repoDir) return "";
  const whole = (isAbsolute ? path : `${repoDir}/${path}`).replaceAll("\\", "/").replace(/\/{2,}/g, "/");
  const encoded = whole.split("/").map(encodeURIComponent).join("/").replace(/^([A-Za-z])%3A/, "$1:");
  const inPlace = template.includes("/{path}") ? encoded.replace(/^\//, "") : encoded;
  const address = template.replaceAll("{path}", () => inPlace).replaceAll("{line}", String(line));
  return /^[a-z][a-z0-9+.-]*:/i.test(address) && !never.test(address) ? address : "";
}
