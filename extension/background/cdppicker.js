// Runs in: service worker. The picker that goes through chrome.debugger, for
// sites that it is switched on for: it reaches frames of every origin, and
// tells which rules style an element. Its events wake a worker that was ended;
// what it has to know then is in the tab's State.

import { send } from "../lib/messages.js";
import { load } from "../lib/settings.js";
import { picturesWanted } from "./capture.js";
import { attach, bindKeys, copy, detach, frameIdOf, inspect, keyBinding, nodeAt, pictureOf, placeOf, rest } from "./cdp.js";
import { outstanding } from "./outstanding.js";
import { addComponent, addPicture, allStored, hand, more, report, stored, tell, tellTrouble, unreadable, update } from "./picks.js";

/** What attaches, reads or detaches in a tab does so after what was begun before. @template T @param {number} tabId @param {() => Promise<T>} work @returns {Promise<T>} */
const inTurn = (tabId, work) => navigator.locks.request(`debugger:${tabId}`, work);

/** A worker that was ended on its way may have left a tab attached. */
const swept = sweep().catch(report);

async function sweep() {
  for (const [tabId, { attached, armed, picks }] of await allStored()) {
    if (!attached || armed) continue;
    await send({ type: "sw-picker-state", tabId, armed, picks });
    await release(tabId);
  }
}

/** @param {number} tabId @param {number} max @param {boolean} copyPath @returns {Promise<boolean>} */
export async function startDebugging(tabId, max, copyPath) {
  await swept;
  try {
    await inTurn(tabId, async () => {
      await update(tabId, (state) => Object.assign(state, { armed: false, attached: true, picks: 0, max, trouble: null, shift: false, sessions: {} }));
      await attach(tabId);
      await inspect({ tabId });
      await update(tabId, (state) => Object.assign(state, { armed: true }));
    });
  } catch (err) {
    await release(tabId);
    await tellTrouble(tabId, { message: whyNot(err), reload: false, quiet: false });
    return false;
  }
  // Where it is there from the start, the page does not hear of Escape.
  await tell(tabId, { type: "sw-arm-picker", max, copyPath, by: "debugger" }).catch(() => {});
  await send({ type: "sw-picker-state", tabId, armed: true, picks: 0 });
  return true;
}

/** @param {unknown} err */
function whyNot(err) {
  const said = (err instanceof Error ? err.message : String(err)).replace(/\.?$/, "");
  const other = /already attached/.test(said);
  const what = other ? "something else debugs this tab" : /different extension/.test(said) ? "this page shows a part of another extension" : "Chrome does not let it";
  const fix = other ? "End that" : /different extension/.test(said) ? "Switch that extension off here" : "Try another page";
  return `The debugger cannot pick here: ${what} (${said}). ${fix}, or switch “Pick through Chrome's debugger” off in the settings of this site.`;
}

/** Nothing is picked any more; it is detached once what was picked is read. @param {number} tabId */
export async function stopDebugging(tabId) {
  const { armed, picks } = await update(tabId, (state) => {
    const before = { armed: state.armed, picks: state.picks };
    state.armed = false;
    return before;
  });
  if (armed) await send({ type: "sw-picker-state", tabId, armed: false, picks });
  await release(tabId);
}

/** @param {number} tabId */
async function release(tabId) {
  const { sessions } = await stored(tabId);
  await Promise.allSettled(["", ...Object.keys(sessions)].map((id) => rest(placeOf(tabId, id))));
  await inTurn(tabId, async () => {
    if ((await stored(tabId)).armed) return; // anew
    await detach(tabId);
    await update(tabId, (state) => Object.assign(state, { attached: false, sessions: {} }));
  });
}

