import { fakeChrome } from "./chrome.js";
import { deepEqual, equal, ok, test, until } from "./harness.js";

// The worker as Chrome starts it: one import, and everything is registered
// when it returns. It is imported once; the tests share it and its chrome.

const shim = "http://127.0.0.1:4040";
const app = "http://localhost:5173";
const fake = fakeChrome({ local: { settings: { version: 1, origins: { [app]: { shimUrl: shim, token: "t" } } } } });
const { chrome } = fake;
const id = chrome.runtime.id;

/** @type {any[][]} */
const calls = [];
/** @param {string} name @param {any} [answer] */
const note = (name, answer) => async (/** @type {any[]} */ ...args) => {
  calls.push([name, ...args]);
  return typeof answer === "function" ? answer(...args) : answer;
};
const signal = () => {
  /** @type {Function[]} */
  const listeners = [];
  return { listeners, addListener: (/** @type {Function} */ f) => listeners.push(f) };
};
/** @type {any[]} */
let tabs = [];
const extra = {
  action: {
    onClicked: signal(), setBadgeText: note("badge"), setBadgeBackgroundColor: note("color"), setBadgeTextColor: note("text color"), setTitle: note("title"),
  },
  permissions: { onAdded: signal(), onRemoved: signal(), contains: async () => false, remove: async () => true },
  scripting: { getRegisteredContentScripts: async () => [], executeScript: note("inject") },
  windows: {
    create: note("window", ({ url }) => {
      const tab = { id: 100 + calls.length, windowId: 9, url };
      tabs.push(tab);
      return { id: 9, tabs: [tab] };
    }),
    update: note("focus window"),
  },
  sidePanel: { setPanelBehavior: note("panel behavior"), open: note("panel open") },
};
Object.assign(chrome, extra);
Object.assign(chrome.tabs, {
  onRemoved: signal(),
  onReplaced: signal(),
  query: async () => tabs,
  remove: note("close", (/** @type {number[]} */ ids) => { tabs = tabs.filter((t) => !ids.includes(t.id)); }),
  create: note("tab", { id: 5 }),
  sendMessage: note("tell"),
});

await import("../../extension/background/main.js");
const { outstanding } = await import("../../extension/background/outstanding.js");
const listenedAtOnce = {
  messages: chrome.runtime.onMessage.listeners.size,
  clicked: extra.action.onClicked.listeners.length,
  installed: chrome.runtime.onInstalled.listeners.size,
  startup: chrome.runtime.onStartup.listeners.size,
  changed: chrome.storage.onChanged.listeners.size,
  closed: chrome.tabs.onRemoved.listeners.length,
};
const behavior = calls.find((c) => c[0] === "panel behavior");

const panel = { id, url: chrome.runtime.getURL("panel/panel.html") };
/** @param {number} tabId @returns {any} */
const pairPage = (tabId) => ({ id, url: shim + "/pair", origin: shim, tab: { id: tabId }, frameId: 0 });
const code = "c".repeat(22);
/** @param {string} name */
const named = (name) => calls.filter((c) => c[0] === name).map((c) => c.slice(1));
const clear = () => calls.splice(0);
const request = async () => (await chrome.storage.session.get("pairing")).pairing;

test("everything is listened to when the module has run", () => {
  deepEqual(listenedAtOnce, { messages: 1, clicked: 1, installed: 1, startup: 1, changed: 1, closed: 1 });
});

test("tokens are closed to content scripts, and the action opens the panel", () => {
  equal(chrome.storage.local.accessLevel, "TRUSTED_CONTEXTS");
  deepEqual(behavior, ["panel behavior", { openPanelOnActionClick: true }]);
});

test("settings are answered to the panel, and to nobody in a page", async () => {
  const get = { type: "sw-config-get", origin: app };
  equal((await fake.deliver(get, panel)).value.token, "t");
  equal(await fake.deliver(get, pairPage(1)), undefined);
  const set = await fake.deliver({ type: "sw-config-set", origin: app, patch: { model: "m" } }, panel);
  deepEqual([set.value.model, set.value.token], ["m", "t"]);
  ok("error" in (await fake.deliver({ type: "sw-config-set", origin: "chrome://x", patch: {} }, panel)));
});

