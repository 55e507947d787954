import { fakeChrome } from "./chrome.js";
import { deepEqual, equal, match, ok, test, throws, until } from "./harness.js";

fakeChrome();
const { PairError, planGrant, readGrant, readOffer, redeem } = await import("../../extension/lib/pairing.js");
const { apply, migrate } = await import("../../extension/lib/settings.js");

const code = "C0de-_".repeat(4);
const origin = "http://127.0.0.1:4040";
const app = "http://localhost:5173";
/** @returns {any} */
const sender = (/** @type {string} */ url) => ({ url, tab: { id: 7 }, frameId: 0 });
const pair = { type: /** @type {const} */ ("sw-pair"), code, origin };
const offer = { code, origin, shimUrl: origin, tabId: 7 };

test("an offer is a code from a page at /pair", () => {
  deepEqual(readOffer(pair, sender(origin + "/pair")), offer);
  deepEqual(readOffer(pair, sender(origin + "/base/pair?x")), { ...offer, shimUrl: origin + "/base" }, "behind a base path");
});

test("anything else is no offer", () => {
  equal(readOffer(pair, sender(origin + "/")), null, "another page");
  equal(readOffer(pair, sender("http://localhost:4040/pair")), null, "the page's word on its origin is not the browser's");
  equal(readOffer(pair, { ...sender(origin + "/pair"), frameId: 3 }), null, "a frame");
  equal(readOffer(pair, { ...sender(origin + "/pair"), tab: undefined }), null, "no tab");
  equal(readOffer(pair, { frameId: 0, tab: /** @type {any} */ ({ id: 7 }) }), null, "no address");
  for (const bad of ["", "short", "x".repeat(129), code + "!", code + "\n", "<script>".repeat(4)]) equal(readOffer({ ...pair, code: bad }, sender(origin + "/pair")), null, bad);
});

test("a grant is read, and odd origins in it are left out", () => {
  const got = readGrant(200, { token: "t", origins: [app + "/", app, "*", 5, "chrome://x"], project: "shop" }, origin);
  deepEqual(got, { token: "t", origins: [app], project: "shop" });
  deepEqual(readGrant(200, { token: "t" }, origin), { token: "t", origins: [], project: "" });
});

test("a refusal carries the shim's words and the command", async () => {
  const refused = await throws(() => readGrant(403, { error: "this link was used before", code: "pair_refused", fix: "slidewrite pair" }, origin));
  ok(refused instanceof PairError);
  equal(refused.code, "refused");
  equal(refused.fix, "slidewrite pair");
  match(refused.message, /used before/);
  const bare = await throws(() => readGrant(403, null, origin));
  equal(bare.fix, "slidewrite pair");
});

test("what no shim answers is said so", async () => {
  for (const [status, body] of /** @type {const} */ ([[404, null], [200, null], [200, "<html>"], [200, { token: "" }], [200, { token: 5 }], [500, { error: "x" }]])) {
    equal((await throws(() => readGrant(status, body, origin))).code, "unexpected", `${status} ${JSON.stringify(body)}`);
  }
});

test("the code is handed to its own shim, once, without cookies", async () => {
  /** @type {any[]} */
  const asked = [];
  const real = globalThis.fetch;
  globalThis.fetch = /** @type {any} */ (async (/** @type {any[]} */ ...args) => {
    asked.push(args);
    return new Response(JSON.stringify({ token: "t", origins: [], project: "shop" }), { status: 200 });
  });
  try {
    equal((await redeem({ ...offer, shimUrl: origin + "/base" })).token, "t");
    globalThis.fetch = /** @type {any} */ (async () => {
      throw new TypeError("Failed to fetch");
    });
    const gone = await throws(() => redeem(offer), /Nothing answers at http:\/\/127\.0\.0\.1:4040/);
    equal(gone.fix, "slidewrite");
  } finally {
    globalThis.fetch = real;
  }
  equal(asked.length, 1);
  const [url, init] = asked[0];
  equal(url, origin + "/base/pair");
  deepEqual([init.method, init.credentials, init.redirect, init.body, init.headers], ["POST", "omit", "error", JSON.stringify({ code }), { "content-type": "application/json" }]);
});

const none = migrate(undefined);
const grant = { token: "t", origins: [app], project: "shop" };

test("the shim's origins are set up", () => {
  const plan = planGrant(none, offer, grant);
  deepEqual(plan, { origins: { [app]: { shimUrl: origin, token: "t", project: "shop", enabled: true } }, ready: [app], toAllow: [], keep: false });
});

test("an origin beyond loopback is off until the user allows it", () => {
  const far = "https://shop.example.com";
  const plan = planGrant(none, offer, { ...grant, origins: [app, far] });
  equal(plan.origins[far].enabled, false);
  deepEqual([plan.ready, plan.toAllow], [[app], [far]]);
  const allowed = apply(none, { origins: { [far]: { enabled: true } } });
  deepEqual(planGrant(allowed, offer, { ...grant, origins: [far] }).toAllow, [], "it stays on where it was");
});

