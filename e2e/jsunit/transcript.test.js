// Runs in: the jsunit page. What a chat costs to draw: counted, not timed, and
// beside the page, so that nothing is laid out.
import { equal, match, ok, test } from "./harness.js";
import { Pages } from "../../extension/panel/history.js";
import { ask, emptyChat, receive, reduce } from "../../extension/panel/store.js";
import { Transcript } from "../../extension/panel/transcript.js";

/** @typedef {import("../../extension/panel/store.js").Chat} Chat */

const desk = /** @type {any} */ ({ links: { file: (/** @type {string} */ _path, /** @type {number} */ _line, /** @type {string} */ text) => document.createTextNode(text), element: () => null }, copy: () => {} });
const asked = () => ask(emptyChat(), { text: "make it green", provider: "anthropic", now: 1_000 });

/**
 * Lets a transcript take events, so many per frame, and counts what each frame
 * adds or changes, in nodes.
 * @param {any[]} events
 * @param {number} perFrame
 */
function draw(events, perFrame) {
  const transcript = new Transcript(desk);
  const stage = document.createElement("div");
  stage.append(transcript.node);
  const watch = new MutationObserver(() => {});
  watch.observe(transcript.node, { childList: true, characterData: true, subtree: true });
  /** @type {number[]} */
  const frames = [];
  let chat = asked();
  for (let i = 0, behind = true; i < events.length || behind;) {
    for (const end = i + perFrame; i < Math.min(end, events.length); i++) chat = receive(chat, { id: i + 1, event: events[i] });
    if (i >= events.length && chat.run) chat = receive(chat, { id: i + 1, event: { type: "done" } });
    behind = transcript.show(chat, false);
    frames.push(watch.takeRecords().reduce((sum, { addedNodes }) => [...addedNodes].reduce((n, node) => n + 1 + (node instanceof Element ? node.querySelectorAll("*").length : 0), sum + 1), 0));
  }
  watch.disconnect();
  return { stage, all: frames.reduce((a, b) => a + b, 0), most: Math.max(...frames), nodes: transcript.node.querySelectorAll("*").length };
}

/** An answer in pieces. @param {string} text @param {number} size */
const deltas = (text, size) => Array.from({ length: Math.ceil(text.length / size) }, (_, i) => ({ type: "delta", messageId: "m", text: text.slice(i * size, (i + 1) * size) }));

/** @param {number} n */
const answer = (n) => Array.from({ length: n }, (_, i) => `## Part ${i}\n\nSome **text** with \`code\` and [a link](https://x.test/${i}).\n\n- one\n- two\n\n\`\`\`css\n.a { color: red }\n\`\`\`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n`).join("");

/** An agent at work. @param {number} turns */
const work = (turns) => Array.from({ length: turns }, (_, i) => [
  { type: "thinking_delta", messageId: `m${i}`, text: "I look at it." }, { type: "delta", messageId: `m${i}`, text: `Part ${i} of **it**.` },
  { type: "tool", tool: "Bash", detail: "ls", id: `t${i}` }, { type: "tool_result", tool: "Bash", id: `t${i}`, text: "x".repeat(500), isError: false, truncated: false },
]).flat();

test("twice the answer is twice the work, and no frame has much of it", () => {
  const [once, twice] = [100, 200].map((n) => draw(deltas(answer(n), 60), 8));
  ok(twice.all < 2.6 * once.all, `${once.all} and ${twice.all} nodes`);
  ok(twice.most < 1_000, `${twice.most} nodes in a frame`);
});

test("twice the events are twice the work, and as many nodes in the end", () => {
  const [once, twice] = [500, 1_000].map((n) => draw(work(n), 8));
  ok(twice.all < 2.6 * once.all, `${once.all} and ${twice.all} nodes`);
  ok(twice.nodes < 1.1 * once.nodes, `${once.nodes} and ${twice.nodes} nodes are there`);
  ok(twice.most < 1_500, `${twice.most} nodes in a frame`);
});

