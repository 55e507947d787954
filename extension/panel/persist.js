// Runs in: side panel. What a tab's panel holds, kept in chrome.storage.session:
// it survives the panel, a reload of the tab and a restart of the worker, and
// ends with the browser. Nothing of it is a secret; tokens are in the settings.

/** @typedef {import("./store.js").Chat} Chat */
/** @typedef {import("./store.js").Item} Item */
/** @typedef {import("./chips.js").Chip} Chip */
/** @typedef {import("./queue.js").Message} Message */

/**
 * @typedef {object} Kept
 * @property {string} origin the page it was about
 * @property {Chat} chat
 * @property {Message[]} queue
 * @property {string} draft
 * @property {Chip[]} chips
 * @property {string[]} recall what the user sent, oldest first
 */

/** In characters of JSON: a tab's chat, its pictures. The area holds 10 MB for all tabs. */
const room = { chat: 500_000, pictures: 1_500_000 };

/** @param {number} tabId */
const key = (tabId) => `panel:${tabId}`;

/**
 * @param {number} tabId
 * @returns {Promise<Kept | null>}
 */
export async function recover(tabId) {
  const stored = await chrome.storage.session.get(key(tabId));
  const kept = /** @type {Kept | undefined} */ (stored[key(tabId)]);
  return kept && typeof kept.origin === "string" && Array.isArray(kept.chat?.items) ? kept : null;
}

/**
 * @param {number} tabId
 * @param {Kept} kept
 */
export async function keep(tabId, kept) {
  const small = { ...kept, chat: trimmed(kept.chat, room.chat), chips: lean(kept.chips), queue: kept.queue.map((m) => ({ ...m, chips: lean(m.chips) })) };
  try {
    await chrome.storage.session.set({ [key(tabId)]: small });
  } catch {
    // Full: what was said last matters most.
    await chrome.storage.session.set({ [key(tabId)]: { ...small, chat: trimmed(kept.chat, room.chat / 10), chips: [], queue: small.queue.map((m) => ({ ...m, chips: [] })) } }).catch(() => {});
  }
}

/** @param {number} tabId */
export async function forget(tabId) {
  await chrome.storage.session.remove(key(tabId));
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
  while (from > 0 && (left -= size(chat.items[from - 1])) >= 0) from--;
  return from === 0 ? chat : { ...chat, items: chat.items.slice(from) };
}

/** @param {Item} item */
function size(item) {
  switch (item.kind) {
    case "text": case "thinking": return item.text.length + 80;
    case "steps": return item.steps.reduce((sum, step) => sum + step.detail.length + (step.result?.text.length ?? 0) + 150, 80);
    case "change": return item.files.reduce((sum, file) => sum + file.path.length + 120, 300);
    case "user": return item.text.length + item.chips.reduce((sum, chip) => sum + chip.thumb.length + 200, 80);
    default: return 600;
  }
}

/**
 * Chips without the pictures that do not fit.
 * @param {Chip[]} chips
 * @returns {Chip[]}
 */
function lean(chips) {
  let left = room.pictures;
  return chips.filter((chip) => (left -= JSON.stringify(chip).length) >= 0);
}
