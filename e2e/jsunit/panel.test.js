// Runs in: the jsunit page. The panel's smaller parts: where a file opens, what
// a diff's rows are, what the panel says about its connection, what is kept.
import { deepEqual, equal, match, ok, test, until } from "./harness.js";
import { ShimError } from "../../extension/lib/shim.js";
import { chipLabel, chipView, forShim, patched } from "../../extension/panel/chips.js";
import { judge } from "../../extension/panel/connection.js";
import { diffView, parseDiff } from "../../extension/panel/diff.js";
import { editorAddress } from "../../extension/panel/editor.js";
import { elementLink, namesOf, selectorOf, targetOf } from "../../extension/panel/elements.js";
import { lastWords } from "../../extension/panel/ended.js";
import { fixLine } from "../../extension/panel/fix.js";
import { pastedCapture } from "../../extension/panel/images.js";
import { trimmed } from "../../extension/panel/persist.js";
import { place } from "../../extension/panel/place.js";
import { ask, divide, emptyChat, found, reduce } from "../../extension/panel/store.js";
import { Transcript } from "../../extension/panel/transcript.js";

/** @param {Transcript} transcript @param {import("../../extension/panel/store.js").Chat} chat */
function showWhole(transcript, chat) {
  while (transcript.show(chat, false));
}

test("where a file opens", () => {
  const vscode = "vscode://file/{path}:{line}";
  equal(editorAddress(vscode, "/home/ada/shop", "src/a b#1.css", 12), "vscode://file/home/ada/shop/src/a%20b%231.css:12");
  equal(editorAddress(vscode, "C:\\src\\shop", "src/a.css", 1), "vscode://file/C:/src/shop/src/a.css:1");
  equal(editorAddress(vscode, "/home/ada/shop/", "/home/ada/shop/./src//a.css", 3), "vscode://file/home/ada/shop/src/a.css:3");
  for (const outside of ["/etc/a.css", "../a.css", "src/../../a.css", "/home/ada/shop2/a.css", "C:/a.css", "/home/ada/shop/../a.css"]) equal(editorAddress(vscode, "/home/ada/shop", outside, 3), "", outside);
  equal(editorAddress("idea://open?file={path}&line={line}", "/r", "a$&.css", 2), "idea://open?file=/r/a%24%26.css&line=2");
  equal(editorAddress(vscode, "", "src/a.css", 1), "");
  equal(editorAddress("javascript:alert({line})//{path}", "/r", "a", 1), "");
  equal(editorAddress("{path}", "/r", "a", 1), "");
});

const diff = `diff --git a/a.css b/a.css
index 1..2 100644
--- a/a.css
+++ b/a.css
@@ -1,3 +1,3 @@ .head
 one
--- two
+++ three
\\ No newline at end of file
`;

test("a diff's rows", () => {
  deepEqual(parseDiff(diff).map((row) => [row.kind, row.text, row.line]), [["hunk", ".head", 1], ["same", "one", 1], ["del", "-- two", 0], ["add", "++ three", 2], ["meta", "No newline at end of file", 0]]);
  deepEqual(parseDiff("diff --git a/x b/x\nnew file mode 100644\nBinary files differ\n").map((row) => row.kind), ["meta", "meta"]);
  deepEqual(parseDiff(""), []);
});

test("a long diff is shown page by page", (stage) => {
  const long = diff.replace(/ one\n[^]*/, "") + Array.from({ length: 2_000 }, (_, i) => `+line ${i}\n`).join("");
  stage.append(diffView(long, "a.css", { editorAddress: () => "" }));
  equal(stage.querySelectorAll(".diff-row").length, 200);
  const more = /** @type {HTMLButtonElement} */ (stage.querySelector(".more"));
  match(more.textContent ?? "", /Show 200 more of 1801 lines/);
  more.click();
  equal(stage.querySelectorAll(".diff-row").length, 400);
});

