// Runs in: the jsunit page. Markdown, whole and as it streams.
import { deepEqual, equal, ok, test } from "./harness.js";
import { fileReference, inline } from "../../extension/panel/inline.js";
import { Markdown } from "../../extension/panel/markdown.js";

const options = {
  links: { file: (/** @type {string} */ path, /** @type {number} */ line, /** @type {string} */ text) => Object.assign(document.createElement("button"), { textContent: text, title: `${path}:${line}` }), element: (/** @type {string} */ code) => (code === ".btn" ? Object.assign(document.createElement("button"), { textContent: code }) : null) },
  copy() {},
};

/** A tree as text: `p(one em(two))`. @param {Node} node @returns {string} */
function outline(node) {
  if (node instanceof Text) return node.data;
  if (node instanceof Element && node.className === "code") return `code[${node.querySelector(".code-language")?.textContent}](${node.querySelector("code")?.textContent})`;
  if (node instanceof Element && node.className === "table") return outline(/** @type {Node} */ (node.firstChild));
  if (node.nodeName === "A") return `a[${/** @type {HTMLAnchorElement} */ (node).href}](${[...node.childNodes].map(outline).join("")})`;
  if (node instanceof Element && node.className.startsWith("task")) return `span[${node.getAttribute("aria-label")}]`;
  const name = node instanceof Element && node.className.startsWith("heading") ? "h" + node.className.at(-1) : node.nodeName.toLowerCase();
  return `${name}(${[...node.childNodes].map(outline).join("")})`;
}

/** @param {string} text */
function whole(text) {
  const root = document.createElement("div");
  new Markdown(root, options).update(text, true);
  return [...root.childNodes].map(outline).join("");
}

/** @param {string} text @param {number} step */
function streamed(text, step) {
  const root = document.createElement("div");
  const view = new Markdown(root, options);
  for (let end = step; end < text.length; end += step) view.update(text.slice(0, end));
  view.update(text, true);
  return [...root.childNodes].map(outline).join("");
}

/** @param {string} text */
const inner = (text) => [...inline(text, options.links).childNodes].map(outline).join("");

/** @type {[string, string, string][]} name, source, outline */
const blocks = [
  ["paragraphs", "one\ntwo\n\nthree", "p(one\ntwo)p(three)"],
  ["headings", "# One #\n## Two\n####### no\n#no\n", "h1(One)h2(Two)p(####### no\n#no)"],
  ["underlined headings", "One\n===\nTwo\n---\n", "h1(One)h2(Two)"],
  ["rules", "a\n\n---\n* * *\nb", "p(a)hr()hr()p(b)"],
  ["a list", "- a\n- b\n  more\n* c", "ul(li(p(a))li(p(b\nmore))li(p(c)))"],
  ["lists in lists", "1. a\n   - b\n     - c\n2. d", "ol(li(p(a)ul(li(p(b)ul(li(p(c))))))li(p(d)))"],
  ["lists in lists, indented by two", "1. a\n  - b\n  - c\n2. d", "ol(li(p(a)ul(li(p(b))li(p(c))))li(p(d)))"],
  ["lists in lists, indented by four", "- a\n    - b\n        - c\n- d", "ul(li(p(a)ul(li(p(b)ul(li(p(c))))))li(p(d)))"],
  ["a list with blank lines, then text", "- a\n\n- b\n\n  b2\n\nc", "ul(li(p(a))li(p(b)p(b2)))p(c)"],
  ["code in a list", "- a\n  ```js\n  x\n\n    y\n  ```\n- b", "ul(li(p(a)code[js](x\n\n  y))li(p(b)))"],
  ["a number is no list in a sentence", "in\n2024. was", "p(in\n2024. was)"],
  ["quotes", "> a\nlazy\n> - b\n\nc", "blockquote(p(a\nlazy)ul(li(p(b))))p(c)"],
  ["code", "```css\n.a { }\n\n```\n~~~\n```\n~~~\nx", "code[css](.a { }\n)code[code](```)p(x)"],
  ["code that begins with a blank line", "```\n\na\n```", "code[code](\na)"],
  ["code without an end", "```\na\n<b>", "code[code](a\n<b>)"],
  ["HTML is text", "<b>x</b>\n<script>y</script>", "p(<b>x</b>\n<script>y</script>)"],
  ["a table", "| a | b |\n|---|:-:|\n| 1 | `x|y` |\n| 2 |\n\nend", "table(thead(tr(th(a)th(b)))tbody(tr(td(1)td(code(x|y)))tr(td(2)td())))p(end)"],
  ["a table behind words", "words\na|b\n-|-\n1|2", "p(words)table(thead(tr(th(a)th(b)))tbody(tr(td(1)td(2))))"],
  ["dashes that make no table", "a | b\n--- | --- | ---", "p(a | b\n--- | --- | ---)"],
  ["tasks", "- [x] done\n- [ ] to *do*\n  - [X] more\n- [x]\n- [y] z\n\n[x] text", "ul(li(p(span[Done] done))li(p(span[To do] to em(do))ul(li(p(span[Done] more))))li(p([x]))li(p([y] z)))p([x] text)"],
  ["line ends with CR", "a\r\n\r\n- b\r\n", "p(a)ul(li(p(b)))"],
];

