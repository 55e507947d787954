// Runs in: service worker. What is kept of a tab's picker, and the way of a
// pick to the panel: at once, then what becomes known of it; a panel that is
// not there yet finds it here. In chrome.storage.session: the worker ends at
// any time.

import { send } from "../lib/messages.js";
import { componentOf } from "./hints.js";

/** @typedef {import("../lib/messages.js").TakenPicks} TakenPicks */
/** @typedef {import("../lib/messages.js").Capture} Capture */

/**
 * Of the debugger's picker: attached, until it is detached again; shift: the
 * key is down; sessions: the frames of other processes, each with its frame
 * and with the session of the frame around it, "" for the tab's own.
 * @typedef {TakenPicks & {max: number, attached: boolean, shift: boolean, sessions: Sessions}} State
 */
/** @typedef {{[id: string]: {frameId: string, parent: string}}} Sessions */

/** As many as the shim uses. */
export const mostPicks = 5;

const prefix = "picker:";

/** @param {unknown} state @returns {State} */
const whole = (state) => ({
  armed: false, picks: 0, waiting: [], trouble: null, max: mostPicks, attached: false, shift: false, sessions: {}, .../** @type {Partial<State>} */ (state),
});

/** @param {number} tabId */
export async function stored(tabId) {
  const { [prefix + tabId]: state } = await chrome.storage.session.get(prefix + tabId);
  return whole(state);
}

/** All there are, by their tabs. @returns {Promise<[number, State][]>} */
export async function allStored() {
  const all = Object.entries(await chrome.storage.session.get(null));
  return all.filter(([key]) => key.startsWith(prefix)).map(([key, state]) => [Number(key.slice(prefix.length)), whole(state)]);
}

/**
 * @template T
 * @param {number} tabId
 * @param {(state: State) => T} change
 * @returns {Promise<T>}
 */
export const update = (tabId, change) => navigator.locks.request(prefix + tabId, async () => {
  const state = await stored(tabId);
  const result = change(state);
  await chrome.storage.session.set({ [prefix + tabId]: state });
  return result;
});

/** @param {number} tabId */
export const forget = (tabId) => chrome.storage.session.remove(prefix + tabId);

/** @param {{tabId: number}} message @returns {Promise<TakenPicks>} */
export const takePicks = ({ tabId }) => update(tabId, (state) => {
  const { armed, picks, waiting, trouble } = state;
  state.waiting = [];
  state.trouble = null;
  return { armed, picks, waiting, trouble };
});

/** @param {number} tabId @param {string} pick @param {Capture} capture */
export async function hand(tabId, pick, capture) {
  const named = { ...capture, pick };
  if ((await send({ type: "sw-element-picked", tabId, pick, capture: named })) === true) return;
  await update(tabId, (state) => state.waiting.push({ pick, capture: named, thumb: "" }));
}

/**
 * What became known of a pick: to the panel, or to what waits for it.
 * @param {number} tabId @param {string} pick @param {Record<string, unknown>} patch @param {string} thumb
 */
export async function more(tabId, pick, patch, thumb) {
  const waits = await update(tabId, (state) => {
    const found = state.waiting.find((w) => w.pick === pick);
    if (found) Object.assign(found, { capture: { ...found.capture, ...patch }, thumb: thumb || found.thumb });
    return found !== undefined;
  });
  if (!waits) await send({ type: "sw-element-more", tabId, pick, patch, thumb });
}

/** @param {number} tabId @param {string} pick @param {import("./capture.js").Picture | null | undefined} picture */
export async function addPicture(tabId, pick, picture) {
  if (!picture) return;
  const { dataUrl, width, height, thumb } = picture;
  await more(tabId, pick, { screenshotDataUrl: dataUrl, screenshotW: width, screenshotH: height }, thumb);
}

/**
 * @param {import("./hints.js").Where} where @param {string} page
 * @param {string} pick @param {Capture} capture
 */
export async function addComponent(where, page, pick, capture) {
  const { component, item } = await componentOf(where, page);
  const repeat = /** @type {{index: number, key?: string} | undefined} */ (capture.repeat);
  // The framework's key, if it means the item that the page shows there.
  const keyed = item && repeat && !repeat.key && repeat.index === item.index;
  const patch = { ...(component && { component }), ...(keyed && { repeat: { ...repeat, key: item.key } }) };
  if (Object.keys(patch).length > 0) await more(where.tabId, pick, patch, "");
}

/**
 * Why it does not pick, or does no longer.
 * @param {number} tabId @param {import("../lib/messages.js").Trouble} trouble
 */
export async function tellTrouble(tabId, trouble) {
  const heard = await send({ type: "sw-picker-error", tabId, ...trouble });
  // By the keyboard the panel is opened in this moment, and asks when it is there.
  if (heard !== true) await update(tabId, (state) => Object.assign(state, { trouble }));
}

/** @param {string} reason @returns {import("../lib/messages.js").Trouble} of what was picked, and is no pick */
export const unreadable = (reason) => ({ message: `The element could not be read (${reason.slice(0, 300)}). Pick it again, or what is around it.`, reload: false, quiet: false });

/** To a tab's content scripts, or to that of one frame. @param {number} tabId @param {import("../lib/messages.js").Message} message @param {number} [frameId] */
export async function tell(tabId, message, frameId) {
  const reply = await (frameId === undefined ? chrome.tabs.sendMessage(tabId, message) : chrome.tabs.sendMessage(tabId, message, { frameId }));
  return reply?.value;
}

/** @param {unknown} err @returns {undefined} */
export function report(err) {
  console.warn("slidewrite: picker:", err);
}
