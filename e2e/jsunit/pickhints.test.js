import { deepEqual, equal, test, throws } from "./harness.js";

const { isDependency, mapOf, originalPlace, projectFile } = await import("../../extension/background/sourcemap.js");
const { cropOf, picture } = await import("../../extension/background/capture.js");
await import("../../extension/picker/tree.js");
await import("../../extension/picker/backends/locate.js");
for (const name of ["react", "vue", "svelte", "angular", "solid", "astro", "attributes"]) await import(`../../extension/picker/backends/${name}.js`);
const backends = /** @type {SwBackends} */ (globalThis.slidewriteBackends);

/** @param {string} name */
const backend = (name) => /** @type {SwBackend} */ (backends.all.find((b) => b.name === name));

/** What a backend says of an element; null when it is not its own. @param {string} name @param {any} el */
function hint(name, el) {
  const b = backend(name);
  return b.detect(el) ? b.locate(el) : null;
}

/** @param {HTMLElement} stage @param {Record<string, string>} [attributes] @returns {any} */
function element(stage, attributes = {}) {
  const el = document.createElement("button");
  for (const [name, value] of Object.entries(attributes)) el.setAttribute(name, value);
  stage.append(el);
  return el;
}

test("an element of no framework is nobody's", (stage) => {
  for (const b of backends.all) equal(hint(b.name, element(stage)), null, b.name);
});

test("the page's element is found by its path", (stage) => {
  const host = document.createElement("x-host");
  const inner = document.createElement("b");
  host.attachShadow({ mode: "open" }).append(document.createElement("i"), inner);
  stage.append(host);
  const { pathOf, elementAt } = globalThis.slidewrite.tree;
  equal(backends.at(pathOf(inner, window)), inner);
  equal(elementAt(pathOf(inner, window), document), inner);
  const frame = document.createElement("iframe");
  stage.append(frame);
  const p = /** @type {Document} */ (frame.contentDocument).body.appendChild(document.createElement("p"));
  equal(backends.at(pathOf(p, window)), p);
  equal(elementAt(pathOf(p, window), document), p);
  equal(elementAt([0, 99, 3], document), null);
  const closed = document.createElement("x-closed");
  const secret = closed.attachShadow({ mode: "closed" }).appendChild(document.createElement("b"));
  stage.append(closed);
  equal(backends.at(pathOf(secret, window)), closed, "the page cannot look into it");
  equal(backends.at([99, 1]), null);
});

test("fields that hide what is a form's own keep nobody from asking", (stage) => {
  const form = document.createElement("form");
  const el = form.appendChild(document.createElement("b"));
  form.setAttribute("data-source", "src/Order.tsx:3");
  stage.append(form);
  for (const name of ["parentElement", "parentNode", "getRootNode", "children", "attributes", "closest", "shadowRoot"]) {
    const field = document.createElement("input");
    field.name = name;
    HTMLElement.prototype.append.call(form, field);
  }
  const { pathOf } = globalThis.slidewrite.tree;
  equal(backends.at(pathOf(el, window)), el);
  equal(backends.at(pathOf(form, window)), form);
  for (const at of [el, form]) for (const b of backends.all) deepEqual(hint(b.name, at), b.name === "attributes" ? { file: "src/Order.tsx", line: 3 } : null, b.name);
});

const stackOf = (/** @type {string} */ at) => ({ stack: `Error: react-stack-top-frame\n    at exports.jsxDEV (http://localhost:5173/node_modules/.vite/deps/react_jsx-dev-runtime.js?v=1:250:30)\n    at ${at}\n    at Object.react_stack_bottom_frame (http://localhost:5173/node_modules/.vite/deps/react-dom_client.js?v=1:99:20)` });

