// Runs in: the jsunit page. The panel's smaller parts: where a file opens, what
// a diff's rows are, what the panel says about its connection, what is kept.
import { deepEqual, equal, match, ok, test } from "./harness.js";
import { ShimError } from "../../extension/lib/shim.js";
import { chipLabel, forShim, patched } from "../../extension/panel/chips.js";
import { judge } from "../../extension/panel/connection.js";
import { diffView, parseDiff } from "../../extension/panel/diff.js";
import { editorAddress } from "../../extension/panel/editor.js";
import { fixLine } from "../../extension/panel/fix.js";
import { pastedCapture } from "../../extension/panel/images.js";
import { trimmed } from "../../extension/panel/persist.js";
import { place } from "../../extension/panel/place.js";
import { ask, emptyChat, reduce } from "../../extension/panel/store.js";

test("where a file opens", () => {
  const vscode = "vscode://file/{path}:{line}";
  equal(editorAddress(vscode, "/home/ada/shop", "src/a b#1.css", 12), "vscode://file/home/ada/shop/src/a%20b%231.css:12");
  equal(editorAddress(vscode, "C:\\src\\shop", "src/a.css", 1), "vscode://file/C:/src/shop/src/a.css:1");
  equal(editorAddress(vscode, "", "/etc/a.css", 3), "vscode://file/etc/a.css:3");
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
});
