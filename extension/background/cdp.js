// Runs in: service worker. The DevTools protocol, as the debugger's picker
// uses it: inspect mode, what is known of a node, its picture. It keeps
// nothing: what it needs in a page it makes there again, under the same name.

import { cropped } from "./capture.js";
import { matchedStyles } from "./cdpstyles.js";

/** @typedef {import("./picks.js").Sessions} Sessions */
/** A tab, or a frame of it that runs in another process. @typedef {{tabId: number, sessionId?: string}} Place */

/** @type {<T = any>(place: Place, method: string, params?: object) => Promise<T>} */
const call = async (place, method, params) => /** @type {any} */ (await chrome.debugger.sendCommand(place, method, params));

/** @param {number} tabId @param {string} [sessionId] @returns {Place} */
export const placeOf = (tabId, sessionId) => (sessionId ? { tabId, sessionId } : { tabId });

// Inspect mode.

/** @param {number} r @param {number} g @param {number} b @param {number} a */
const rgba = (r, g, b, a) => ({ r, g, b, a });
const colours = {
  showInfo: true,
  contentColor: rgba(43, 79, 199, 0.12), paddingColor: rgba(43, 79, 199, 0.2), borderColor: rgba(43, 79, 199, 0.9), marginColor: rgba(255, 176, 32, 0.25),
};

/** Takes the tab over; a worker before this one may have left it attached. @param {number} tabId */
export async function attach(tabId) {
  try {
    await chrome.debugger.attach({ tabId }, "1.3");
  } catch (err) {
    if (!/already attached/.test(String(err))) throw err;
    // Not by us: then this fails, and the first words were right.
    await chrome.debugger.detach({ tabId }).catch(() => {
      throw err;
    });
    await chrome.debugger.attach({ tabId }, "1.3");
  }
}

/**
 * What is pressed in the page from now on is picked. The page hears of keys
 * alone; of two of them, so do we.
 * @param {Place} place
 */
export async function inspect(place) {
  await call(place, "DOM.enable");
  await call(place, "Page.enable");
  await call(place, "Overlay.enable");
  await inAllFrames(place, `(${listenForKeys})(${JSON.stringify(keyBinding)})`);
  await bindKeys(place);
  // Frames of other processes; each is told of by an event.
  await call(place, "Target.setAutoAttach", { autoAttach: true, waitForDebuggerOnStart: false, flatten: true, filter: [{ type: "iframe" }] });
  await show(place, true);
}

/** @param {Place} place @param {boolean} shown whether what is pointed at is coloured */
export const show = (place, shown) => call(place, "Overlay.setInspectMode", { mode: "searchForNode", highlightConfig: shown ? colours : {} });

/** The page's own again, but for the attachment. @param {Place} place */
export async function rest(place) {
  await call(place, "Overlay.setInspectMode", { mode: "none", highlightConfig: {} });
  await inAllFrames(place, "globalThis.slidewriteKeys?.abort()");
}

/** @param {number} tabId */
export const detach = (tabId) => chrome.debugger.detach({ tabId }).catch(() => {}); // by the user, or with the tab, it was before

/** The world of the listeners for keys, and what they call. */
const keyWorld = "slidewrite-keys";
export const keyBinding = "slidewriteKey";

/** Gives the worlds that there are what they call; those of frames that come later do not get it by themselves. @param {Place} place */
export const bindKeys = (place) => call(place, "Runtime.addBinding", { name: keyBinding, executionContextName: keyWorld });

/** @param {Place} place @param {string} source */
const inAllFrames = (place, source) => call(place, "Page.addScriptToEvaluateOnNewDocument", { source, worldName: keyWorld, runImmediately: true });

/** Runs in the page. @param {string} binding */
function listenForKeys(binding) {
  const scope = /** @type {any} */ (globalThis);
  scope.slidewriteKeys?.abort();
  scope.slidewriteKeys = new AbortController();
  for (const type of ["keydown", "keyup"]) {
    addEventListener(type, (event) => {
      const { key, isTrusted } = /** @type {KeyboardEvent} */ (event);
      if (isTrusted && (key === "Shift" || (key === "Escape" && type === "keydown"))) scope[binding]?.(`${type} ${key}`);
    }, { capture: true, signal: scope.slidewriteKeys.signal });
  }
}