test("React 19: the owners, where each was written, the item's key", (stage) => {
  const el = element(stage);
  function App() {}
  function Toolbar() {}
  const app = { type: App, key: null, return: null, _debugOwner: null };
  const toolbar = { type: Toolbar, key: "7", index: 2, return: app, _debugOwner: app, _debugStack: stackOf("App (http://localhost:5173/src/App.jsx?t=3:12:9)") };
  el.__reactFiber$abc = { type: "button", key: null, return: toolbar, _debugOwner: toolbar, _debugStack: stackOf("Toolbar (http://localhost:5173/src/Toolbar.jsx:20:12)") };
  deepEqual(hint("react", el), {
    framework: "react", stack: ["Toolbar", "App"], name: "Toolbar", key: "7", index: 3,
    places: [
      { name: "Toolbar", at: { url: "http://localhost:5173/src/Toolbar.jsx", line: 20, column: 12 } },
      { name: "App", at: { url: "http://localhost:5173/src/App.jsx?t=3", line: 12, column: 9 } },
    ],
  });
  const text = document.createElement("i");
  el.append(text);
  equal(hint("react", text)?.name, "Toolbar", "what is in it, by other means");
});

test("React 18: _debugSource; what lies in node_modules is not the place", (stage) => {
  const el = element(stage);
  const App = Object.assign(() => {}, { displayName: "App" });
  const app = { type: App, key: null, return: null };
  const Ui = { $$typeof: Symbol.for("react.memo"), type: { render: function Button() {} } };
  const ui = { type: Ui, key: null, return: app, _debugOwner: app, _debugSource: { fileName: "/home/me/shop/src/App.tsx", lineNumber: 18 } };
  el.__reactFiber$x = { type: "button", key: null, return: ui, _debugOwner: ui, _debugSource: { fileName: "/home/me/shop/node_modules/ui/Button.js", lineNumber: 3 } };
  deepEqual(hint("react", el), { framework: "react", stack: ["Button", "App"], name: "App", file: "/home/me/shop/src/App.tsx", line: 18 });
});

test("React in production: names alone", (stage) => {
  const el = element(stage);
  el.__reactFiber$x = { type: "button", key: null, return: { type: function Toolbar() {}, key: null, return: { type: Symbol.for("react.fragment"), key: null, return: null } } };
  deepEqual(hint("react", el), { framework: "react", stack: ["Toolbar"], name: "Toolbar" });
});

test("Vue 3 and 2", (stage) => {
  const el = element(stage);
  el.__vueParentComponent = { type: { name: "UiButton", __file: "/x/node_modules/ui/UiButton.vue" }, parent: { type: { __name: "Toolbar", __file: "/x/src/Toolbar.vue" }, parent: { type: { __file: "/x/src/App.vue" }, parent: null } } };
  deepEqual(hint("vue", el), { framework: "vue", stack: ["UiButton", "Toolbar", "App"], name: "Toolbar", file: "/x/src/Toolbar.vue" });
  const old = element(stage);
  old.__vue__ = { $options: { _componentTag: "tool-bar", __file: "src/ToolBar.vue" }, $parent: null };
  deepEqual(hint("vue", old), { framework: "vue", stack: ["tool-bar"], name: "tool-bar", file: "src/ToolBar.vue" });
});

test("Svelte 4 counts lines from 0, Svelte 5 from 1", (stage) => {
  const four = element(stage);
  four.__svelte_meta = { loc: { file: "src/Card.svelte", line: 4, column: 2, char: 80 } };
  deepEqual(hint("svelte", four), { framework: "svelte", name: "Card", stack: ["Card"], file: "src/Card.svelte", line: 5 });
  const five = element(stage);
  five.__svelte_meta = { parent: { type: "component", componentTag: "Page", file: "src/App.svelte", line: 3, parent: null }, loc: { file: "src/Card.svelte", line: 5, column: 2 } };
  deepEqual(hint("svelte", five), { framework: "svelte", name: "Card", stack: ["Card", "Page"], file: "src/Card.svelte", line: 5 });
});

