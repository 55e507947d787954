// Runs in: panel, options. Which is newer, this extension or the shim's binary:
// the binary writes the extension out, so the two are to be the same.

/** The whole version of this extension. */
export function extensionVersion() {
  const { version, version_name: name } = chrome.runtime.getManifest();
  return name ?? version;
}

/** @param {string} version @returns {number[] | null} the numbers it begins with */
const numbers = (version) => /^v?(\d+(?:\.\d+){0,3})/.exec(version)?.[1].split(".").map(Number) ?? null;

/**
 * Negative when a is older than b, positive when it is newer, 0 when they are
 * the same or one of them is no version. What follows the numbers is a name.
 * @param {string} a
 * @param {string} b
 */
export function compareVersions(a, b) {
  const [x, y] = [numbers(a), numbers(b)];
  if (x === null || y === null) return 0;
  for (let i = 0; i < 4; i++) {
    const difference = (x[i] ?? 0) - (y[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