// What is known of a node.

/** The world in which our code describes it, and its files. */
const world = "slidewrite";
const files = ["picker/tree.js", "picker/aria.js", "picker/capture.js", "picker/overlay.js", "picker/copy.js"];

/** Our world in a frame. @param {Place} place @param {string} frameId @returns {Promise<number>} */
const worldIn = async (place, frameId) => (await call(place, "Page.createIsolatedWorld", { frameId, worldName: world })).executionContextId;

/** Our code in such a world. @param {Place} place @param {number} contextId */
async function load(place, contextId) {
  /** @param {string} expression */
  const evaluate = async (expression) => {
    const { result, exceptionDetails } = await call(place, "Runtime.evaluate", { contextId, expression });
    if (exceptionDetails) throw new Error(textOf(exceptionDetails));
    return result.value;
  };
  if (await evaluate("Boolean(globalThis.slidewrite?.copyText)")) return;
  const code = await Promise.all(files.map(async (file) => (await fetch(chrome.runtime.getURL(file))).text()));
  await evaluate(code.join("\n"));
}

/** @param {any} exception */
const textOf = ({ exception, text }) => String(exception?.description ?? text);

/**
 * Calls a function in our world, with a node for its `this`.
 * @template {any[]} A, T
 * @param {Place} place @param {number} contextId @param {number} backendNodeId
 * @param {(this: any, ...args: A) => T} func @param {A} args
 * @returns {Promise<Awaited<T>>}
 */
async function onNode(place, contextId, backendNodeId, func, ...args) {
  const { object } = await call(place, "DOM.resolveNode", { backendNodeId, executionContextId: contextId });
  if (!object?.objectId) throw new Error("it is gone");
  return run(place, { objectId: object.objectId }, func, ...args);
}

/**
 * @template {any[]} A, T
 * @param {Place} place @param {{objectId: string} | {executionContextId: number}} on
 * @param {(this: any, ...args: A) => T} func @param {A} args
 * @returns {Promise<Awaited<T>>}
 */
async function run(place, on, func, ...args) {
  const { result, exceptionDetails } = await call(place, "Runtime.callFunctionOn", {
    ...on, functionDeclaration: `${func}`, arguments: args.map((value) => ({ value })), returnByValue: true, awaitPromise: true, userGesture: true,
  });
  if (exceptionDetails) throw new Error(textOf(exceptionDetails));
  return result.value;
}

/**
 * Runs in the page, our world. Whether this window is the outermost one from
 * which a script can look at the element.
 * @this {Element}
 */
function isOutermostHere() {
  // Past the fields of a form, which may be called so.
  const { get } = /** @type {PropertyDescriptor} */ (Object.getOwnPropertyDescriptor(Node.prototype, "ownerDocument"));
  let win = /** @type {Window} */ (get?.call(this).defaultView);
  try {
    while (win.parent !== win && win.parent.document) win = win.parent;
  } catch {
    // The next one is of another origin.
  }
  return win === window;
}

/**
 * The outermost frame from which a script can look at a node: frames of one
 * process may be of several origins.
 * @param {Place} place @param {number} backendNodeId
 */
async function outermostOf(place, backendNodeId) {
  const { frameTree } = await call(place, "Page.getFrameTree");
  for (const frameId of framesIn(frameTree)) {
    const contextId = await worldIn(place, frameId).catch(() => 0); // a frame may be gone
    if (contextId === 0) continue;
    const { object } = await call(place, "DOM.resolveNode", { backendNodeId, executionContextId: contextId }).catch(() => ({ object: null }));
    if (!object?.objectId || !(await run(place, { objectId: object.objectId }, isOutermostHere))) continue;
    await load(place, contextId);
    return { frameId, contextId, isRoot: frameId === frameTree.frame.id };
  }
  throw new Error("it is gone");
}

/** @param {any} tree @returns {string[]} outer ones first */
const framesIn = ({ frame, childFrames = [] }) => [frame.id, ...childFrames.flatMap(framesIn)];

/**
 * Runs in the page, our world.
 * @this {Element}
 * @param {SwAround | null} around
 */
