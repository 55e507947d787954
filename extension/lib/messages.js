// Runs in: worker, panel, options, confirm page. Every message between the
// extension's contexts, with its fields and with who may send it.
//
// A content script is a classic script and cannot import this; it writes the
// names out and has its messages checked against the types below.

/** @typedef {"panel" | "options" | "pairing" | "content" | "worker"} Context */

/**
 * What the panel is told about a picked element; the capture of the shim's
 * request body. The panel hands it on and reads only what it draws.
 * @typedef {Record<string, unknown> & {tag: string}} Capture
 */

/** @typedef {import("./settings.js").OriginSettings} OriginSettings */

/** Worker → content: take the next gestures as picks; copyPath: Shift+click copies the selector; by: who finds the element, the page's script or the debugger. @typedef {{type: "sw-arm-picker", max: number, copyPath: boolean, by: "page" | "debugger"}} ArmPicker */
/** Worker → content: stop that. @typedef {{type: "sw-disarm-picker"}} DisarmPicker */
/** Content → worker: the user picked; pick is the name of this pick, path leads to the element. @typedef {{type: "sw-pick-made", pick: string, capture: Capture, path: SwPath}} PickMade */
/** Content → worker: picking ended there, by Escape or after the last pick. @typedef {{type: "sw-pick-ended", picks: number}} PickEnded */
/** Content → worker: what the user pressed on could not be read; reason is the error's words. @typedef {{type: "sw-pick-failed", reason: string}} PickFailed */
/** Content → worker: the key of Shift+click is down, or up again; the debugger does not tell. @typedef {{type: "sw-pick-shift", held: boolean}} PickShift */
/** Worker → content: the debugger picked what path leads to; it may be highlighted later. @typedef {{type: "sw-pick-keep", pick: string, path: SwPath}} PickKeep */
/** Content → worker: which component is this; answered with its name, "" for none. @typedef {{type: "sw-pick-hint", path: SwPath}} PickHint */
/** Content → worker: take a picture of the visible tab, of what was picked. @typedef {{type: "sw-capture-tab", pick: string}} CaptureTab */
/** Worker → content: take the overlay away, and say where a picked element is. @typedef {{type: "sw-shot-place", pick: string}} ShotPlace */
/** Worker → content: the picture is taken. @typedef {{type: "sw-shot-done"}} ShotDone */
/** Worker → panel: the picker of a tab is (not) armed. @typedef {{type: "sw-picker-state", tabId: number, armed: boolean, picks: number}} PickerState */
/** Worker → panel: the user picked. Answered with true, or it is kept for sw-picks-take. @typedef {{type: "sw-element-picked", tabId: number, pick: string, capture: Capture}} ElementPicked */
/** Worker → panel: what became known of a pick later; thumb is a small picture, "" for none. @typedef {{type: "sw-element-more", tabId: number, pick: string, patch: Record<string, unknown>, thumb: string}} ElementMore */
/** Worker → panel: picking failed, or (quiet) was ended by the user elsewhere; message is for people; reload: loading the tab anew helps. Answered with true, or it is kept, too. @typedef {{type: "sw-picker-error", tabId: number} & Trouble} PickerError */
/** @typedef {{message: string, reload: boolean, quiet: boolean}} Trouble */
/** Panel → worker: arm the picker of a tab, for max picks. @typedef {{type: "sw-picker-start", tabId: number, max: number}} PickerStart */
/** Panel → worker: disarm it. @typedef {{type: "sw-picker-stop", tabId: number}} PickerStop */
/** Panel → worker: the key of Shift+click is down, or up again, while the panel has the focus. @typedef {{type: "sw-picker-shift", tabId: number, held: boolean}} PickerShift */
/** Panel → worker: what was picked while no panel listened; answered with TakenPicks. @typedef {{type: "sw-picks-take", tabId: number}} PicksTake */
/** @typedef {{armed: boolean, picks: number, waiting: {pick: string, capture: Capture, thumb: string}[], trouble: Trouble | null}} TakenPicks */
/** Panel → worker: answered with true when all is known of these picks that will be. @typedef {{type: "sw-picks-settled", names: string[]}} PicksSettled */
/** Panel → content: outline an element, "" for none; pick: the pick that it is of, or ""; reveal: scroll to it. Answered with whether it is there. @typedef {{type: "sw-highlight", selector: string, pick: string, reveal: boolean}} Highlight */
/** To the worker: the settings of an origin; answered with OriginSettings. @typedef {{type: "sw-config-get", origin: string}} ConfigGet */
/** To the worker: change some of them; answered with OriginSettings. @typedef {{type: "sw-config-set", origin: string, patch: Partial<OriginSettings>}} ConfigSet */
/** Content → worker: a page of a shim offers a pairing code. @typedef {{type: "sw-pair", code: string, origin: string}} Pair */
/** Confirm page → content: what became of it. @typedef {{type: "sw-paired", outcome: "asking" | "1" | "later" | "refused"}} Paired */
/** Panel → worker: a run of a tab has ended; text: its last words, for a notification. @typedef {{type: "sw-run-ended", tabId: number, state: "done" | "failed", project: string, text: string}} RunEnded */
/** Panel → worker: the mark on the toolbar icon of a tab. @typedef {{type: "sw-badge", tabId: number, state: "" | "running" | "done" | "failed"}} Badge */