test("what the panel says about its connection", () => {
  const origin = "http://localhost:5173";
  const settings = /** @type {any} */ ({ enabled: true, token: "t", shimUrl: "http://127.0.0.1:4040" });
  const nothing = { origin, settings: null, pairing: null, failure: null, meta: null };
  const failure = (/** @type {string} */ code) => new ShimError({ status: 0, code, message: "m", fix: "f" });
  equal(judge({ ...nothing, origin: null }).kind, "restricted");
  equal(judge(nothing).kind, "unpaired");
  equal(judge({ ...nothing, pairing: { shimUrl: "", token: "", project: "" } }).kind, "offer");
  equal(judge({ ...nothing, settings: { ...settings, enabled: false } }).kind, "off");
  equal(judge({ ...nothing, settings }).kind, "loading");
  equal(judge({ ...nothing, settings, failure: failure("unreachable") }).kind, "down");
  equal(judge({ ...nothing, settings, failure: failure("not_a_shim") }).kind, "down");
  equal(judge({ ...nothing, settings, failure: failure("unauthorized") }).kind, "refused");
  equal(judge({ ...nothing, settings, failure: failure("bad_host") }).kind, "failed");
  equal(judge({ ...nothing, settings, meta: /** @type {any} */ ({}) }).kind, "ready");
});

test("a fix is a command to copy, or a sentence", () => {
  equal(fixLine("", () => {}), null);
  equal(fixLine("wait for it to end", () => {})?.textContent, "Wait for it to end");
  let copied = "";
  const line = fixLine("claude auth login", (text) => { copied = text; });
  line?.querySelector("button")?.click();
  equal(copied, "claude auth login");
  equal(fixLine("gitlab is down", () => {})?.tagName, "P");
  const both = fixLine("npm install -g @openai/codex, or pass its path with --codex-bin", () => {});
  deepEqual([both?.querySelector("code")?.textContent, both?.querySelector("p")?.textContent], ["npm install -g @openai/codex", "Or pass its path with --codex-bin"]);
});

test("the newest items of a chat are kept", () => {
  let chat = ask(emptyChat(), { text: "first", provider: "anthropic", now: 0 });
  for (let i = 0; i < 20; i++) chat = reduce(chat, { type: "delta", text: "x".repeat(1_000), messageId: String(i) });
  ok(trimmed(chat, 1_000_000) === chat);
  const kept = trimmed(chat, 5_500);
  equal(kept.items.length, 5);
  equal(kept.items.at(-1)?.key, chat.items.at(-1)?.key);
  equal(kept.next, chat.next);
});

test("another chat has nothing of the one before", () => {
  const transcript = new Transcript(/** @type {any} */ ({ editorAddress: () => "" }));
  const run = (/** @type {string} */ text) => reduce(reduce(ask(emptyChat(), { text, provider: "anthropic", now: 0 }), { type: "change", files: [], added: 1, removed: 0 }), { type: "done" });
  showWhole(transcript, run("first"));
  equal(transcript.node.querySelectorAll("[data-kind=change]").length, 1);
  transcript.clear();
  showWhole(transcript, divide(reduce(emptyChat(), { type: "user", text: "second" }), "Continues: second"));
  deepEqual([...transcript.node.children].map((node) => /** @type {HTMLElement} */ (node).dataset.kind), ["user", "divider"]);
  match(transcript.node.textContent ?? "", /second.*Continues: second/);
});

test("a chat with a part that cannot be shown shows the others", () => {
  const warn = console.warn;
  console.warn = () => {};
  try {
    const transcript = new Transcript(/** @type {any} */ ({ editorAddress: () => "" }));
    const broken = reduce(ask(emptyChat(), { text: "hello", provider: "anthropic", now: 0 }), /** @type {any} */ ({ type: "change", files: "x", added: 1, removed: 0 }));
    showWhole(transcript, reduce(broken, { type: "note", message: "after it", level: "info" }));
    match(transcript.node.textContent ?? "", /hello.*This part cannot be shown\..*after it/);
  } finally {
    console.warn = warn;
  }
});

test("chips", () => {
  equal(chipLabel({ tag: "button", className: "btn btn-primary" }), "button.btn");
  equal(chipLabel({ tag: "div", className: 7 }), "div");
  equal(chipLabel({ pasted: true, screenshotW: 40, screenshotH: 30 }), "pasted image · 40×30");
  deepEqual(forShim({ id: 1, thumb: "", capture: { tag: "a", screenshotW: 1, screenshotH: 2 } }), { tag: "a" });
});