test("Angular, with and without a file", (stage) => {
  const el = element(stage);
  class _Toolbar {}
  class AppRoot {}
  Object.assign(AppRoot, { "ɵcmp": { debugInfo: { className: "AppRoot", filePath: "src/app/root.ts", lineNumber: 9 } } });
  const [toolbar, root] = [new _Toolbar(), new AppRoot()];
  const host = document.createElement("app-toolbar");
  const w = /** @type {any} */ (window);
  w.ng = {
    getComponent: () => null, getOwningComponent: (/** @type {any} */ e) => (e === el ? toolbar : e === host ? root : null),
    getHostElement: (/** @type {any} */ c) => (c === toolbar ? host : null),
  };
  deepEqual(hint("angular", el), { framework: "angular", stack: ["Toolbar", "AppRoot"], name: "AppRoot", file: "src/app/root.ts", line: 9 });
  delete w.ng;
});

test("Solid, Astro, and attributes of anyone", (stage) => {
  deepEqual(hint("solid", element(stage, { "data-source-loc": "src/App.tsx:12:3" })), { framework: "solid", file: "src/App.tsx", line: 12 });
  deepEqual(hint("astro", element(stage, { "data-astro-source-file": "/x/src/pages/index.astro", "data-astro-source-loc": "7:10" })),
    { framework: "astro", file: "/x/src/pages/index.astro", line: 7, name: "index", stack: ["index"] });
  deepEqual(hint("attributes", element(stage, { "data-source": "src/App.tsx:12:3" })), { file: "src/App.tsx", line: 12 });
  deepEqual(hint("attributes", element(stage, { "data-vite-source-file": "src/a.vue", "data-vite-source-line": "4" })), { file: "src/a.vue", line: 4 });
  equal(hint("attributes", element(stage, { "data-source": "newsletter" })), null, "a word is no file");
  const outer = element(stage, { "data-source": "C:\\app\\[id]\\x.tsx:3" });
  const inner = outer.appendChild(document.createElement("i"));
  deepEqual(hint("attributes", inner), { file: "C:\\app\\[id]\\x.tsx", line: 3 });
});

test("a place in served code, by its source map", async () => {
  // Made by hand: line 2 column 4 → a.jsx line 1; line 3 → line 10, then b.jsx line 1.
  const map = { sources: ["a.jsx", "b.jsx"], mappings: ";IAAA;AASA,QCTA" };
  deepEqual(originalPlace(map, 2, 5), { source: "a.jsx", line: 1 });
  deepEqual(originalPlace(map, 3, 3), { source: "a.jsx", line: 10 });
  deepEqual(originalPlace(map, 3, 20), { source: "b.jsx", line: 1 });
  equal(originalPlace(map, 1, 1), null);
  equal(originalPlace(map, 9, 1), null);
  equal(originalPlace({}, 1, 1), null);
  deepEqual(originalPlace({ sections: [{ offset: { line: 0, column: 0 }, map: {} }, { offset: { line: 5, column: 0 }, map: { ...map, sourceRoot: "/src" } }] }, 7, 5), { source: "/src/a.jsx", line: 1 });

  const no = async () => "";
  const data = "data:application/json;charset=utf-8;base64," + btoa(JSON.stringify(map));
  deepEqual(await mapOf(`x\n//# sourceMappingURL=${data}`, "http://localhost/src/a.jsx", no), map);
  deepEqual(await mapOf(`x\n//# sourceMappingURL=data:application/json,${encodeURIComponent(JSON.stringify(map))}`, "http://localhost/x", no), map);
  equal(await mapOf("x", "http://localhost/x.js", no), null);
  const asked = /** @type {string[]} */ ([]);
  await mapOf("x\n//# sourceMappingURL=a.js.map\n", "http://localhost/js/a.js?v=1", async (url) => (asked.push(url), "{}"));
  deepEqual(asked, ["http://localhost/js/a.js.map"]);
  await throws(() => mapOf("//# sourceMappingURL=a.map", "http://localhost/", async () => "<html>"));
});

