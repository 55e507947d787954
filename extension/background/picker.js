// Runs in: service worker. Arms the picker of a tab, and hands what is picked
// to the panel: the capture at once, then the component that the page's
// framework knows of, and the picture. What a worker cannot lose is in
// chrome.storage.session.

import { send } from "../lib/messages.js";
import { load } from "../lib/settings.js";
import { picture, picturesWanted } from "./capture.js";
import { componentOf, componentName } from "./hints.js";
import { outstanding } from "./outstanding.js";
import { openPanel } from "./panel.js";

/** @typedef {import("../lib/messages.js").Message} Message */
/** @typedef {import("../lib/messages.js").TakenPicks} TakenPicks */
/** @typedef {chrome.runtime.MessageSender} Sender */

/** As many as the shim uses. */
const mostPicks = 5;

/**
 * While a picker is armed: every element can be hit, and is pointed at with a
 * cross. As a style of the user's it wins over the page's, in shadow roots, too.
 */
const css = `*:not([data-slidewrite-ui]) { pointer-events: auto !important; cursor: crosshair !important; touch-action: none !important; }`;

/** @param {number} tabId */
const key = (tabId) => `picker:${tabId}`;

/** @param {number} tabId @returns {Promise<TakenPicks>} */
async function stored(tabId) {
  const { [key(tabId)]: state } = await chrome.storage.session.get(key(tabId));
  return { armed: false, picks: 0, waiting: [], trouble: null, .../** @type {Partial<TakenPicks>} */ (state) };
}

/**
 * @template T
 * @param {number} tabId
 * @param {(state: TakenPicks) => T} change
 * @returns {Promise<T>}
 */
const update = (tabId, change) => navigator.locks.request(key(tabId), async () => {
  const state = await stored(tabId);
  const result = change(state);
  await chrome.storage.session.set({ [key(tabId)]: state });
  return result;
});

/** @param {Sender} sender @returns {number} */
function tabOf(sender) {
  if (sender.tab?.id === undefined) throw new Error("This message is of no tab.");
  return sender.tab.id;
}

/** @param {number} tabId @param {Message} message @param {number} [frameId] */
async function tell(tabId, message, frameId) {
  const reply = await (frameId === undefined ? chrome.tabs.sendMessage(tabId, message) : chrome.tabs.sendMessage(tabId, message, { frameId }));
  return reply?.value;
}

/** @param {{tabId: number, max?: number}} order @returns {Promise<boolean>} whether it is armed now */
export async function startPicker({ tabId, max = mostPicks }) {
  const { global } = await load();
  try {
    /** @type {import("../lib/messages.js").ArmPicker} */
    const order = { type: "sw-arm-picker", max: Math.max(1, Math.min(max, mostPicks)), copyPath: global.copyPathOnShiftClick };
    if ((await tell(tabId, order)) !== true) throw new Error("Receiving end does not exist");
  } catch (err) {
    await fail(tabId, err);
    return false;
  }
  // Without the style fewer elements can be hit, and picking works.
  await chrome.scripting.insertCSS({ target: { tabId, allFrames: true }, css, origin: "USER" }).catch(() => {});
  await update(tabId, (state) => Object.assign(state, { armed: true, picks: 0, trouble: null }));
  await send({ type: "sw-picker-state", tabId, armed: true, picks: 0 });
  return true;
}

/** @param {number} tabId @param {unknown} err */
async function fail(tabId, err) {
  const early = /Receiving end does not exist|message port closed/i.test(String(err));
  const message = early
    ? "This page was open before Slide Write came to it. Reload it, then pick."
    : `The page cannot be picked from: ${err instanceof Error ? err.message : err}`;
  const heard = await send({ type: "sw-picker-error", tabId, message, reload: early });
  // By the keyboard the panel is opened in this moment, and asks when it is there.
  if (heard !== true) await update(tabId, (state) => Object.assign(state, { trouble: { message, reload: early } }));
}

/** @param {{tabId: number}} order */
export async function stopPicker({ tabId }) {
  await tell(tabId, { type: "sw-disarm-picker" }).catch(() => {});
  const { picks } = await stored(tabId);
  await ended(tabId, picks);
}

/** @param {number} tabId @param {number} picks */
async function ended(tabId, picks) {
  const before = await update(tabId, (state) => {
    const { armed } = state;
    state.armed = false;
    return armed;
  });
  if (!before) return;
  await chrome.scripting.removeCSS({ target: { tabId, allFrames: true }, css, origin: "USER" }).catch(() => {});
  await send({ type: "sw-picker-state", tabId, armed: false, picks });
}