/**
 * @typedef {ArmPicker | DisarmPicker | PickMade | PickEnded | PickFailed | PickShift | PickKeep | PickHint | CaptureTab | ShotPlace | ShotDone | PickerState
 *   | ElementPicked | ElementMore | PickerError | PickerStart | PickerStop | PickerShift | PicksTake | PicksSettled | Highlight | ConfigGet | ConfigSet | Pair | Paired | Badge | RunEnded} Message
 */

/**
 * @template {Message["type"]} T
 * @typedef {Extract<Message, {type: T}>} MessageOf
 */

/** @typedef {(value: unknown) => boolean} Check */

/** @type {Check} */
const text = (v) => typeof v === "string";
/** @type {Check} */
const count = (v) => Number.isSafeInteger(v) && Number(v) >= 0;
/** @type {Check} */
const flag = (v) => typeof v === "boolean";
/** @type {Check} */
const object = (v) => typeof v === "object" && v !== null && !Array.isArray(v);
/** @type {Check} */
const list = (v) => Array.isArray(v);
/** @param {...string} words @returns {Check} */
const oneOf = (...words) => (v) => typeof v === "string" && words.includes(v);

/**
 * Who may send each message, and what its fields are.
 * @type {{[T in Message["type"]]: {from: Context[], fields: Record<string, Check>}}}
 */
export const messages = {
  "sw-arm-picker": { from: ["worker"], fields: { max: count, copyPath: flag, by: oneOf("page", "debugger") } },
  "sw-disarm-picker": { from: ["worker"], fields: {} },
  "sw-pick-made": { from: ["content"], fields: { pick: text, capture: object, path: list } },
  "sw-pick-ended": { from: ["content"], fields: { picks: count } },
  "sw-pick-failed": { from: ["content"], fields: { reason: text } },
  "sw-pick-shift": { from: ["content"], fields: { held: flag } },
  "sw-pick-keep": { from: ["worker"], fields: { pick: text, path: list } },
  "sw-pick-hint": { from: ["content"], fields: { path: list } },
  "sw-capture-tab": { from: ["content"], fields: { pick: text } },
  "sw-shot-place": { from: ["worker"], fields: { pick: text } },
  "sw-shot-done": { from: ["worker"], fields: {} },
  "sw-picker-state": { from: ["worker"], fields: { tabId: count, armed: flag, picks: count } },
  "sw-element-picked": { from: ["worker"], fields: { tabId: count, pick: text, capture: object } },
  "sw-element-more": { from: ["worker"], fields: { tabId: count, pick: text, patch: object, thumb: text } },
  "sw-picker-error": { from: ["worker"], fields: { tabId: count, message: text, reload: flag, quiet: flag } },
  "sw-picker-start": { from: ["panel"], fields: { tabId: count, max: count } },
  "sw-picker-stop": { from: ["panel"], fields: { tabId: count } },
  "sw-picker-shift": { from: ["panel"], fields: { tabId: count, held: flag } },
  "sw-picks-take": { from: ["panel"], fields: { tabId: count } },
  "sw-picks-settled": { from: ["panel"], fields: { names: list } },
  "sw-highlight": { from: ["panel"], fields: { selector: text, pick: text, reveal: flag } },
  "sw-config-get": { from: ["panel", "options"], fields: { origin: text } },
  "sw-config-set": { from: ["panel", "options"], fields: { origin: text, patch: object } },
  "sw-pair": { from: ["content"], fields: { code: text, origin: text } },
  "sw-paired": { from: ["pairing"], fields: { outcome: oneOf("asking", "1", "later", "refused") } },
  "sw-run-ended": { from: ["panel"], fields: { tabId: count, state: oneOf("done", "failed"), project: text, text } },
  "sw-badge": { from: ["panel"], fields: { tabId: count, state: oneOf("", "running", "done", "failed") } },
};

/** The folders that our pages are in. @type {{[folder: string]: Context}} */
const folders = { panel: "panel", options: "options", pairing: "pairing", background: "worker" };