/** @type {[string, string, RegExp | null, string][]} */
const floods = [
  ["a paragraph of 300 KB in one line", "word **bold** _it_ and more of it. ".repeat(8_600), null, ""],
  ["a heading of 300 KB", "# " + "word **bold** and more of it. ".repeat(10_000), null, ""],
  ["a line of 300 KB that could be a table's", "| word " + "and more of it ".repeat(20_000), null, ""],
  ["a table of 5,000 rows", "| a | b |\n|---|---|\n" + Array.from({ length: 5_000 }, (_, i) => `| ${i} | some **text** |\n`).join(""), /^Show 200 more of 4800 rows$/, "tbody tr"],
  ["code of 5,000 lines", "```js\n" + Array.from({ length: 5_000 }, (_, i) => `const x${i} = 1;\n`).join("") + "```\n", /^Show 400 more of 4600 lines$/, ""],
  ["a list of 5,000 items", Array.from({ length: 5_000 }, (_, i) => `- item ${i}\n`).join(""), null, ""],
  ["5,000 short paragraphs", "a\n\n".repeat(5_000), null, ""],
];
for (const [name, text, more, rows] of floods) {
  test(`${name}: no frame has much of it, streamed or at once`, () => {
    for (const piece of [text.length, 20_000]) {
      const { stage, most } = draw(deltas(text, piece), 1);
      ok(most < 2_500, `${most} nodes in a frame`);
      const shown = (stage.textContent ?? "").trimEnd();
      if (!more) {
        equal(shown.slice(-5), text.replaceAll(/[*_\n]/g, "").trimEnd().slice(-5), "its end is shown");
        continue;
      }
      const button = /** @type {HTMLButtonElement} */ (stage.querySelector(".answer .more"));
      match(button.textContent ?? "", more);
      const before = rows ? stage.querySelectorAll(rows).length : shown.split("\n").length;
      button.click();
      const after = rows ? stage.querySelectorAll(rows).length : (stage.textContent ?? "").split("\n").length;
      equal(after > before, true, "the button shows more");
      ok(stage.contains(button));
    }
  });
}

test("of many items a window is shown, which goes back and forth", () => {
  let chat = emptyChat();
  for (let i = 0; i < 1_200; i++) chat = receive({ ...ask(chat, { text: `word ${i}`, provider: "", now: 0 }) }, { id: 1, event: { type: "done" } });
  const transcript = new Transcript(desk);
  const stage = document.createElement("div");
  stage.append(transcript.node);
  const shown = () => {
    while (transcript.show(chat, false));
    const words = [...transcript.node.children].map((node) => node.querySelector(".bubble-text")?.textContent);
    return `${words[0]} to ${words.at(-1)}, ${words.length}: ${[...stage.children].filter((node) => node !== transcript.node).map((node) => node.textContent).join(", ")}`;
  };
  equal(shown(), "word 900 to word 1199, 300: Show earlier");
  transcript.earlier.click();
  equal(shown(), "word 600 to word 1199, 600: Show earlier");
  transcript.earlier.click();
  equal(shown(), "word 300 to word 899, 600: Show earlier, Show later");
  transcript.earlier.click();
  equal(shown(), "word 0 to word 599, 600: Show later");
  transcript.later.click();
  equal(shown(), "word 300 to word 899, 600: Show earlier, Show later");
  transcript.latest();
  equal(shown(), "word 900 to word 1199, 300: Show earlier");
});

test("a session read page by page is what it is read at once", () => {
  /** @type {any[]} */
  const events = Array.from({ length: 6 }, (_, i) => [{ type: "user", text: `Do ${i}` }, ...work(3), { type: "change", files: [], added: i, removed: 0 }, { type: "commit", sha: `${i}`, count: 1 }]).flat();
  const whole = events.reduce(reduce, emptyChat());
  const plain = (/** @type {Chat} */ chat) => JSON.stringify(chat.items.map(({ key: _, ...item }) => item));
  for (const size of [1, 7, 50, 1_000]) {
    const pages = new Pages();
    let chat = emptyChat();
    for (let end = events.length; end > 0; end -= size) {
      const before = chat;
      chat = pages.prepend(events.slice(Math.max(0, end - size), end));
      const kept = before.items.slice(before.items.findIndex((item) => item.kind === "user"));
      if (kept.length > 1) ok(kept.every((item, i) => chat.items.at(i - kept.length) === item), "what follows a message stays as it is");
    }
    equal(plain(chat), plain(whole), `pages of ${size}`);
    equal(chat.items.every((item, i) => item.key === i - chat.items.length), true, "keys count from the end");
  }
});
