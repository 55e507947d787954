// Runs in: side panel. What a tab's panel holds, kept in chrome.storage.session:
// it survives the panel, a reload of the tab and a restart of the worker, and
// ends with the browser. Nothing of it is a secret; tokens are in the settings.

import { keptKeys } from "../lib/kept.js";
import { sizeOf } from "./store.js";

/** @typedef {import("./store.js").Chat} Chat */
/** @typedef {import("./chips.js").Chip} Chip */
/** @typedef {import("./queue.js").Message} Message */

/**
 * @typedef {object} Kept
 * @property {string} origin the page it was about
 * @property {Chat} chat
 * @property {Message[]} queue
 * @property {string} draft
 * @property {Chip[]} chips
 * @property {Sent | null} sent
 * @property {string[]} recall what the user sent, oldest first
 * @property {string} [repoDir] for links to the editor, before the shim has answered
 */
/** What the last message went with: for Retry, and to be sent again. @typedef {{key: number, chips: Chip[]}} Sent */

/** In characters of JSON: a tab's chat, its pictures. The area holds 10 MB for all tabs. */
const room = { chat: 500_000, pictures: 3_000_000 };

/** The lists that were written last, by tab. @type {Map<number, unknown[]>} */
const written = new Map();

/**
 * @param {number} tabId
 * @returns {Promise<Kept | null>}
 */
export async function recover(tabId) {
  const keys = keptKeys(tabId);
  /** @type {Record<string, any>} */
  const stored = await chrome.storage.session.get(Object.values(keys));
  const kept = /** @type {Kept} */ (Object.assign({ chips: [], queue: [], sent: null }, stored[keys.captures], stored[keys.chat]));
  return typeof kept.origin === "string" && Array.isArray(kept.chat?.items) ? kept : null;
}

/**
 * @param {number} tabId
 * @param {Kept} kept
 */
export async function keep(tabId, kept) {
  const { chat, chips, queue, sent, ...rest } = kept;
  const keys = keptKeys(tabId);
  const lists = [chips, queue, sent];
  const same = written.get(tabId)?.every((list, i) => list === lists[i]) ?? false;
  // When the area is full: pictures go first, then what was said long ago.
  for (const [pictures, said] of [[1, 1], [0.25, 1], [0, 1], [0, 0.1]]) {
    /** @type {Record<string, unknown>} */
    const items = { [keys.chat]: { ...rest, chat: trimmed(chat, room.chat * said) } };
    if (!same || pictures < 1) {
      const left = { pictures: room.pictures * pictures };
      items[keys.captures] = { chips: lean(chips, left), queue: queue.map((m) => ({ ...m, chips: lean(m.chips, left) })), sent: sent && { ...sent, chips: lean(sent.chips, left) } };
    }
    try {
      await chrome.storage.session.set(items);
      written.set(tabId, lists);
      return;
    } catch {
      // The next try is smaller.
    }
  }
}

/**
 * The tab whose panel shows this run.
 * @param {string} runId
 * @returns {Promise<number | null>}
 */
export async function tabOfRun(runId) {
  if (!runId) return null;
  for (const [name, value] of Object.entries(await chrome.storage.session.get(null))) {
    const kept = /** @type {Kept | undefined} */ (value);
    if (name.startsWith("panel:") && kept?.chat?.run?.id === runId) return Number(name.slice("panel:".length)) || null;
  }
  return null;
}

/**
 * The newest items of a chat that fit.
 * @param {Chat} chat
 * @param {number} most
 * @returns {Chat}
 */
export function trimmed(chat, most) {
  let left = most;
  let from = chat.items.length;
  while (from > 0 && (left -= sizeOf(chat.items[from - 1])) >= 0) from--;
  return from === 0 ? chat : { ...chat, items: chat.items.slice(from) };
}

/**
 * Chips without the pictures that do not fit.
 * @param {Chip[]} chips
 * @param {{pictures: number}} left in characters
 * @returns {Chip[]}
 */
export function lean(chips, left) {
  return chips.map((chip) => {
    const { screenshotDataUrl, ...rest } = chip.capture;
    const size = typeof screenshotDataUrl === "string" ? screenshotDataUrl.length : 0;
    if (size > left.pictures) return { ...chip, capture: rest, lost: true };
    left.pictures -= size;
    return chip;
  });
}
