import { fakeChrome } from "./chrome.js";
import { deepEqual, equal, ok, test, throws } from "./harness.js";

const { chrome } = fakeChrome();
const { accept, contextOf, listen, messages, pass, send, watchedTab, watchName } = await import("../../extension/lib/messages.js");

const id = chrome.runtime.id;
/** @param {string} path @param {boolean} [inTab] @returns {any} */
const page = (path, inTab = false) => ({ id, url: chrome.runtime.getURL(path), origin: `chrome-extension://${id}`, ...(inTab && { tab: { id: 7 } }) });
const panel = page("panel/panel.html");
const content = /** @type {any} */ ({ id, url: "http://localhost:5173/", origin: "http://localhost:5173", tab: { id: 7 }, frameId: 0 });
const get = { type: "sw-config-get", origin: "http://localhost:5173" };

test("the sender's context is told by its address", () => {
  equal(contextOf(panel), "panel");
  equal(contextOf(page("panel/panel.html?tabId=3", true)), "panel", "in a window of its own");
  equal(contextOf(page("options/options.html#x", true)), "options");
  equal(contextOf(page("pairing/confirm.html", true)), "pairing");
  equal(contextOf(page("background/main.js")), "worker");
  equal(contextOf(/** @type {any} */ ({ id })), "worker");
  equal(contextOf(content), "content");
});

test("nobody else is one of ours", () => {
  for (const stranger of [
    { ...panel, id: "a".repeat(32) },
    { url: "https://evil.test/", origin: "https://evil.test" },
    { id, url: "https://evil.test/chrome-extension://" + id + "/panel/panel.html" },
    { id, url: "chrome-extension://" + "a".repeat(32) + "/panel/panel.html" },
    { id, tab: { id: 7 } },
    page("lib/panel/panel.html"),
    page("constructor/x"),
  ]) equal(contextOf(/** @type {any} */ (stranger)), null, JSON.stringify(stranger));
});

test("a page with our path behind its own name is a content script at most", () => {
  equal(contextOf({ ...content, url: "http://localhost:5173/panel/panel.html" }), "content");
  equal(accept(get, { ...content, url: "http://localhost:5173/panel/panel.html" }, "panel"), null);
});

test("a message is taken from who may send it", () => {
  deepEqual(accept(get, panel, "panel"), get);
  deepEqual(accept(get, panel, ["options", "panel"], "sw-config-get"), get);
  equal(accept(get, content, "content"), null, "content scripts must not read tokens");
  equal(accept(get, panel, "options"), null);
  equal(accept(get, panel, "panel", "sw-config-set"), null);
  equal(accept(get, { ...panel, id: "other" }, "panel"), null);
});

test("a message that is not whole is not taken", () => {
  for (const bad of [null, undefined, 5, "sw-config-get", [], {}, { type: 5 }, { type: "sw-unknown" }, { type: "constructor" }, { type: "sw-config-get" }, { ...get, origin: 5 }]) {
    equal(accept(bad, panel, "panel"), null, JSON.stringify(bad));
  }
  const badge = (/** @type {any} */ m) => accept({ type: "sw-badge", tabId: 1, state: "done", ...m }, panel, "panel");
  ok(badge({}));
  equal(badge({ state: "odd" }), null);
  equal(badge({ tabId: "1" }), null);
  equal(badge({ tabId: 1.5 }), null);
});

test("every message is refused from a context that it does not name", () => {
  const senders = { panel, options: page("options/options.html"), pairing: page("pairing/confirm.html"), worker: page("background/main.js"), content };
  const whole = { tabId: 1, armed: true, picks: 0, names: [], pick: "p", path: [], thumb: "", copyPath: true, by: "page", held: true, reload: false, quiet: false, capture: { tag: "a" }, message: "m", reason: "r", selector: "", reveal: true, max: 5, origin: "o", patch: {}, code: "c", outcome: "1", project: "p", text: "t", state: "done" };
  for (const [type, { from }] of Object.entries(messages)) {
    for (const [context, sender] of Object.entries(senders)) {
      const taken = accept({ type, ...whole }, sender, /** @type {any} */ (context)) !== null;
      equal(taken, from.includes(/** @type {any} */ (context)), `${type} from ${context}`);
    }
  }
});

test("a handler's answer comes back, and so does its error", async () => {
  const fake = fakeChrome();
  const stop = listen({
    "sw-config-get": async ({ origin }) => ({ origin }),
    "sw-config-set": () => {
      throw new Error("the disk is full");
    },
  });
  deepEqual(await fake.deliver(get, panel), { value: { origin: get.origin } });
  deepEqual(await fake.deliver({ type: "sw-config-set", origin: "o", patch: {} }, panel), { error: "the disk is full" });
  equal(await fake.deliver(get, content), undefined, "not from there");
  equal(await fake.deliver({ type: "sw-badge", tabId: 1, state: "" }, panel), undefined, "no handler of ours");
  stop();
  equal(await fake.deliver(get, panel), undefined);
});

test("what a context passes on is answered by another, or by none", async () => {
  const fake = fakeChrome();
  const stops = [listen({ "sw-config-get": () => pass }), listen({ "sw-config-get": () => "mine" })];
  deepEqual(await fake.deliver(get, panel), { value: "mine" });
  stops[1]();
  equal(await fake.deliver(get, panel), undefined);
  stops[0]();
});

test("a handler is not called for what is not accepted", async () => {
  const fake = fakeChrome();
  let calls = 0;
  listen({ "sw-pair": () => calls++ });
  await fake.deliver({ type: "sw-pair", code: "c", origin: "o" }, panel);
  await fake.deliver({ type: "sw-pair", code: 5, origin: "o" }, content);
  equal(calls, 0);
  await fake.deliver({ type: "sw-pair", code: "c", origin: "o" }, content);
  equal(calls, 1);
});

test("send gives the answer, throws the handler's error, and is calm when nobody listens", async () => {
  /** @type {any} */
  let reply = { value: 5 };
  fakeChrome({ answer: () => {
    if (reply instanceof Error) throw reply;
    return reply;
  } });
  const message = /** @type {any} */ (get);
  equal(await send(message), 5);
  reply = { error: "no" };
  await throws(() => send(message), /^no$/);
  reply = undefined;
  equal(await send(message), undefined);
  reply = new Error("Could not establish connection. Receiving end does not exist.");
  equal(await send(message), undefined);
  reply = new Error("Extension context invalidated.");
  await throws(() => send(message), /invalidated/);
});

test("the port of a panel is told by its name and by who has it", () => {
  const port = (/** @type {string} */ name, /** @type {any} */ sender) => watchedTab(/** @type {any} */ ({ name, sender }));
  equal(port(watchName(7), panel), 7);
  equal(port(watchName(7), content), null);
  equal(port(watchName(7), undefined), null);
  for (const name of ["", "picker:", "picker:x", "picker:7x", "picker:-1", "other:7"]) equal(port(name, panel), null, name);
});