/** @param {import("../lib/messages.js").PickEnded} _ @param {Sender} sender */
export async function pickEnded(_, sender) {
  const tabId = tabOf(sender);
  // A frame of another origin has a picker of its own: all end together.
  await tell(tabId, { type: "sw-disarm-picker" }).catch(() => {});
  const { picks } = await stored(tabId);
  await ended(tabId, picks);
}

/** @param {import("../lib/messages.js").PickMade} message @param {Sender} sender */
export async function pickMade({ pick, capture, path }, sender) {
  const tabId = tabOf(sender);
  const picks = await update(tabId, (state) => ++state.picks);
  if (picks > mostPicks) return;
  const named = { ...capture, pick };
  if ((await send({ type: "sw-element-picked", tabId, pick, capture: named })) !== true) {
    await update(tabId, (state) => state.waiting.push({ pick, capture: named, thumb: "" }));
  }
  const { armed } = await stored(tabId);
  if (armed) await send({ type: "sw-picker-state", tabId, armed, picks });
  if (armed && picks >= mostPicks) await stopPicker({ tabId });
  // Not awaited: a framework that does not answer keeps nothing up.
  void outstanding(pick, addComponent({ tabId, frameId: sender.frameId ?? 0, path }, sender.url ?? "", pick, capture).catch(report));
}

/**
 * @param {import("./hints.js").Where} where @param {string} page
 * @param {string} pick @param {import("../lib/messages.js").Capture} capture
 */
async function addComponent(where, page, pick, capture) {
  const { component, item } = await componentOf(where, page);
  const repeat = /** @type {{index: number, key?: string} | undefined} */ (capture.repeat);
  // The framework's key, if it means the item that the page shows there.
  const keyed = item && repeat && !repeat.key && repeat.index === item.index;
  const patch = { ...(component && { component }), ...(keyed && { repeat: { ...repeat, key: item.key } }) };
  if (Object.keys(patch).length > 0) await more(where.tabId, pick, patch, "");
}

/** @param {import("../lib/messages.js").CaptureTab} message @param {Sender} sender */
export async function takePicture({ pick }, sender) {
  const tabId = tabOf(sender);
  if (await picturesWanted(tabId)) await outstanding(pick, addPicture(tabId, sender.frameId ?? 0, pick));
}

/** @param {number} tabId @param {number} frameId @param {string} pick */
async function addPicture(tabId, frameId, pick) {
  const taken = await picture(tabId, {
    place: () => tell(tabId, { type: "sw-shot-place", pick }, frameId),
    done: () => tell(tabId, { type: "sw-shot-done" }, frameId),
  }).catch(report);
  if (!taken) return;
  const { dataUrl, width, height, thumb } = taken;
  await more(tabId, pick, { screenshotDataUrl: dataUrl, screenshotW: width, screenshotH: height }, thumb);
}

/**
 * What became known of a pick: to the panel, or to what waits for it.
 * @param {number} tabId @param {string} pick @param {Record<string, unknown>} patch @param {string} thumb
 */
async function more(tabId, pick, patch, thumb) {
  const waits = await update(tabId, (state) => {
    const found = state.waiting.find((w) => w.pick === pick);
    if (found) Object.assign(found, { capture: { ...found.capture, ...patch }, thumb: thumb || found.thumb });
    return found !== undefined;
  });
  if (!waits) await send({ type: "sw-element-more", tabId, pick, patch, thumb });
}

/** @param {import("../lib/messages.js").PickHint} message @param {Sender} sender */
export async function pickHint({ path }, sender) {
  return componentName({ tabId: tabOf(sender), frameId: sender.frameId ?? 0, path });
}

/** @param {{tabId: number}} message @returns {Promise<TakenPicks>} */
export const takePicks = ({ tabId }) => update(tabId, (state) => {
  const taken = { ...state };
  state.waiting = [];
  state.trouble = null;
  return taken;
});

/**
 * The keyboard command. Not async: an await before the panel is opened loses
 * the user's gesture.
 * @param {string} command @param {chrome.tabs.Tab} [tab]
 */
export function pickByCommand(command, tab) {
  if (command !== "pick" || tab?.id === undefined) return;
  openPanel(tab);
  startPicker({ tabId: tab.id }).catch(report);
}

/** @param {number} tabId */
export async function forgetPicker(tabId) {
  await chrome.storage.session.remove(key(tabId));
}

/** @param {unknown} err @returns {undefined} */
function report(err) {
  console.warn("slidewrite: picker:", err);
}
