// Runs in: service worker. Content scripts on origins beyond loopback: what
// the manifest names for loopback is registered for every origin that the user
// has enabled and granted, under the id "sw:<origin>".

import { permissionOf } from "../lib/permission.js";
import { isLoopback, load, migrate } from "../lib/settings.js";

const prefix = "sw:";

/** @param {string} origin */
export const scriptId = (origin) => prefix + origin;

/**
 * What is to be registered for these origins.
 * @param {string[]} origins
 * @param {NonNullable<chrome.runtime.ManifestV3["content_scripts"]>} manifestScripts
 * @returns {chrome.scripting.RegisteredContentScript[]}
 */
export const scriptsFor = (origins, manifestScripts) =>
  origins.map((origin) => ({
    id: scriptId(origin),
    matches: [origin + "/*"],
    js: manifestScripts.flatMap((s) => s.js ?? []),
    runAt: "document_start",
    ...(manifestScripts.some((s) => s.all_frames) && { allFrames: true }),
    ...(manifestScripts.some((s) => /** @type {{match_origin_as_fallback?: boolean}} */ (s).match_origin_as_fallback) && { matchOriginAsFallback: true }),
  }));

/**
 * Makes the registered scripts those of the settings. Safe at any time, from
 * any event, and twice at once.
 * @param {string[]} removed origins whose permission is to go, too
 * @returns {Promise<void>}
 */
export const syncScripts = (removed = []) =>
  navigator.locks.request("slidewrite-scripts", async () => {
    const { origins } = await load();
    const enabled = Object.keys(origins).filter((o) => origins[o].enabled && !isLoopback(o));
    const granted = [];
    for (const origin of enabled) {
      if (await chrome.permissions.contains({ origins: [permissionOf(origin)] })) granted.push(origin);
    }
    const wanted = scriptsFor(granted, chrome.runtime.getManifest().content_scripts ?? []);
    const before = (await chrome.scripting.getRegisteredContentScripts()).filter((s) => s.id.startsWith(prefix));
    const stale = before.filter((s) => !wanted.some((w) => same(w, s)));
    const missing = wanted.filter((w) => !before.some((s) => same(w, s)));
    if (stale.length > 0) await chrome.scripting.unregisterContentScripts({ ids: stale.map((s) => s.id) });
    if (missing.length > 0) await chrome.scripting.registerContentScripts(missing);
    for (const origin of removed) await giveBack(origin, enabled);
  });

/** @param {chrome.scripting.RegisteredContentScript} a @param {chrome.scripting.RegisteredContentScript} b */
const same = (a, b) => a.id === b.id && JSON.stringify([a.matches, a.js]) === JSON.stringify([b.matches, b.js]);

/**
 * Gives the permission for an origin back, unless another one needs it.
 * @param {string} origin
 * @param {string[]} enabled
 */
async function giveBack(origin, enabled) {
  const permission = permissionOf(origin);
  if (enabled.some((o) => permissionOf(o) === permission)) return;
  try {
    await chrome.permissions.remove({ origins: [permission] });
  } catch (err) {
    // Where the user grants <all_urls> it covers the origin, and stays.
    if (!/required permission/i.test(String(err))) throw err;
  }
}

/**
 * The origins beyond loopback that a change of the settings took away.
 * @param {unknown} oldValue
 * @param {unknown} newValue
 */
export function removedOrigins(oldValue, newValue) {
  const left = migrate(newValue).origins;
  return Object.keys(migrate(oldValue).origins).filter((o) => !Object.hasOwn(left, o) && !isLoopback(o));
}

/**
 * Loopback pages that were open before the extension was installed get their
 * content scripts now: one of them may be the page with the pairing code. Not
 * the picker: it must have been there before the page's own listeners.
 */
export async function wakeOpenPages() {
  for (const { matches, js } of chrome.runtime.getManifest().content_scripts ?? []) {
    if (js?.some((file) => file.startsWith("picker/"))) continue;
    for (const { id } of await chrome.tabs.query({ url: matches })) {
      if (id === undefined) continue;
      // A tab may be gone, or show an error page: that is its own business.
      await chrome.scripting.executeScript({ target: { tabId: id }, files: js ?? [] }).catch(() => {});
    }
  }
}