test("a shim without an origin is kept, and sites that use it get the new token", () => {
  deepEqual(planGrant(none, offer, { ...grant, origins: [] }), { origins: {}, ready: [], toAllow: [], keep: true });
  const settings = apply(none, { origins: { [app]: { shimUrl: origin, token: "old", model: "m" }, "http://localhost:3000": { shimUrl: "http://127.0.0.1:4041", token: "other" } } });
  const plan = planGrant(settings, offer, { ...grant, origins: [] });
  deepEqual(plan.origins, { [app]: { shimUrl: origin, token: "t", project: "shop" } });
  deepEqual([plan.ready, plan.keep], [[app], false]);
  equal(apply(settings, { origins: plan.origins }).origins["http://localhost:3000"].token, "other");
});

test("sites of another project that listened at the same address stay with it", () => {
  const settings = apply(none, { origins: {
    [app]: { shimUrl: origin, token: "old", project: "bakery" }, "https://staging.example.com": { shimUrl: origin, token: "" }, "http://localhost:3000": { shimUrl: origin, token: "old", project: "shop" },
  } });
  const plan = planGrant(settings, offer, { ...grant, origins: [] });
  deepEqual(plan, { origins: { "http://localhost:3000": { shimUrl: origin, token: "t", project: "shop" } }, ready: ["http://localhost:3000"], toAllow: [], keep: false });
  deepEqual(planGrant(settings, offer, { ...grant, project: "third", origins: [] }), { origins: {}, ready: [], toAllow: [], keep: true });
  const moved = apply(none, { origins: { [app]: { shimUrl: "http://127.0.0.1:4999", token: "t", project: "shop" } } });
  deepEqual(planGrant(moved, offer, { ...grant, origins: [] }).origins, { [app]: { shimUrl: origin, token: "t", project: "shop" } }, "the same shim on another port");
});

// The content script, in a frame of its own: a page of the shim, or another.

/**
 * @param {HTMLElement} stage
 * @param {{at?: string, hash?: string, answer?: any}} page
 */
async function contentScript(stage, { at = "pairing-page.html", hash = "", answer = { value: "asking" } }) {
  /** @type {any[]} */
  const sent = [];
  /** @type {Function[]} */
  const listeners = [];
  const frame = document.createElement("iframe");
  const fakeRuntime = {
    id: "me",
    sendMessage: async (/** @type {any} */ m) => {
      sent.push({ ...m, hashThen: frame.contentWindow?.location.hash });
      if (answer instanceof Error) throw answer;
      return answer;
    },
    onMessage: { addListener: (/** @type {Function} */ f) => listeners.push(f) },
  };
  Object.assign(window, { chromeForFrame: { runtime: fakeRuntime } });
  frame.src = at + hash;
  await new Promise((done) => {
    frame.addEventListener("load", done, { once: true });
    stage.append(frame);
  });
  const inner = /** @type {Window} */ (frame.contentWindow);
  return { location: inner.location, sent, listeners, outcome: () => inner.document.documentElement.dataset.slidewritePaired };
}

test("the code leaves the address bar, and goes to the worker, once though the script is injected twice", async (stage) => {
  const page = await contentScript(stage, { hash: "#" + code });
  deepEqual(page.sent, [{ type: "sw-pair", code, origin: location.origin, hashThen: "" }]);
  equal(page.location.hash, "");
  equal(page.outcome(), "asking");
  page.location.hash = "#" + "D".repeat(22);
  await until(() => page.sent.length > 1);
  equal(page.sent[1].code, "D".repeat(22), "a fresh link in the same tab");
});

test("a page that is not the shim's is left alone", async (stage) => {
  const page = await contentScript(stage, { at: "pairing-other.html", hash: "#" + code });
  deepEqual([page.sent, page.location.hash, page.outcome()], [[], "#" + code, undefined]);
  equal(page.listeners.length, 0);
});

test("a pairing page without a code says that the extension is here", async (stage) => {
  const page = await contentScript(stage, {});
  deepEqual([page.sent, page.outcome()], [[], "none"]);
});

test("the outcome is shown, from our own extension only", async (stage) => {
  const page = await contentScript(stage, { hash: "#" + code });
  page.listeners[0]({ type: "sw-paired", outcome: "1" }, { id: "other" });
  equal(page.outcome(), "asking");
  page.listeners[0]({ type: "sw-paired", outcome: "odd" }, { id: "me" });
  equal(page.outcome(), "asking");
  page.listeners[0]({ type: "sw-paired", outcome: "1" }, { id: "me" });
  equal(page.outcome(), "1");
});

test("a worker that refuses the offer, or is gone, is shown as refused", async (stage) => {
  equal((await contentScript(stage, { hash: "#" + code, answer: { error: "no" } })).outcome(), "refused");
  equal((await contentScript(stage, { hash: "#" + code, answer: new Error("Extension context invalidated.") })).outcome(), "refused");
});