for (const [name, source, want] of blocks) {
  test(name, () => {
    equal(whole(source), want);
    for (const step of [1, 2, 7]) equal(streamed(source, step), want, `streamed by ${step}`);
  });
}

test("containers in each other end somewhere", () => {
  for (const text of [">".repeat(4_000), "- ".repeat(4_000) + "x", "> - ".repeat(2_000) + "x", "1. - ".repeat(2_000)]) {
    const root = document.createElement("div");
    const view = new Markdown(root, options);
    view.update(text.slice(0, 1_000));
    view.update(text, true);
    let depth = 0;
    for (let node = root.firstElementChild; node; node = node.lastElementChild) depth++;
    ok(depth > 20 && depth < 100, `${depth} in each other`);
  }
});

test("an address ends before the punctuation behind it, however much that is", () => {
  equal(inner(`see https://x.test/a_(b)${").".repeat(900)} end`), `see a[https://x.test/a_(b)](https://x.test/a_(b))${").".repeat(900)} end`);
});

test("inside a paragraph", () => {
  /** @type {[string, string][]} */
  const table = [
    ["**a** *b* _c_ __d__ ~~e~~", "strong(a) em(b) em(c) strong(d) del(e)"],
    ["***a** b*", "em(strong(a) b)"],
    ["**a *b* c**", "strong(a em(b) c)"],
    ["snake_case_name 2 * 3 * 4 ~ 5", "snake_case_name 2 * 3 * 4 ~ 5"],
    ["**open *and", "**open *and"],
    ["`a` ``b`c`` `open", "code(a) code(b`c) `open"],
    ["`**a**` \\*b\\* \\", "code(**a**) *b* \\"],
    ["a  \nb\\\nc\nd", "abr()bbr()c\nd"],
    ["[a **b**](https://x.test/?q=1 \"t\")", "a[https://x.test/?q=1](a strong(b))"],
    ["[a](javascript:alert(1)) [b](data:text/html,x)", "a b"],
    ["![alt](https://x.test/i.png)", "a[https://x.test/i.png](alt)"],
    ["[a] [b](", "[a] [b]("],
    ["see https://x.test/a_(b). And <https://y.test>", "see a[https://x.test/a_(b)](https://x.test/a_(b)). And a[https://y.test/](https://y.test)"],
    ["https:// and <b>", "https:// and <b>"],
    ["`src/App.tsx:12` [App](src/App.tsx)", "button(src/App.tsx:12) button(App)"],
    ["`.btn` `btn` [see `.btn` and `src/App.tsx:12`](https://x.test/)", "button(.btn) code(btn) a[https://x.test/](see .btn and src/App.tsx:12)"],
    ["see src/my_app/a_b.tsx:12:4, or **Button.css:2**.", "see button(src/my_app/a_b.tsx:12:4), or strong(button(Button.css:2))."],
    ["(./a.js:1) http://x.test/a.js:1 example.com:443 127.0.0.1:80 at 12:30 a.js:1x v1.2:3", "(button(./a.js:1)) a[http://x.test/a.js:1](http://x.test/a.js:1) example.com:443 127.0.0.1:80 at 12:30 a.js:1x v1.2:3"],
    ["[see a.js:1 https://y.test now](https://x.test)", "a[https://x.test/](see a.js:1 https://y.test now)"],
  ];
  for (const [source, want] of table) equal(inner(source), want, source);
});