test("a pasted picture is made small", async () => {
  const canvas = new OffscreenCanvas(3_000, 600);
  canvas.getContext("2d")?.fillRect(0, 0, 1_000, 600);
  const { capture, thumb } = await pastedCapture(await canvas.convertToBlob());
  deepEqual([capture.screenshotW, capture.screenshotH, capture.pasted], [1024, 205, true]);
  match(String(capture.screenshotDataUrl), /^data:image\/(png|webp);base64,/);
  match(thumb, /^data:image\/webp/);
  const small = Object.assign(new Image(), { src: thumb });
  await small.decode();
  const pen = /** @type {OffscreenCanvasRenderingContext2D} */ (new OffscreenCanvas(96, 96).getContext("2d"));
  pen.drawImage(small, 0, 0);
  deepEqual([small.width, small.height, pen.getImageData(90, 48, 1, 1).data[3]], [96, 96, 255], "the square that it begins with");
});

test("children in order, and none that stands right is moved", (stage) => {
  const [a, b, c, d] = ["a", "b", "c", "d"].map((id) => Object.assign(document.createElement("i"), { id }));
  place(stage, [a, b, c]);
  const moved = new Set();
  const watch = new MutationObserver((records) => records.forEach((r) => r.addedNodes.forEach((n) => moved.add(n))));
  watch.observe(stage, { childList: true });
  place(stage, [b, d, c]);
  watch.takeRecords().forEach((r) => r.addedNodes.forEach((n) => moved.add(n)));
  equal([...stage.children].map((n) => n.id).join(""), "bdc");
  deepEqual([...moved], [d]);
});

test("what is found out later reaches the chip of that pick, and no other", () => {
  const chips = ["a", "b"].map((pick, id) => ({ id, thumb: "", capture: { tag: "p", pick } }));
  const after = patched(chips, "b", { component: { name: "Card" }, pick: "x" }, "data:image/png,");
  deepEqual(after, [chips[0], { id: 1, thumb: "data:image/png,", capture: { tag: "p", pick: "b", component: { name: "Card" } } }]);
  deepEqual(patched(chips, "", { tag: "q" }, ""), chips);
  equal(patched([{ ...chips[0], lost: true }], "a", { screenshotDataUrl: "data:," }, "t")[0].lost, false);
  const chat = ask(emptyChat(), { text: "Make it green", provider: "anthropic", now: 0, chips: chips.map(chipView) });
  const later = found(chat, "b", { thumb: "data:image/png,", names: ["Card"] });
  deepEqual(/** @type {any} */ (later.items[0]).chips.map((/** @type {any} */ c) => [c.pick, c.thumb, c.names]), [["a", "", []], ["b", "data:image/png,", ["Card"]]]);
  equal(found(chat, "x", { thumb: "t", names: [] }), chat);
});

test("which code of an answer is a selector", () => {
  for (const [text, selector] of Object.entries({
    ".btn-primary": ".btn-primary", "#save": "#save", "button.btn": "button.btn", "button.btn.btn-primary": "button.btn.btn-primary", "nav > a.active": "nav > a.active",
    ".card h3, .card h4": ".card h3, .card h4", "[data-testid=new]": "[data-testid=new]", "input[disabled]": "input[disabled]", "svg.logo path": "svg.logo path", "my-card.wide": "my-card.wide",
    ".btn-primary:hover": ".btn-primary", ".note::before": ".note", "li.item:nth-child(2)": "li.item:nth-child(2)", ".a:not(.b)": ".a:not(.b)", ".md\\:flex": ".md\\:flex",
  })) equal(selectorOf(text), selector, text);
});

