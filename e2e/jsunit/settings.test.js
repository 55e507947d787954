import { fakeChrome } from "./chrome.js";
import { deepEqual, equal, match, ok, test, throws, until } from "./harness.js";

fakeChrome();
const {
  addPairing, apply, defaults, exportSettings, forOrigin, importSettings, isLoopback, load, mergeImported, migrate, onChange,
  originKey, removeOrigin, save, saveOrigin, shimAddress, usePairing,
} = await import("../../extension/lib/settings.js");

const app = "http://localhost:5173";
const empty = migrate(undefined);

test("an origin is http or https, with its port", () => {
  const cases = {
    "http://localhost:5173/a?b#c": "http://localhost:5173",
    "https://shop.dev.example.com": "https://shop.dev.example.com",
    "http://localhost:80/": "http://localhost",
    "HTTP://LOCALHOST:5173": "http://localhost:5173",
    "http://[::1]:3000/": "http://[::1]:3000",
  };
  for (const [url, want] of Object.entries(cases)) equal(originKey(url), want, url);
});

test("pages that no extension works on have no origin", () => {
  const none = [
    undefined, "", "about:blank", "chrome://settings", "chrome-extension://abc/x.html", "file:///tmp/a.html", "data:text/html,x",
    "https://chromewebstore.google.com/detail/x", "https://chrome.google.com/webstore/x", "https://chrome.google.com/webstore", "localhost:5173",
  ];
  for (const url of none) equal(originKey(url), null, String(url));
  equal(originKey("https://chrome.google.com/webstorefront"), "https://chrome.google.com");
});

test("loopback is where the manifest's scripts run", () => {
  for (const o of [app, "https://localhost", "http://shop.localhost:3000", "http://127.0.0.1:8080", "http://[::1]:1"]) ok(isLoopback(o), o);
  for (const o of ["http://localhost.evil.test", "http://notlocalhost", "http://127.0.0.2", "https://example.com", "nonsense"]) ok(!isLoopback(o), o);
});

test("the address of a shim is kept without what does not belong to it", () => {
  const cases = {
    "http://127.0.0.1:4040": "http://127.0.0.1:4040",
    " 127.0.0.1:4040/ ": "http://127.0.0.1:4040",
    "localhost:4040": "http://localhost:4040",
    "https://dev.example.com/slidewrite/?x#y": "https://dev.example.com/slidewrite",
  };
  for (const [typed, want] of Object.entries(cases)) equal(shimAddress(typed), want, typed);
  for (const typed of ["", "ht tp://", "ftp://host", "http://user:secret@host", "javascript://x", "http://"]) equal(shimAddress(typed), null, typed);
});

test("nothing stored is the defaults", () => {
  for (const stored of [undefined, null, 5, "x", [], {}]) {
    deepEqual(migrate(stored), { version: 1, origins: {}, global: defaults.global });
  }
});

test("what is stored keeps its good fields, and gets defaults for the others", () => {
  const got = migrate({
    version: 7,
    origins: { [app]: { token: "t", autoCommit: "yes", autoReload: true, later: 1 }, "chrome://x": { token: "t" }, "http://localhost:5174/": null },
    global: { theme: "blue", geminiKey: 5, editorUrl: "zed://{path}", pairings: [{ shimUrl: "http://127.0.0.1:4040", token: "p", project: "shop" }, { shimUrl: "x" }, 3] },
  });
  deepEqual(got.origins, { [app]: { ...defaults.origin, token: "t", autoReload: true }, "http://localhost:5174": defaults.origin });
  deepEqual(got.global, { ...defaults.global, editorUrl: "zed://{path}", pairings: [{ shimUrl: "http://127.0.0.1:4040", token: "p", project: "shop" }] });
  equal(got.version, 1);
});

test("a key of Object's own is no origin", () => {
  const got = migrate(JSON.parse('{"origins": {"__proto__": {"token": "x"}, "constructor": {"token": "x"}}}'));
  deepEqual(Object.keys(got.origins), []);
  equal(forOrigin(got, "constructor").token, "");
  equal(forOrigin(got, "__proto__").token, "");
});

test("an unknown origin has the defaults, and is not in the settings", () => {
  deepEqual(forOrigin(empty, app), defaults.origin);
  ok(!(app in empty.origins));
});

test("a patch changes what it names, and null takes an origin away", () => {
  const one = apply(empty, { origins: { [app]: { token: "t" } }, global: { theme: "dark" } });
  const two = apply(one, { origins: { [app + "/path"]: { model: "m" } } });
  deepEqual(two.origins, { [app]: { ...defaults.origin, token: "t", model: "m" } });
  equal(two.global.theme, "dark");
  deepEqual(apply(two, { origins: { [app]: null } }).origins, {});
  deepEqual(empty.origins, {}, "the settings that were patched stay as they were");
});