test("references to files", () => {
  deepEqual(fileReference("src/a b.css:1"), null);
  deepEqual(fileReference("./src/App.tsx:12:4"), { path: "src/App.tsx", line: 12 });
  deepEqual(fileReference("src/App.tsx#L7", true), { path: "src/App.tsx", line: 7 });
  deepEqual(fileReference("src/App.tsx"), null);
  deepEqual(fileReference("npm run a:1"), null);
  deepEqual(fileReference("localhost:5173"), null);
  deepEqual(fileReference("https://x.test/a.js:1", true), null);
});

test("what was withdrawn is built anew", () => {
  const root = document.createElement("div");
  const view = new Markdown(root, options);
  view.update("one\n\ntwo");
  view.update("other");
  equal([...root.childNodes].map(outline).join(""), "p(other)");
});

test("streaming leaves what was built alone", () => {
  const root = document.createElement("div");
  const view = new Markdown(root, options);
  view.update("# One\n\n- a\n- b\n");
  const kept = [...root.querySelectorAll("*")];
  view.update("# One\n\n- a\n- b\n- c\n\nmore");
  ok(kept.every((node) => root.contains(node)));
});

/**
 * The times of 100 updates of 600 characters each, layout included, in ms. A
 * machine under load makes them longer, never shorter: the shortest tells.
 * @param {string} text
 * @param {HTMLElement} stage
 */
function times(text, stage) {
  const view = new Markdown(stage, options);
  /** @type {number[]} */
  const took = [];
  for (let end = 600; end <= text.length; end += 600) {
    const started = performance.now();
    view.update(text.slice(0, end));
    void stage.offsetHeight;
    took.push(performance.now() - started);
  }
  return took;
}

/** @type {[string, (i: number) => string][]} */
const floods = [
  ["mixed blocks", (i) => `## Part ${i}\n\nSome **text** with \`code\` and [a link](https://x.test/${i}).\n\n- one\n- two\n\n\`\`\`css\n.a { color: red }\n\`\`\`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n`],
  ["one list", (i) => `- item ${i} with **bold** and \`code\`\n`],
  ["one table", (i) => (i === 0 ? "| a | b |\n|---|---|\n" : `| ${i} | some **text** |\n`)],
  ["one fence", (i) => (i === 0 ? "```js\n" : `const x${i} = "some code of a line";\n`)],
  ["one paragraph", (i) => `word${i} **bold** _it_ \`c\` `],
  ["stars", () => "*a **b "],
  ["brackets", () => "[a](b ![c "],
];
for (const [name, piece] of floods) {
  test(`60 KB of ${name}: the last updates take no longer than the first`, (stage) => {
    let text = "";
    for (let i = 0; text.length < 60_000; i++) text += piece(i);
    const took = times(text.slice(0, 60_000), stage);
    const [first, last] = [Math.min(...took.slice(10, 40)), Math.min(...took.slice(-30))];
    ok(last < 8 * first + 4, `the first updates take ${first} ms, the last ones ${last} ms`);
  });
}