test("a click opens the side panel within the gesture", () => {
  clear();
  extra.action.onClicked.listeners[0]({ id: 3, windowId: 8 });
  deepEqual(named("panel open"), [[{ windowId: 8 }]], "before anything is awaited");
});

test("without a side panel a window of its own opens, once per tab", async () => {
  clear();
  const { sidePanel } = /** @type {any} */ (chrome);
  Object.assign(chrome, { sidePanel: undefined });
  try {
    extra.action.onClicked.listeners[0]({ id: 3, windowId: 8 });
    await until(() => named("window").length === 1);
    equal(named("window")[0][0].url, chrome.runtime.getURL("panel/panel.html?tabId=3"));
    extra.action.onClicked.listeners[0]({ id: 3, windowId: 8 });
    await until(() => named("focus window").length === 1);
    equal(named("window").length, 1);
  } finally {
    Object.assign(chrome, { sidePanel });
    tabs = [];
  }
});

test("the badge is that of a tab, and a tab that is gone is no error", async () => {
  clear();
  await fake.deliver({ type: "sw-badge", tabId: 3, state: "failed" }, panel);
  deepEqual(named("badge"), [[{ tabId: 3, text: "!" }]]);
  await fake.deliver({ type: "sw-badge", tabId: 3, state: "" }, panel);
  deepEqual(named("badge")[1], [{ tabId: 3, text: "" }]);
  const set = extra.action.setBadgeText;
  extra.action.setBadgeText = async () => {
    throw new Error("No tab with id: 4.");
  };
  const answer = await fake.deliver({ type: "sw-badge", tabId: 4, state: "done" }, panel);
  extra.action.setBadgeText = set;
  equal(answer.error, undefined);
});

test("the end of a run is said when that is on, allowed, and its tab not in front", async () => {
  const ended = { type: "sw-run-ended", tabId: 3, state: "done", project: "shop", text: "The button is green." };
  const said = async () => (await fake.deliver(ended, panel)).value;
  const onClicked = signal();
  let active = false;
  let focused = true;
  Object.assign(chrome.tabs, { get: async () => ({ id: 3, windowId: 8, active }), update: note("activate", { id: 3, windowId: 8 }) });
  Object.assign(extra.windows, { get: async () => ({ focused }) });
  clear();
  equal(await said(), false, "it is off");
  await chrome.storage.local.set({ settings: { version: 1, origins: {}, global: { notify: true } } });
  equal(await said(), false, "there is no permission");
  Object.assign(chrome, { notifications: { onClicked, create: note("notify"), clear: note("clear notice") } });
  extra.permissions.onAdded.listeners.forEach((f) => f({ permissions: ["notifications"] }));
  equal(onClicked.listeners.length, 1);
  active = true;
  equal(await said(), false, "the tab is in front");
  focused = false;
  equal(await said(), true, "its window is not");
  deepEqual(named("notify"), [["run:3", { type: "basic", iconUrl: chrome.runtime.getURL("icons/128.png"), title: "shop: done", message: "The button is green." }]]);
  onClicked.listeners[0]("run:3");
  await until(() => named("focus window").length === 1);
  deepEqual([named("clear notice"), named("activate"), named("focus window")], [[["run:3"]], [[3, { active: true }]], [[8, { focused: true }]]]);
  await fake.deliver({ type: "sw-badge", tabId: 3, state: "" }, panel);
  equal(named("clear notice").length, 2, "looked at");
});