test("a file as the project names it", () => {
  const base = "http://localhost:5173/src/Button.jsx?t=1";
  for (const [name, file] of Object.entries({
    "Button.jsx": "src/Button.jsx", "../lib/x.ts": "lib/x.ts", "/@fs/home/me/shop/src/x.ts": "/home/me/shop/src/x.ts",
    "http://localhost:5173/src/App.jsx?t=3": "src/App.jsx", "webpack://shop/./src/App.tsx?a1b2": "src/App.tsx",
    "webpack-internal:///(app-pages-browser)/./src/App.tsx": "src/App.tsx", "turbopack:///[project]/src/App.tsx": "src/App.tsx", "C:\\x\\a.ts": "C:\\x\\a.ts",
    "/src/a%20b.ts": "src/a b.ts",
  })) equal(projectFile(name, base), file, name);
  equal(isDependency("node_modules/ui/x.js"), true);
  equal(isDependency("/home/me/shop/node_modules/.vite/deps/react.js"), true);
  equal(isDependency("@react-refresh"), true);
  equal(isDependency("src/App.jsx"), false);
});

test("the crop of a picture: device pixels, zoom, pinching, edges", () => {
  const box = { x: 10, y: 20, w: 100, h: 50 };
  const place = { box, width: 1000, dpr: 1, scale: 1, x: 0, y: 0 };
  deepEqual(cropOf(place, { width: 1000, height: 500 }), { left: 10, top: 20, width: 100, height: 50 });
  deepEqual(cropOf(place, { width: 2000, height: 1000 }), { left: 20, top: 40, width: 200, height: 100 });
  deepEqual(cropOf({ ...place, width: 933, dpr: 1.5 }, { width: 1400, height: 500 }), { left: 15, top: 30, width: 150, height: 75 }, "widths are whole numbers");
  deepEqual(cropOf({ ...place, scale: 2, x: 5, y: 10 }, { width: 1000, height: 500 }), { left: 10, top: 20, width: 200, height: 100 });
  deepEqual(cropOf({ ...place, box: { x: -50, y: 490, w: 100, h: 50 } }, { width: 1000, height: 500 }), { left: 0, top: 490, width: 50, height: 10 });
  deepEqual(cropOf({ ...place, box: { x: 10.4, y: 0.6, w: 10, h: 10 } }, { width: 1000, height: 500 }), { left: 10, top: 0, width: 11, height: 11 }, "whole pixels around it");
});

test("pictures wait for each other, half a second and more apart; a failure keeps nobody up", async () => {
  /** @type {number[]} */
  const at = [];
  const canvas = new OffscreenCanvas(2000, 1000);
  canvas.getContext("2d")?.fillRect(0, 0, 2000, 1000);
  const png = await new Promise((done) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result);
    canvas.convertToBlob({ type: "image/png" }).then((blob) => reader.readAsDataURL(blob));
  });
  const real = globalThis.fetch;
  globalThis.fetch = async () => new Response(await canvas.convertToBlob({ type: "image/png" })); // the page's policy knows no data: addresses
  Object.defineProperty(globalThis, "chrome", { configurable: true, writable: true, value: { tabs: {
    get: async (/** @type {number} */ id) => ({ id, windowId: 1, active: id !== 9 }),
    captureVisibleTab: async () => {
      at.push(performance.now());
      if (at.length === 2) throw new Error("This request exceeds the MAX_CAPTURE_VISIBLE_TAB_CALLS_PER_SECOND quota.");
      return png;
    },
  } } });
  let shown = 0;
  const page = { place: async () => ({ box: { x: 0, y: 0, w: 1500, h: 300 }, width: 2000, dpr: 1, scale: 1, x: 0, y: 0 }), done: async () => shown++ };
  const gone = { place: async () => null, done: async () => shown++ };
  const all = await Promise.allSettled([picture(1, page), picture(1, page), picture(1, gone), picture(9, page), picture(1, page)]);
  globalThis.fetch = real;
  deepEqual(all.map((r) => (r.status === "rejected" ? "failed" : r.value === null ? null : [r.value.width, r.value.height])), [[1024, 205], "failed", null, null, [1024, 205]]);
  equal(shown, 4, "the overlay is back after each that hid it");
  for (let i = 1; i < at.length; i++) equal(at[i] - at[i - 1] >= 540, true, `${at[i] - at[i - 1]} ms`);
  const first = /** @type {any} */ (all[0]).value;
  equal(/^data:image\/(png|webp);base64,/.test(first.dataUrl) && /^data:image\/webp/.test(first.thumb), true);
});
