import { fakeChrome } from "./chrome.js";
import { deepEqual, equal, test, throws } from "./harness.js";

fakeChrome();
const { removedOrigins, scriptsFor, syncScripts } = await import("../../extension/background/scripts.js");
const { permissionOf } = await import("../../extension/lib/permission.js");
const { removeOrigin, saveOrigin } = await import("../../extension/lib/settings.js");

const far = "https://shop.example.com:8443";
const other = "https://shop.example.com";
const scripts = [{ matches: ["*://localhost/*"], js: ["a.js"] }, { matches: ["*://localhost/*"], js: ["b.js"] }];

/**
 * A chrome that registers scripts and knows what the user granted.
 * @param {{granted?: string[], required?: boolean}} [options]
 */
function browser({ granted = [], required = false } = {}) {
  const { chrome } = fakeChrome();
  /** @type {any[]} */
  let registered = [{ id: "of-someone-else", matches: ["https://x/*"], js: ["x.js"] }];
  /** @type {string[]} */
  const calls = [];
  chrome.runtime.getManifest = /** @type {any} */ (() => ({ content_scripts: scripts }));
  Object.assign(chrome, {
    scripting: {
      getRegisteredContentScripts: async () => structuredClone(registered),
      async registerContentScripts(/** @type {any[]} */ list) {
        for (const s of list) if (registered.some((r) => r.id === s.id)) throw new Error(`Duplicate script ID '${s.id}'`);
        calls.push(...list.map((s) => "+" + s.id));
        registered.push(...list);
      },
      async unregisterContentScripts(/** @type {{ids: string[]}} */ { ids }) {
        calls.push(...ids.map((id) => "-" + id));
        registered = registered.filter((r) => !ids.includes(r.id));
      },
    },
    permissions: {
      contains: async (/** @type {{origins: string[]}} */ { origins }) => origins.every((o) => granted.includes(o)),
      async remove(/** @type {{origins: string[]}} */ { origins }) {
        if (required) throw new Error("You cannot remove required permissions.");
        calls.push(...origins.map((o) => "revoked " + o));
        granted = granted.filter((o) => !origins.includes(o));
        return true;
      },
    },
  });
  return { calls, ids: () => registered.map((r) => r.id), seed: (/** @type {any} */ s) => registered.push(s), take: () => (granted = []) };
}

test("a granted origin gets what the manifest has for loopback", () => {
  deepEqual(scriptsFor([far], scripts), [{ id: "sw:" + far, matches: [far + "/*"], js: ["a.js", "b.js"], runAt: "document_start" }]);
  const [{ allFrames, matchOriginAsFallback }] = scriptsFor([far], /** @type {any} */ ([...scripts, { js: ["picker.js"], all_frames: true, match_origin_as_fallback: true }]));
  deepEqual([allFrames, matchOriginAsFallback], [true, true], "frames, too, where the picker listens");
  equal(permissionOf(far), "https://shop.example.com/*");
});

test("scripts are registered when an origin is enabled, and go when it is not", async () => {
  const b = browser({ granted: [permissionOf(far)] });
  await saveOrigin(far, {});
  await saveOrigin("http://localhost:5173", {});
  await syncScripts();
  await syncScripts();
  deepEqual(b.calls, ["+sw:" + far], "once, and not for loopback");
  await saveOrigin(far, { enabled: false });
  await syncScripts();
  deepEqual(b.ids(), ["of-someone-else"]);
});

test("an origin that is not granted gets none, and loses them with the permission", async () => {
  const b = browser();
  await saveOrigin(far, {});
  await syncScripts();
  deepEqual(b.ids(), ["of-someone-else"]);
  const c = browser({ granted: [permissionOf(far)] });
  await saveOrigin(far, {});
  await syncScripts();
  c.take();
  await syncScripts();
  deepEqual(c.ids(), ["of-someone-else"]);
});

test("scripts of an older version are replaced", async () => {
  const b = browser({ granted: [permissionOf(far)] });
  b.seed({ id: "sw:" + far, matches: [far + "/*"], js: ["old.js"] });
  b.seed({ id: "sw:https://forgotten.example.com", matches: ["https://forgotten.example.com/*"], js: ["a.js", "b.js"] });
  await saveOrigin(far, {});
  await syncScripts();
  deepEqual(b.ids(), ["of-someone-else", "sw:" + far]);
});

test("two at once register once", async () => {
  const b = browser({ granted: [permissionOf(far)] });
  await saveOrigin(far, {});
  await Promise.all([syncScripts(), syncScripts(), syncScripts()]);
  deepEqual(b.calls, ["+sw:" + far]);
});

test("the permission of a deleted origin is given back, unless another port needs it", async () => {
  const b = browser({ granted: [permissionOf(far)] });
  await saveOrigin(far, {});
  await saveOrigin(other, {});
  await removeOrigin(far);
  await syncScripts([far]);
  equal(b.calls.some((c) => c.startsWith("revoked")), false);
  await removeOrigin(other);
  await syncScripts([other]);
  equal(b.calls.at(-1), "revoked https://shop.example.com/*");
});

test("a permission that the manifest requires stays, without a word", async () => {
  browser({ granted: [permissionOf(far)], required: true });
  await syncScripts([far]);
  const b = browser();
  Object.assign(globalThis.chrome.permissions, { remove: async () => { throw new Error("odd"); } });
  await throws(() => syncScripts([far]), /odd/);
  deepEqual(b.calls, []);
});

test("what a change took away is told, loopback apart", () => {
  const before = { origins: { [far]: {}, "http://localhost:5173": {}, [other]: {} } };
  deepEqual(removedOrigins(before, { origins: { [other]: {} } }), [far]);
  deepEqual(removedOrigins(undefined, before), []);
  deepEqual(removedOrigins(before, undefined), [far, other]);
});
