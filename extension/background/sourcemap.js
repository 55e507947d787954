// Runs in: service worker. From a place in served code to the place in its
// source. Pure, but for `mapOf`, which is told how to fetch.

/** @typedef {{sources?: (string | null)[], sourceRoot?: string, mappings?: string, sections?: {offset: {line: number, column: number}, map: SourceMap}[]}} SourceMap */

const digits = new Map([..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].map((c, i) => [c, i]));

/** The numbers of one segment: base 64, five bits each, the sign last. @param {string} segment */
function numbers(segment) {
  const found = [];
  let value = 0;
  let shift = 0;
  for (const c of segment) {
    const digit = digits.get(c);
    if (digit === undefined) return found;
    value += (digit & 31) * 2 ** shift;
    shift += 5;
    if (digit & 32) continue;
    found.push(value % 2 === 1 ? -Math.floor(value / 2) : value / 2);
    value = shift = 0;
  }
  return found;
}

/**
 * @param {SourceMap} map
 * @param {number} line from 1
 * @param {number} column from 1, as in a stack trace
 * @returns {{source: string, line: number} | null}
 */
export function originalPlace(map, line, column) {
  if (Array.isArray(map.sections)) {
    const section = map.sections.findLast(({ offset }) => offset.line < line - 1 || (offset.line === line - 1 && offset.column < column));
    if (!section) return null;
    const { offset } = section;
    return originalPlace(section.map, line - offset.line, offset.line === line - 1 ? column - offset.column : column);
  }
  const lines = String(map.mappings ?? "").split(";");
  let source = 0;
  let sourceLine = 0;
  let found = null;
  for (let i = 0; i < Math.min(line, lines.length); i++) {
    let at = 0;
    for (const segment of lines[i].split(",")) {
      const [dColumn, dSource, dLine] = numbers(segment);
      if (dColumn === undefined) continue;
      at += dColumn;
      if (dSource === undefined) continue;
      source += dSource;
      sourceLine += dLine ?? 0;
      if (i === line - 1 && (found === null || at <= column - 1)) found = { source, line: sourceLine + 1 };
    }
  }
  const name = found && map.sources?.[found.source];
  return found && name ? { source: (map.sourceRoot ? map.sourceRoot.replace(/\/?$/, "/") : "") + name, line: found.line } : null;
}

/**
 * The source map that a script names at its end.
 * @param {string} code
 * @param {string} url where the script is from
 * @param {(url: string) => Promise<string>} read
 * @returns {Promise<SourceMap | null>}
 */
export async function mapOf(code, url, read) {
  const from = code.lastIndexOf("sourceMappingURL=");
  if (from < 0) return null;
  const named = /^sourceMappingURL=(\S+)/.exec(code.slice(from))?.[1] ?? "";
  const inline = /^data:application\/json[^,]*?(;base64)?,(.*)$/.exec(named);
  if (!inline) return JSON.parse(await read(new URL(named, url).href));
  if (!inline[1]) return JSON.parse(decodeURIComponent(inline[2]));
  return JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(inline[2]), (c) => c.charCodeAt(0))));
}

/**
 * A file as the project names it, from what a dev server or a source map
 * calls it: without its origin and query, below the root.
 * @param {string} name
 * @param {string} base the address that a relative name starts from
 */
export function projectFile(name, base) {
  const bundled = /^(?:webpack(?:-internal)?|turbopack|rsc|ng|vite):\/{2,3}(?:\([\w-]+\)\/|\[project\]\/)?(.*)$/.exec(name);
  if (bundled) return bundled[1].replace(/^[^/]*\/\.\//, "").replace(/^\.\//, "").replace(/[?#].*$/, "");
  if (/^[A-Za-z]:[\\/]/.test(name)) return name;
  let path;
  try {
    path = decodeURIComponent(new URL(name, base).pathname);
  } catch {
    return "";
  }
  if (path.startsWith("/@fs/")) return path.slice("/@fs".length);
  return path.replace(/^\/+/, "");
}

/** @param {string} file */
export const isDependency = (file) => /(^|[\\/])(node_modules|\.vite)[\\/]|(^|\/)@(vite|react-refresh|id)\b/.test(file);