/**
 * The context that sent a message; null for anyone who is not of this
 * extension. A page in a tab and the same page in the side panel are one
 * context: what counts is whose code it is.
 * @param {chrome.runtime.MessageSender} sender
 * @returns {Context | null}
 */
export function contextOf(sender) {
  if (sender.id !== chrome.runtime.id) return null;
  const base = chrome.runtime.getURL("");
  // Only a content script has an address that is not the extension's: no page
  // of the web can be at one of ours.
  if (sender.url === undefined) return sender.tab ? null : "worker";
  if (!sender.url.startsWith(base)) return sender.tab ? "content" : null;
  const folder = sender.url.slice(base.length).split("/")[0];
  return Object.hasOwn(folders, folder) ? folders[folder] : null;
}

/**
 * The message, if it is one we know, is whole, and was sent by one that may.
 * @template {Message["type"]} T
 * @param {unknown} message
 * @param {chrome.runtime.MessageSender} sender
 * @param {Context | Context[]} context who is expected to send it
 * @param {T} [type] the one message that is expected
 * @returns {MessageOf<T> | null}
 */
export function accept(message, sender, context, type) {
  if (typeof message !== "object" || message === null) return null;
  const { type: name, ...fields } = /** @type {Record<string, unknown>} */ (message);
  if (typeof name !== "string" || !Object.hasOwn(messages, name)) return null;
  if (type !== undefined && name !== type) return null;
  const known = messages[/** @type {Message["type"]} */ (name)];
  const from = contextOf(sender);
  if (from === null || ![context].flat().includes(from) || !known.from.includes(from)) return null;
  for (const [field, check] of Object.entries(known.fields)) {
    if (!check(fields[field])) return null;
  }
  return /** @type {MessageOf<T>} */ (message);
}

/** The name of a panel's port to the worker, which is there for as long as it shows that the picker of a tab is armed. @param {number} tabId */
export const watchName = (tabId) => `picker:${tabId}`;

/**
 * The tab of such a port; null for any other.
 * @param {chrome.runtime.Port} port
 */
export function watchedTab({ name, sender }) {
  const tabId = Number(/^picker:(\d+)$/.exec(name)?.[1] ?? NaN);
  return Number.isSafeInteger(tabId) && sender && contextOf(sender) === "panel" ? tabId : null;
}

/**
 * @typedef {{[T in Message["type"]]?: (message: MessageOf<T>, sender: chrome.runtime.MessageSender) => unknown}} Handlers
 */

/** What a handler returns for a message that another context of its kind answers: there may be several panels. */
export const pass = Symbol("pass");

/**
 * Answers messages: a map of handlers, each called only with a message that
 * accept takes. What a handler returns, or resolves to, is the answer; what it
 * throws reaches the sender of `send` as an error. Names that are not in the
 * map are left to other contexts.
 * @param {Handlers} handlers
 * @returns {() => void} stops listening
 */
export function listen(handlers) {
  /** @param {unknown} message @param {chrome.runtime.MessageSender} sender @param {(answer: unknown) => void} answer */
  const onMessage = (message, sender, answer) => {
    const name = /** @type {{type?: unknown} | null} */ (message)?.type;
    if (typeof name !== "string" || !Object.hasOwn(handlers, name) || !Object.hasOwn(messages, name)) return false;
    const type = /** @type {Message["type"]} */ (name);
    const accepted = accept(message, sender, messages[type].from, type);
    if (accepted === null) return false;
    const handler = /** @type {(m: Message, s: chrome.runtime.MessageSender) => unknown} */ (handlers[type]);
    /** @type {unknown} */
    let result;
    try {
      result = handler(accepted, sender);
    } catch (err) {
      result = Promise.reject(err);
    }
    if (result === pass) return false;
    Promise.resolve(result)
      .then((value) => answer({ value }), (err) => answer({ error: err instanceof Error ? err.message : String(err) }));
    return true; // the answer comes later
  };
  chrome.runtime.onMessage.addListener(onMessage);
  return () => chrome.runtime.onMessage.removeListener(onMessage);
}

/**
 * Sends a message to the extension's other contexts and gives the answer of
 * the one that handles it; undefined when none does.
 * @param {Message} message
 * @returns {Promise<any>}
 */
export async function send(message) {
  let reply;
  try {
    reply = await chrome.runtime.sendMessage(message);
  } catch (err) {
    // Nobody listens: the panel is closed, say. That is an answer, too.
    if (/Receiving end does not exist|message port closed/i.test(String(err))) return undefined;
    throw err;
  }
  if (reply?.error !== undefined) throw new Error(reply.error);
  return reply?.value;
}