test("a patch for what is no origin is refused", () => throws(() => apply(empty, { origins: { "chrome://x": {} } }), /chrome:\/\/x is not an origin/));

test("an export holds no secret, and comes back as it was", () => {
  const settings = apply(empty, {
    origins: { [app]: { token: "SECRET-1", model: "m", autoCommit: false } },
    global: { geminiKey: "SECRET-2", theme: "light", pairings: [{ shimUrl: "http://127.0.0.1:4040", token: "SECRET-3", project: "p" }] },
  });
  const text = exportSettings(settings);
  ok(!/SECRET|token|geminiKey|pairings/.test(text), text);
  const back = apply(settings, mergeImported(settings, importSettings(text)));
  deepEqual(back, settings, "an import over the same settings changes nothing, tokens included");
  equal(forOrigin(apply(empty, importSettings(text)), app).autoCommit, false);
});

test("secrets in a file are not taken over", () => {
  const patch = importSettings(JSON.stringify({ slidewrite: "settings", version: 1, origins: { [app]: { token: "theirs", model: "m" } }, global: { geminiKey: "theirs", pairings: [] } }));
  deepEqual(patch, { origins: { [app]: { model: "m" } }, global: {} });
});

test("a token does not follow an imported address", () => {
  const settings = apply(empty, { origins: { [app]: { token: "mine" } } });
  const file = (/** @type {string} */ shimUrl) => importSettings(JSON.stringify({ slidewrite: "settings", version: 1, origins: { [app]: { shimUrl } }, global: {} }));
  equal(apply(settings, mergeImported(settings, file("http://evil.test"))).origins[app].token, "");
  equal(apply(settings, mergeImported(settings, file(defaults.origin.shimUrl))).origins[app].token, "mine");
});

test("a file that is no export is refused in words", async () => {
  await throws(() => importSettings("{"), /not JSON/);
  await throws(() => importSettings("[]"), /no Slide Write settings/);
  await throws(() => importSettings('{"slidewrite": "settings"}'), /newer extension/);
  const newer = await throws(() => importSettings('{"slidewrite": "settings", "version": 2}'));
  match(newer.message, /slidewrite extension$/);
});

test("settings are stored, and changes are heard", async () => {
  const { chrome } = fakeChrome();
  /** @type {any[]} */
  const heard = [];
  const stop = onChange((s) => heard.push(s));
  await saveOrigin(app, { token: "t" });
  await until(() => heard.length === 1);
  deepEqual(heard[0], await load());
  equal((await chrome.storage.local.get("settings")).settings.origins[app].token, "t");
  await chrome.storage.local.set({ other: 1 });
  stop();
  await removeOrigin(app);
  equal(heard.length, 1);
  deepEqual((await load()).origins, {});
});

test("saves at once do not lose each other", async () => {
  fakeChrome();
  const ports = Array.from({ length: 20 }, (_, i) => 3000 + i);
  await Promise.all(ports.map((p) => saveOrigin(`http://localhost:${p}`, { token: String(p) })));
  equal(Object.keys((await load()).origins).length, 20);
});

test("a save that fails leaves everything as it was", async () => {
  fakeChrome();
  await saveOrigin(app, { token: "t" });
  await throws(() => save({ origins: { [app]: { token: "u" }, "about:blank": {} } }));
  equal((await load()).origins[app].token, "t");
});

test("a pairing without an origin waits, once per shim, and is used up", async () => {
  fakeChrome();
  for (let i = 0; i < 7; i++) await addPairing({ shimUrl: `http://127.0.0.1:${4040 + i}`, token: "old", project: "p" });
  await addPairing({ shimUrl: "http://127.0.0.1:4046", token: "new", project: "shop" });
  let { pairings } = (await load()).global;
  deepEqual(pairings.map((p) => p.shimUrl.slice(-4)), ["4046", "4045", "4044", "4043", "4042"]);
  equal(pairings[0].token, "new");
  await usePairing(app, pairings[0]);
  const settings = await load();
  deepEqual(settings.origins[app], { ...defaults.origin, shimUrl: "http://127.0.0.1:4046", token: "new", project: "shop" });
  equal(settings.global.pairings.length, 4);
});

test("load has what was saved before it, finished or not", async () => {
  fakeChrome();
  void saveOrigin(app, { token: "first" });
  void saveOrigin(app, { token: "second" });
  equal((await load()).origins[app].token, "second");
});