test("what only looks like one is none", () => {
  for (const text of [
    "a", "main", "button", "h1 > a", "*", "npm test", "npm run build.prod", "git commit", "Button", "Button.css", "index.html", "main.js", "nav.tsx", "package.json", "docker-compose.yml", "vite.config.js",
    ".env", ".gitignore", ".eslintrc", ".tsx", ".map", ".forEach", ".5rem", "#fff", "#ea580c", "#16a34a", "#12", "input.value", "a.href", "document.body", "foo.bar", "user.name", "[id]", "[slug]", "[1]",
    "--primary", "color: red", ".btn {", "() => x", "a b.c d", "src/App.jsx", ":root", "", " ", ".", "#", ".".repeat(300), ".a".repeat(300), ".btn,", "> .a", "e.g.", "v1.2.3", "v1.x",
  ]) equal(selectorOf(text), "", text);
});

test("an element that was picked has its names", () => {
  const capture = { tag: "button", id: "new", className: "btn btn-primary", domPath: "header > button#new", pick: "p1", attrs: { "data-testid": "new" }, component: { name: "Button" } };
  const picked = [chipView({ id: 1, thumb: "", capture }), chipView({ id: 2, thumb: "", capture: { tag: "main", pick: "p2", domPath: "main" } }), chipView({ id: 3, thumb: "", capture: { tag: "img", pasted: true } })];
  for (const text of ["button.btn", ".btn-primary", "button.btn.btn-primary", "#new", "button#new", "Button", "<Button>", "<Button />", '[data-testid="new"]']) {
    deepEqual(targetOf(text, picked), { selector: "header > button#new", pick: "p1" }, text);
  }
  deepEqual(targetOf(".other", picked), { selector: ".other", pick: "" });
  for (const text of ["main", "button", "img", "btn", "Card"]) equal(targetOf(text, picked), null, text);
  deepEqual(namesOf({ tag: "p", className: 7, component: null }), []);
});

test("a name of an element shows it while it is pointed at, and keeps it shown when pressed", async (stage) => {
  /** @type {any[]} */
  const lit = [];
  let said = "";
  let found = true;
  const link = elementLink(".btn", { selector: ".btn", pick: "" }, {
    highlight: async (/** @type {any} */ target, /** @type {boolean} */ reveal) => {
      lit.push(target && [target.selector, Boolean(reveal)]);
      return found;
    },
    announce: (/** @type {string} */ text) => { said = text; },
  });
  stage.append(link);
  equal(link.textContent, ".btn");
  equal(lit.length, 0, "nothing is asked before");
  link.dispatchEvent(new PointerEvent("pointerenter"));
  link.dispatchEvent(new PointerEvent("pointerleave"));
  deepEqual(lit, [[".btn", false], null]);
  link.click();
  await until(() => link.getAttribute("aria-pressed") === "true");
  link.dispatchEvent(new PointerEvent("pointerleave"));
  deepEqual(lit.slice(2), [[".btn", true]]);
  link.click();
  equal(link.getAttribute("aria-pressed"), "false");
  equal(lit.at(-1), null);
  found = false;
  link.click();
  await until(() => said);
  match(said, /^Nothing on this page is \.btn/);
  equal(link.getAttribute("aria-pressed"), "false");
});

test("the last words of a run: one line, no marks, no keys", () => {
  const asked = ask(emptyChat(), { text: "Make it green", provider: "anthropic", now: 0 });
  const said = (/** @type {any[]} */ ...events) => lastWords(events.reduce(reduce, asked));
  equal(said({ type: "delta", text: "I look.", messageId: "1" }, { type: "tool", id: "t", tool: "Read" }, { type: "delta", text: "\n---\n## The **button** is `green` now\n\nAnd more.", messageId: "2" }, { type: "done" }), "The button is green now");
  equal(said({ type: "delta", text: "Half.", messageId: "1" }, { type: "error", message: "The limit is used up.\nmore" }, { type: "done" }), "The limit is used up.");
  equal(said({ type: "delta", text: "The key is sk-ant-api03-AbCdEf0123456789xyz in src/components/checkout-and-payment/Button2.css", messageId: "1" }, { type: "done" }), "The key is … in src/components/checkout-and-payment/Button2.css");
  equal(said({ type: "delta", text: "word ".repeat(100), messageId: "1" }, { type: "done" }).length, 120);
  equal(said({ type: "done" }), "");
});