test("what is still found out about a pick is waited for, and nothing else", async () => {
  const ask = (/** @type {string[]} */ ...picks) => fake.deliver({ type: "sw-picks-settled", names: picks }, panel);
  deepEqual(await ask("a", "b"), { value: true });
  const first = Promise.withResolvers();
  const second = Promise.withResolvers();
  equal(outstanding("a", first.promise), first.promise);
  let answered = false;
  const answer = ask("b", "a").then(() => { answered = true; });
  first.promise.catch(() => outstanding("a", second.promise));
  first.reject(new Error("no picture"));
  await Promise.allSettled([first.promise]);
  deepEqual(await ask("b"), { value: true });
  equal(answered, false, "the second finding is not there");
  second.resolve();
  await answer;
  deepEqual(await ask("a"), { value: true });
});

test("a pairing page gets a question on our own page, and nothing is asked of the shim", async () => {
  clear();
  const reply = await fake.deliver({ type: "sw-pair", code, origin: shim }, pairPage(21));
  deepEqual(reply, { value: "asking" });
  const asked = await request();
  const url = `${chrome.runtime.getURL("pairing/confirm.html")}#${asked.id}`;
  equal(named("window")[0][0].url, url);
  ok(!url.includes(code), "the code is in no address");
  deepEqual([asked.code, asked.shimUrl, asked.tabId], [code, shim, 21]);
});

test("a tab that is closed takes what was kept of it along, whether a panel is open or not", async () => {
  await chrome.storage.session.set({ "panel:3": { origin: app }, "captures:3": { chips: [] }, "picker:3": {}, "panel:4": { origin: app } });
  chrome.tabs.onRemoved.listeners[0](3);
  await until(async () => Object.keys(await chrome.storage.session.get(null)).every((name) => !name.endsWith(":3")));
  deepEqual((await chrome.storage.session.get("panel:4"))["panel:4"], { origin: app });
});

test("a second offer takes the place of the first, whose page is told", async () => {
  clear();
  const before = await request();
  await fake.deliver({ type: "sw-pair", code: "d".repeat(22), origin: shim }, pairPage(22));
  deepEqual(named("close"), [[[before.confirmTab]]]);
  deepEqual(named("tell"), [[21, { type: "sw-paired", outcome: "later" }]]);
  equal((await request()).tabId, 22);
});

test("a question that is closed unanswered is told to its page", async () => {
  clear();
  const { confirmTab } = await request();
  chrome.tabs.onRemoved.listeners[0](confirmTab + 1000);
  chrome.tabs.onRemoved.listeners[0](confirmTab);
  await until(() => named("tell").length > 0);
  deepEqual(named("tell"), [[22, { type: "sw-paired", outcome: "later" }]]);
  equal(await request(), undefined);
});

test("an offer from a page that is no pairing page is refused", async () => {
  clear();
  const reply = await fake.deliver({ type: "sw-pair", code, origin: app }, { id, url: app + "/shop", origin: app, tab: { id: 1 }, frameId: 0 });
  ok(reply.error.includes("no pairing page"));
  deepEqual([named("window"), await request()], [[], undefined]);
});

test("where no window can be opened, the question is a tab", async () => {
  clear();
  const { create } = extra.windows;
  extra.windows.create = async () => {
    throw new Error("no popups here");
  };
  await fake.deliver({ type: "sw-pair", code, origin: shim }, pairPage(23));
  extra.windows.create = create;
  equal(named("tab").length, 1);
  equal((await request()).confirmTab, 5);
});

test("loopback pages that were open at the installation are woken", async () => {
  clear();
  chrome.runtime.getManifest = /** @type {any} */ (() => ({ content_scripts: [{ matches: ["*://localhost/*"], js: ["pairing/page.js"] }, { matches: ["*://localhost/*"], js: ["picker/pick.js"] }] }));
  tabs = [{ id: 31 }, { id: 32 }];
  chrome.runtime.onInstalled.call({ reason: "update" });
  chrome.runtime.onInstalled.call({ reason: "install" });
  await until(() => named("inject").length >= 2);
  deepEqual(named("inject").map(([{ target, files }]) => [target.tabId, files]), [[31, ["pairing/page.js"]], [32, ["pairing/page.js"]]]);
  tabs = [];
});