function describeHere(around) {
  // While Shift is down, Chromium finds what is not to be hit, too.
  if (slidewrite.tree.isOurs(this)) return null;
  slidewrite.ticked?.remove(); // it would be in the picture
  /** Which frame this is: the place among its siblings, at each step. @type {number[]} */
  const frame = [];
  for (let w = /** @type {any} */ (window); w !== w.top; w = w.parent) frame.unshift(Array.from({ length: w.parent.length }, (_, i) => w.parent[i]).indexOf(w));
  return {
    capture: slidewrite.captures.capture(this, null, window, around),
    seen: slidewrite.captures.seen(this, window, around),
    selector: slidewrite.captures.fullSelector(this),
    path: slidewrite.tree.pathOf(this, window),
    page: location.href,
    frame,
  };
}

/** @this {Element} @param {SwAround | null} around @returns {SwAround} */
function aroundHere(around) {
  return slidewrite.captures.around(this, window, around);
}

/** @this {Element} */
function tickHere() {
  const overlay = slidewrite.ticked ?? slidewrite.makeOverlay(document);
  slidewrite.ticked = overlay;
  overlay.raise();
  overlay.tick(slidewrite.tree.boxOf(this, window));
  setTimeout(() => overlay.remove(), 1_000);
}

/** @param {string} text */
function copyHere(text) {
  return slidewrite.copyText(text);
}

/** In the tab's own window: a frame may have no clipboard. @param {number} tabId @param {string} text */
export async function copy(tabId, text) {
  const { frameTree } = await call({ tabId }, "Page.getFrameTree");
  const executionContextId = await worldIn({ tabId }, frameTree.frame.id);
  await load({ tabId }, executionContextId);
  await run({ tabId }, { executionContextId }, copyHere, text);
}

/**
 * A frame that scripts of the ones around it cannot look into, in the window
 * of the tab; null for the tab's own.
 * @param {number} tabId @param {Sessions} sessions @param {string} sessionId
 * @param {{frameId: string, isRoot: boolean}} frame
 * @returns {Promise<SwAround | null>}
 */
async function aroundOf(tabId, sessions, sessionId, { frameId, isRoot }) {
  if (isRoot && sessionId === "") return null;
  const around = isRoot ? sessions[sessionId].parent : sessionId;
  const place = placeOf(tabId, around);
  const { backendNodeId } = await call(place, "DOM.getFrameOwner", { frameId });
  const outer = await outermostOf(place, backendNodeId);
  return onNode(place, outer.contextId, backendNodeId, aroundHere, await aroundOf(tabId, sessions, around, outer));
}

/** Of what a rule puts before or after it: the element. @param {Place} place @param {number} backendNodeId @returns {Promise<number>} */
async function elementOf(place, backendNodeId) {
  const { node: { pseudoType } } = await call(place, "DOM.describeNode", { backendNodeId });
  if (!pseudoType) return backendNodeId;
  const { object } = await call(place, "DOM.resolveNode", { backendNodeId });
  const { result } = await call(place, "Runtime.callFunctionOn", { objectId: object.objectId, functionDeclaration: "function () { return this.element; }" });
  return (await call(place, "DOM.describeNode", { objectId: result.objectId })).node.backendNodeId;
}

/**
 * A picked node: its capture, and what else can be asked of it; null for one
 * of ours.
 * @param {number} tabId @param {Sessions} sessions @param {string} sessionId @param {number} backendNodeId
 */
export async function nodeAt(tabId, sessions, sessionId, backendNodeId) {
  const place = placeOf(tabId, sessionId);
  backendNodeId = await elementOf(place, backendNodeId);
  const frame = await outermostOf(place, backendNodeId);
  const { contextId } = frame;
  const described = await onNode(place, contextId, backendNodeId, describeHere, await aroundOf(tabId, sessions, sessionId, frame));
  return described && {
    ...described,
    tick: () => onNode(place, contextId, backendNodeId, tickHere),
    styles: () => stylesOf(place, contextId, backendNodeId),
  };
}

// Its rules.

