// Runs in: service worker. Arms the picker of a tab, and hands what is picked
// to the panel: the capture at once, then the component that the page's
// framework knows of, and the picture. Where the settings say so, the tab is
// picked from by the debugger instead.

import { send, watchedTab } from "../lib/messages.js";
import { forOrigin, load, originKey } from "../lib/settings.js";
import { picture, picturesWanted } from "./capture.js";
import { startDebugging, stopDebugging } from "./cdppicker.js";
import { componentName } from "./hints.js";
import { outstanding } from "./outstanding.js";
import { openPanel } from "./panel.js";
import { addComponent, addPicture, allStored, forget, hand, mostPicks, report, stored, tell, tellTrouble, unreadable, update } from "./picks.js";

export { takePicks } from "./picks.js";

/** @typedef {chrome.runtime.MessageSender} Sender */

/**
 * While a picker is armed: every element can be hit, and is pointed at with a
 * cross. As a style of the user's it wins over the page's, in shadow roots, too.
 */
const css = `*:not([data-slidewrite-ui]) { pointer-events: auto !important; cursor: crosshair !important; touch-action: none !important; }`;

/** @param {Sender} sender @returns {number} */
function tabOf(sender) {
  if (sender.tab?.id === undefined) throw new Error("This message is of no tab.");
  return sender.tab.id;
}

/** @param {{tabId: number, max?: number}} order @returns {Promise<boolean>} whether it is armed now */
export async function startPicker({ tabId, max = mostPicks }) {
  const settings = await load();
  const copyPath = settings.global.copyPathOnShiftClick;
  const most = Math.max(1, Math.min(max, mostPicks));
  if (await byDebugger(settings, tabId)) return startDebugging(tabId, most, copyPath);
  try {
    if ((await tell(tabId, { type: "sw-arm-picker", max: most, copyPath, by: "page" })) !== true) throw new Error("Receiving end does not exist");
  } catch (err) {
    const reload = /Receiving end does not exist|message port closed/i.test(String(err));
    const message = reload
      ? "This page was open before Slide Write came to it. Reload it, then pick."
      : `The page cannot be picked from: ${err instanceof Error ? err.message : err}`;
    await tellTrouble(tabId, { message, reload, quiet: false });
    return false;
  }
  // Without the style fewer elements can be hit, and picking works.
  await chrome.scripting.insertCSS({ target: { tabId, allFrames: true }, css, origin: "USER" }).catch(() => {});
  await update(tabId, (state) => Object.assign(state, { armed: true, picks: 0, trouble: null, max: most }));
  await send({ type: "sw-picker-state", tabId, armed: true, picks: 0 });
  return true;
}

/** @param {import("../lib/settings.js").Settings} settings @param {number} tabId */
async function byDebugger(settings, tabId) {
  const origin = originKey((await chrome.tabs.get(tabId)).url);
  return origin !== null && forOrigin(settings, origin).enabled && forOrigin(settings, origin).debuggerPicker;
}

/** @param {{tabId: number}} order */
export async function stopPicker({ tabId }) {
  await tell(tabId, { type: "sw-disarm-picker" }).catch(() => {});
  if ((await stored(tabId)).attached) return stopDebugging(tabId);
  const before = await update(tabId, (state) => {
    const { armed, picks } = state;
    state.armed = false;
    return { armed, picks };
  });
  if (!before.armed) return;
  await chrome.scripting.removeCSS({ target: { tabId, allFrames: true }, css, origin: "USER" }).catch(() => {});
  await send({ type: "sw-picker-state", tabId, armed: false, picks: before.picks });
}

/**
 * A frame of another origin has a picker of its own: all end together.
 * @param {import("../lib/messages.js").PickEnded} _ @param {Sender} sender
 */
export const pickEnded = (_, sender) => stopPicker({ tabId: tabOf(sender) });

/** @param {import("../lib/messages.js").PickFailed} message @param {Sender} sender */
export async function pickFailed({ reason }, sender) {
  const tabId = tabOf(sender);
  await stopPicker({ tabId });
  await tellTrouble(tabId, unreadable(reason));
}

/** @param {import("../lib/messages.js").PickMade} message @param {Sender} sender */
export async function pickMade({ pick, capture, path }, sender) {
  const tabId = tabOf(sender);
  const picks = await update(tabId, (state) => ++state.picks);
  if (picks > mostPicks) return;
  await hand(tabId, pick, capture);
  const { armed } = await stored(tabId);
  if (armed) await send({ type: "sw-picker-state", tabId, armed, picks });
  if (armed && picks >= mostPicks) await stopPicker({ tabId });
  // Not awaited: a framework that does not answer keeps nothing up.
  void outstanding(pick, addComponent({ tabId, frameId: sender.frameId ?? 0, path }, sender.url ?? "", pick, capture).catch(report));
}

/** @param {import("../lib/messages.js").CaptureTab} message @param {Sender} sender */
export async function takePicture({ pick }, sender) {
  const tabId = tabOf(sender);
  const frameId = sender.frameId ?? 0;
  await outstanding(pick, (async () => {
    if (!(await picturesWanted(tabId))) return;
    await addPicture(tabId, pick, await picture(tabId, {
      place: () => tell(tabId, { type: "sw-shot-place", pick }, frameId),
      done: () => tell(tabId, { type: "sw-shot-done" }, frameId),
    }).catch(report));
  })());
}

/** @param {import("../lib/messages.js").PickHint} message @param {Sender} sender */
export async function pickHint({ path }, sender) {
  return componentName({ tabId: tabOf(sender), frameId: sender.frameId ?? 0, path });
}

/** The key of Shift+click, of which the debugger does not tell. @param {import("../lib/messages.js").PickShift} message @param {Sender} sender */
export const pickShift = ({ held }, sender) => pickerShift({ tabId: tabOf(sender), held });

/** @param {{tabId: number, held: boolean}} message */
export const pickerShift = ({ tabId, held }) => update(tabId, (state) => {
  state.shift = held;
});

/** The panel that shows a picker's state is there; with it, picking ends. @param {chrome.runtime.Port} port */
export function panelWatches(port) {
  const tabId = watchedTab(port);
  if (tabId === null) return;
  port.onDisconnect.addListener(async () => {
    if ((await stored(tabId)).armed) await stopPicker({ tabId }).catch(report);
  });
}

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
  await forget(tabId);
}

/** The debugger leaves the tabs whose settings do not want it any more. */
export async function settingsChanged() {
  const settings = await load();
  for (const [tabId, { attached }] of await allStored()) {
    if (attached && !(await byDebugger(settings, tabId).catch(() => false))) await stopPicker({ tabId });
  }
}