/** @type {Record<string, (tabId: number, sessionId: string, params: any) => unknown>} */
const events = {
  async "Target.attachedToTarget"(tabId, parent, { sessionId, targetInfo }) {
    await update(tabId, ({ sessions }) => Object.assign(sessions, { [sessionId]: { frameId: targetInfo.targetId, parent } }));
    await inspect(placeOf(tabId, sessionId)).catch(report); // the frame may be gone again
  },
  "Target.detachedFromTarget": (tabId, _, { sessionId }) => update(tabId, ({ sessions }) => delete sessions[sessionId]),
  "Overlay.inspectNodeRequested": picked,
  async "Runtime.bindingCalled"(tabId, _, { name, payload }) {
    if (name !== keyBinding) return;
    if (/Shift$/.test(payload)) await update(tabId, (state) => void (state.shift = payload === "keydown Shift"));
    else await ended(tabId);
  },
  "Page.frameStoppedLoading": (tabId, sessionId) => bindKeys(placeOf(tabId, sessionId)).catch(() => {}), // it may be gone again
  "Page.frameNavigated": (tabId, sessionId, { frame }) => (sessionId === "" && frame.parentId === undefined ? ended(tabId) : undefined),
};

/** Registered before the first await. @param {chrome.debugger.DebuggerSession} source @param {string} method @param {any} [params] */
export async function onDebuggerEvent({ tabId, sessionId = "" }, method, params) {
  if (tabId === undefined || !Object.hasOwn(events, method)) return;
  if ((await stored(tabId)).attached) await events[method](tabId, sessionId, params);
}

/** @param {chrome.debugger.Debuggee} source @param {string} reason */
export async function onDebuggerGone({ tabId }, reason) {
  if (tabId === undefined || reason === "target_closed" || !(await stored(tabId)).armed) return;
  await ended(tabId);
  const message = reason === "canceled_by_user"
    ? "Picking has ended: it was canceled in Chrome's bar. Press the picker's button to go on."
    : `Picking has ended: Chrome took the debugger away (${reason}). Press the picker's button to go on.`;
  await tellTrouble(tabId, { message, reload: false, quiet: true });
}

/** @param {number} tabId */
async function ended(tabId) {
  await tell(tabId, { type: "sw-disarm-picker" }).catch(() => {});
  await stopDebugging(tabId);
}

/** @param {number} tabId @param {string} sessionId @param {{backendNodeId: number}} params */
async function picked(tabId, sessionId, { backendNodeId }) {
  const now = await update(tabId, (state) => {
    if (!state.armed || state.picks >= state.max) return null;
    state.picks++;
    return { picks: state.picks, last: state.picks >= state.max, shift: state.shift, sessions: state.sessions };
  });
  if (!now) return;
  const read = inTurn(tabId, () => readPick(tabId, now.sessions, sessionId, backendNodeId, now.shift));
  if (now.last) await ended(tabId);
  else await send({ type: "sw-picker-state", tabId, armed: true, picks: now.picks });
  try {
    await read;
  } catch (err) {
    report(err);
    await ended(tabId);
    await tellTrouble(tabId, unreadable(err instanceof Error ? err.message : String(err)));
  }
}

/** @param {number} tabId @param {import("./picks.js").Sessions} sessions @param {string} sessionId @param {number} backendNodeId @param {boolean} shift */
async function readPick(tabId, sessions, sessionId, backendNodeId, shift) {
  const pick = crypto.randomUUID();
  const node = await nodeAt(tabId, sessions, sessionId, backendNodeId);
  if (!node) {
    await update(tabId, (state) => void state.picks--);
    return;
  }
  await hand(tabId, pick, node.capture);
  // Not awaited: a framework that does not answer keeps nothing up.
  void outstanding(pick, askPage(tabId, pick, node).catch(report));
  await outstanding(pick, (async () => {
    if (shift && (await load()).global.copyPathOnShiftClick) await copy(tabId, node.selector).catch(report);
    const armed = async () => (await stored(tabId)).armed;
    if (await picturesWanted(tabId)) await addPicture(tabId, pick, await pictureOf(tabId, sessions, node.seen, armed).catch(report));
    await node.tick().catch(report);
    const styles = await node.styles().catch(report);
    if (styles && styles.length > 0) await more(tabId, pick, { matchedStyles: styles }, "");
  })());
}

/** What scripts of its frame know of it, or keep. @param {number} tabId @param {string} pick @param {NonNullable<Awaited<ReturnType<typeof nodeAt>>>} node */
async function askPage(tabId, pick, { frame, path, page, capture }) {
  const frameId = await frameIdOf(tabId, frame);
  if (frameId === undefined) return;
  await tell(tabId, { type: "sw-pick-keep", pick, path }, frameId).catch(() => {});
  await addComponent({ tabId, frameId, path }, page, pick, capture);
}