/** @param {Place} place @param {number} contextId @param {number} backendNodeId */
async function stylesOf(place, contextId, backendNodeId) {
  /** Told of while the domain is switched on. @type {Map<string, import("./cdpstyles.js").Sheet>} */
  const sheets = new Map();
  /** @param {chrome.debugger.DebuggerSession} from @param {string} method @param {any} [params] */
  const onEvent = (from, method, params) => {
    if (from.tabId === place.tabId && from.sessionId === place.sessionId && method === "CSS.styleSheetAdded") sheets.set(params.header.styleSheetId, params.header);
  };
  chrome.debugger.onEvent.addListener(onEvent);
  try {
    await call(place, "CSS.enable");
    await call(place, "DOM.getDocument", { depth: 0 });
    const { nodeIds: [nodeId] } = await call(place, "DOM.pushNodesByBackendIdsToFrontend", { backendNodeIds: [backendNodeId] });
    const matched = await call(place, "CSS.getMatchedStylesForNode", { nodeId });
    const longhands = await onNode(place, contextId, backendNodeId, longhandsHere, declaredIn(matched));
    await Promise.all([...sheets.values()].map(async (sheet) => {
      // A bundler's style element has no address; it says which file it is of.
      if (sheet.ownerNode && !sheet.sourceURL) sheet.devId = await onNode(place, contextId, sheet.ownerNode, devIdHere).catch(() => "");
    }));
    return matchedStyles(matched, sheets, longhands);
  } finally {
    chrome.debugger.onEvent.removeListener(onEvent);
    await call(place, "CSS.disable").catch(() => {});
  }
}

/** @param {any} matched @returns {string[]} the names of all that is declared */
function declaredIn({ inlineStyle, matchedCSSRules = [] }) {
  const styles = [inlineStyle, ...matchedCSSRules.map((/** @type {any} */ m) => m.rule.style)];
  return [...new Set(styles.flatMap((style) => style?.cssProperties ?? []).map((p) => p.name))];
}

/** Of what each property is the short form; the engine knows. @this {Element} @param {string[]} names @returns {Record<string, string[]>} */
function longhandsHere(names) {
  /** @type {Record<string, string[]>} */
  const found = {};
  for (const name of names) {
    const { style } = document.createElement("i");
    style.setProperty(name, "inherit");
    found[name] = [...style];
  }
  return found;
}

/** @this {Element} */
function devIdHere() {
  return this.getAttribute("data-vite-dev-id") ?? "";
}

// Its picture, and its frame.

/**
 * What of it can be seen now.
 * @param {number} tabId @param {Sessions} sessions @param {SwBox} seen in the window of the tab
 * @param {() => Promise<boolean>} armed
 */
export async function pictureOf(tabId, sessions, seen, armed) {
  if (seen.w < 1 || seen.h < 1) return null;
  const places = ["", ...Object.keys(sessions)].map((id) => placeOf(tabId, id));
  if (await armed()) await Promise.allSettled(places.map((place) => show(place, false)));
  try {
    const { cssLayoutViewport: { pageX, pageY }, cssVisualViewport: { zoom = 1 } } = await call({ tabId }, "Page.getLayoutMetrics");
    const clip = { x: (seen.x + pageX) * zoom, y: (seen.y + pageY) * zoom, width: seen.w * zoom, height: seen.h * zoom, scale: 1 };
    const { data } = await call({ tabId }, "Page.captureScreenshot", { format: "png", clip });
    const bitmap = await createImageBitmap(await (await fetch(`data:image/png;base64,${data}`)).blob());
    try {
      return await cropped(bitmap, { left: 0, top: 0, width: bitmap.width, height: bitmap.height });
    } finally {
      bitmap.close();
    }
  } finally {
    if (await armed()) await Promise.allSettled(places.map((place) => show(place, true)));
  }
}

/**
 * The number that chrome.scripting has for a frame.
 * @param {number} tabId @param {number[]} frame
 * @returns {Promise<number | undefined>}
 */
export async function frameIdOf(tabId, frame) {
  if (frame.length === 0) return 0;
  const all = await chrome.scripting.executeScript({ target: { tabId, allFrames: true }, func: whichFrame, injectImmediately: true });
  return all.find(({ result }) => String(result) === String(frame))?.frameId;
}

/** Runs in the page. */
function whichFrame() {
  /** @type {number[]} */
  const frame = [];
  for (let w = /** @type {any} */ (window); w !== w.top; w = w.parent) frame.unshift(Array.from({ length: w.parent.length }, (_, i) => w.parent[i]).indexOf(w));
  return frame;
}
