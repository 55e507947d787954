// Runs in: service worker. What the page's framework knows of an element:
// asked in the page's own world, where the frameworks keep it, and where
// nothing is left behind. Places in served code are led back to the source
// here, so that the page sees no request.

import { isDependency, mapOf, originalPlace, projectFile } from "./sourcemap.js";

/** @typedef {{tabId: number, frameId: number, path: SwPath}} Where */
/** @typedef {{name?: string, file?: string, line?: number, stack?: string[], framework?: string}} Component */

/** In order: the first one with a file tells it, the others what it left out. */
const files = [
  "picker/backends/locate.js", "picker/backends/react.js", "picker/backends/vue.js", "picker/backends/svelte.js",
  "picker/backends/angular.js", "picker/backends/solid.js", "picker/backends/astro.js", "picker/backends/attributes.js",
];

/** Characters of a served script or map, in ms, places that are looked up. */
const most = { code: 16e6, wait: 3_000, places: 6, stack: 20, name: 200, path: 1_000 };

/**
 * Runs in the page's world.
 * @param {SwPath} path
 * @returns {SwHint | null}
 */
function ask(path) {
  const backends = globalThis.slidewriteBackends;
  delete (/** @type {any} */ (globalThis).slidewriteBackends);
  const el = backends?.at(path);
  if (!backends || !el) return null;
  /** @type {SwHint} */
  let known = {};
  for (const backend of backends.all) {
    try {
      if (!backend.detect(el)) continue;
      const hint = backend.locate(el);
      if (!hint) continue;
      known = { ...hint, ...known };
      if (known.file || known.places) break;
    } catch {
      // A framework of another version: it tells nothing.
    }
  }
  return Object.keys(known).length > 0 ? known : null;
}

/** One question after the other: they share a name in the page. @param {Where} where @returns {Promise<SwHint | null>} */
const hintOf = ({ tabId, frameId, path }) => navigator.locks.request(`slidewrite-hint:${tabId}`, async () => {
  const target = { tabId, frameIds: [frameId] };
  await chrome.scripting.executeScript({ target, world: "MAIN", files, injectImmediately: true });
  const [answer] = await chrome.scripting.executeScript({ target, world: "MAIN", func: ask, args: [path], injectImmediately: true });
  return /** @type {SwHint | null} */ (answer?.result ?? null);
});

/**
 * @param {Where} where
 * @param {string} page the address of the picked frame's page: only its own server is asked
 * @returns {Promise<{component: Component | null, item: {key: string, index: number} | null}>}
 */
export async function componentOf(where, page) {
  const hint = await hintOf(where);
  if (!hint) return { component: null, item: null };
  const { key, index } = hint;
  const item = typeof key === "string" && typeof index === "number" ? { key: key.slice(0, 120), index } : null;
  return { component: await resolved(hint, page), item };
}

/** @param {Where} where @returns {Promise<string>} */
export async function componentName(where) {
  return text((await hintOf(where))?.name);
}

/** What a page says may be anything. @param {unknown} value @param {number} n */
const text = (value, n = most.name) => (typeof value === "string" ? value.slice(0, n) : "");

/** @param {SwHint} hint @param {string} page @returns {Promise<Component | null>} */
async function resolved(hint, page) {
  let name = text(hint.name);
  let file = text(hint.file, most.path);
  let line = Number.isSafeInteger(hint.line) ? Number(hint.line) : 0;
  if (!file && Array.isArray(hint.places)) {
    const read = reader(page);
    for (const place of hint.places.slice(0, most.places)) {
      const found = await sourceOf(place?.at, read).catch(() => null);
      if (!found || isDependency(found.file)) continue;
      ({ file, line } = found);
      name = text(place.name) || name;
      break;
    }
  } else if (file) {
    // Not from a server: what a build noted is a path by itself.
    file = file.replace(/^file:\/\//, "").replace(/[?#].*$/, "");
  }
  const stack = (Array.isArray(hint.stack) ? hint.stack : []).map((s) => text(s)).filter(Boolean).slice(0, most.stack);
  const component = {
    ...(name && { name }), ...(file && { file }), ...(file && line > 0 && { line }), ...(stack.length > 0 && { stack }),
    ...(text(hint.framework) && { framework: text(hint.framework) }),
  };
  return name || file || stack.length > 0 ? component : null;
}

/** @typedef {(url: string) => Promise<string>} Read */

/** @param {SwFrame | undefined} at @param {Read} read @returns {Promise<{file: string, line: number} | null>} */
async function sourceOf(at, read) {
  if (!at || typeof at.url !== "string") return null;
  const served = projectFile(at.url, at.url);
  if (isDependency(served)) return null;
  const map = await mapOf(await read(at.url), at.url, read);
  if (map === null) return /\.(jsx|tsx?|mts|vue|svelte)$/.test(served) ? { file: served, line: 0 } : null;
  const found = originalPlace(map, at.line, at.column);
  return found && { file: projectFile(found.source, at.url), line: found.line };
}

/**
 * Reads from the page's own server and no other: the page names the addresses.
 * @param {string} page @returns {Read}
 */
function reader(page) {
  /** @type {Map<string, Promise<string>>} */
  const kept = new Map();
  /** @param {string} url */
  const read = async (url) => {
    if (new URL(url).origin !== new URL(page).origin) throw new Error("It is of another server.");
    const answer = await fetch(url, { credentials: "omit", redirect: "error", signal: AbortSignal.timeout(most.wait) });
    if (!answer.ok) throw new Error(`The server answered ${answer.status}.`);
    const code = await answer.text();
    if (code.length > most.code) throw new Error("It is too long.");
    return code;
  };
  return (url) => {
    const got = kept.get(url) ?? read(url);
    kept.set(url, got);
    return got;
  };
}
