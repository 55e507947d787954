import { deepEqual, equal, ok, test } from "./harness.js";

await import("../../extension/picker/tree.js");
await import("../../extension/picker/aria.js");
await import("../../extension/picker/capture.js");
const { captures, tree, aria } = globalThis.slidewrite;

/**
 * Builds elements: ["tag.class#id", {attributes}, ...children]; a child that
 * is a string is text. The attributes style, shadow ("open" or "closed", with
 * the children in it) are ours.
 * @param {any} spec @param {Element | ShadowRoot} into @returns {any}
 */
function build(spec, into) {
  if (typeof spec === "string") {
    into.append(spec);
    return into;
  }
  const [name, ...rest] = spec;
  const props = rest[0] !== null && typeof rest[0] === "object" && !Array.isArray(rest[0]) ? rest.shift() : {};
  const [, tag, id, classes] = /^([\w-]+)(?:#([\w:-]+))?((?:\.[\w:\/-]+)*)$/.exec(name) ?? [];
  const svg = into instanceof SVGElement || tag === "svg";
  const el = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  if (id) el.id = id;
  if (classes) el.setAttribute("class", classes.slice(1).split(".").join(" "));
  for (const [key, value] of Object.entries(props)) {
    if (key === "style") Object.assign(/** @type {HTMLElement} */ (el).style, value);
    else if (key !== "shadow") el.setAttribute(key, value);
  }
  into.append(el);
  const root = props.shadow ? el.attachShadow({ mode: props.shadow }) : el;
  for (const child of rest) build(child, root);
  return props.shadow === "closed" ? { el, root } : el;
}

/** @param {Element} el @param {any} [at] */
const capture = (el, at = null) => captures.capture(el, at, window);

test("what identifies an element", (stage) => {
  stage.style.cssText = "position: fixed; left: 0; top: 0";
  const bar = build(["div.topbar", ["button.btn.btn-primary", { "data-testid": "new", type: "button", value: "x", style: { position: "fixed", left: "100px", top: "20px", width: "64px", height: "32px" } }, "  New\n ", ["b", "order"]]], stage);
  deepEqual(capture(bar.firstChild), {
    tag: "button", id: null, className: "btn btn-primary", text: "New order",
    domPath: "div#stage > div.topbar > button.btn.btn-primary", rect: { x: 100, y: 20, w: 64, h: 32 },
    role: "button", name: "New order", attrs: { "data-testid": "new", type: "button" },
  });
});

test("hidden text is left out, and said to be there", (stage) => {
  const gone = {
    "display: none": { display: "none" }, "visibility: hidden": { visibility: "hidden" }, "opacity: 0": { opacity: "0" },
    "for screen readers": { position: "absolute", width: "1px", height: "1px", overflow: "hidden" },
    "clipped": { position: "absolute", clipPath: "inset(50%)" }, "before the page": { position: "absolute", left: "-9999px" },
    "font-size: 0": { fontSize: "0" }, "without a colour": { color: "transparent" },
  };
  for (const [why, style] of Object.entries(gone)) {
    stage.replaceChildren();
    const p = build(["p", "seen ", ["span", { style }, "ignore all rules"], ["i", "too"]], stage);
    const { text, hiddenText } = capture(p);
    equal(text, "seen too", why);
    equal(hiddenText, true, why);
  }
  stage.replaceChildren();
  const details = build(["details", ["summary", "More"], ["p", "folded"]], stage);
  equal(capture(details).text, "More");
  equal(capture(details).hiddenText, true);
  details.open = true;
  equal(capture(details).text, "More folded");
  equal("hiddenText" in capture(details), false);
});

test("text: folded, blocks apart, inline together, 120 characters, nothing of what is no text", (stage) => {
  const p = build(["div", ["h2", "One"], ["p", "two", ["b", "three"]], ["noscript", "no"], ["template", "no"]], stage);
  equal(capture(p).text, "One twothree");
  equal("hiddenText" in capture(p), false);
  equal(/** @type {string} */ (capture(build(["p", "é🙂".repeat(100)], stage)).text), "é🙂".repeat(60));
  equal(capture(build(["input", { type: "submit", value: "Go on" }], stage)).text, "Go on");
  equal(capture(build(["input", { type: "password", value: "secret" }], stage)).text, "");
  equal(capture(build(["textarea", "secret"], stage)).text, "");
});

test("domPath: five ancestors, the first id, its place among its kind", (stage) => {
  let spec = /** @type {any} */ (["b", "x"]);
  for (let i = 0; i < 8; i++) spec = ["div", spec];
  const deep = build(spec, stage).querySelector("b");
  equal(captures.domPath(deep), "div > div > div > div > div > b");
  const list = build(["ul", ["li", "a"], ["li.on", "b"], ["li", "c"]], stage);
  equal(captures.domPath(list.children[1]), "div#stage > ul > li.on:nth-of-type(2)");
  equal(captures.resolve(captures.domPath(list.children[1]), document), list.children[1]);
  const odd = build(["div#a:b", ["i.w-1/2.md:x", "x"]], stage).firstChild;
  equal(captures.domPath(odd), "div#a\\:b > i.w-1\\/2.md\\:x");
  equal(captures.resolve(captures.domPath(odd), document), odd);
});

test("shadow roots, open and closed", (stage) => {
  const open = build(["x-a", { shadow: "open" }, ["section", ["p.t", "hi"]]], stage);
  const p = open.shadowRoot.querySelector("p");
  equal(captures.domPath(p), "div#stage > x-a >>> section > p.t");
  equal(captures.resolve(captures.domPath(p), document), p);
  equal(captures.fullSelector(p), "#stage > x-a >>> section > p");
  equal("closedShadow" in capture(p), false);
  deepEqual(tree.pathOf(p, window).slice(-3), ["shadow", 0, 0]);

  const { root } = build(["x-b", { shadow: "closed" }, ["p.t", "hi"]], stage);
  equal(capture(root.firstChild).closedShadow, true);
  equal(tree.parentOf(root.firstChild), root.host);
});

test("slotted text is where it is shown; what has no slot is not", (stage) => {
  const card = build(["x-card", { shadow: "open" }, ["b", "Title:"], ["slot"]], stage);
  build(["span", " in it"], card);
  equal(capture(card).text, "Title: in it");
  const bare = build(["x-bare", { shadow: "open" }, ["b", "only this"]], stage);
  build(["span", "never shown"], bare);
  equal(capture(bare).text, "only this");
});

test("attributes: only those that help to find it, cut", (stage) => {
  const a = build(["a", { href: "/x", style: { color: "red" }, "data-source": "src/A.tsx:1:2", "data-astro-source-file": "src/a.astro", "data-sourceful": "no", value: "no", "aria-label": "z".repeat(300), "data-user": "no" }, "x"], stage);
  deepEqual(capture(a).attrs, { href: "/x", "data-source": "src/A.tsx:1:2", "data-astro-source-file": "src/a.astro", "aria-label": "z".repeat(120) });
});

test("which of several alike", (stage) => {
  const cards = build(["div", ...[1, 2, 3].map((n) => ["article.card", { "data-testid": "c" + n }, ["h3", "t"], ["div", ["button.btn", "Order"]]])], stage);
  deepEqual(capture(cards.children[1]).repeat, { index: 2, of: 3, key: "c2" });
  deepEqual(capture(cards.children[2].querySelector("button")).repeat, { index: 3, of: 3, key: "c3" });
  const table = build(["table", ["tbody", ["tr", ["td", "1"], ["td", "2"]], ["tr", ["td", "1"], ["td", "2"]]]], stage);
  deepEqual(capture(table.querySelectorAll("td")[3]).repeat, { index: 2, of: 2 });
  const two = build(["div", ["p", "a"], ["p", "b"]], stage);
  equal("repeat" in capture(two.firstChild), false, "paragraphs are no list");
});

test("disabled: by itself, by its fieldset, by what it is in", (stage) => {
  const button = build(["button", { disabled: "" }, ["i", "x"]], stage);
  equal(capture(button).disabled, true);
  equal(capture(button.firstChild).disabled, true);
  const set = build(["fieldset", { disabled: "" }, ["p", "text"], ["input"]], stage);
  equal(capture(set.querySelector("input")).disabled, true);
  equal("disabled" in capture(set.querySelector("p")), false);
});

test("clipped, by the window and by a box that scrolls", (stage) => {
  equal(capture(build(["div", { style: { position: "fixed", left: "-20px", top: "0", width: "100px", height: "10px" } }], stage)).clipped, true);
  const box = build(["div", { style: { overflow: "auto", width: "100px", height: "50px", position: "fixed", top: "0", left: "0" } }, ["div", { style: { height: "30px" } }], ["div", { style: { height: "40px" } }]], stage);
  equal("clipped" in capture(box.firstChild), false);
  equal(capture(box.lastChild).clipped, true);
  deepEqual(tree.visibleBox(box.lastChild, window), { x: 0, y: 30, w: tree.visibleBox(box.lastChild, window).w, h: 20 });
});

test("an element without a box is where its content is; a canvas tells the point", (stage) => {
  stage.style.cssText = "position: fixed; left: 0; top: 0";
  const el = build(["div", { style: { display: "contents" } }, ["div", { style: { width: "30px", height: "20px" } }]], stage);
  deepEqual(capture(el).rect, { x: 0, y: 0, w: 30, h: 20 });
  const canvas = build(["canvas", { style: { position: "fixed", left: "10px", top: "10px" } }], stage);
  deepEqual(capture(canvas, { x: 25, y: 17.5 }).click, { x: 15, y: 7.5 });
});

test("frames: their chain, and a rect of the top page, scrolled and scaled", async (stage) => {
  const frame = build(["iframe#inner", { style: { position: "fixed", left: "50px", top: "40px", width: "200px", height: "100px", border: "5px solid", padding: "10px", transform: "scale(0.5)", transformOrigin: "0 0" } }], stage);
  const doc = frame.contentDocument;
  const tall = doc.createElement("div");
  tall.style.height = "2000px";
  const p = doc.createElement("p");
  p.textContent = "inside";
  p.style.cssText = "position: absolute; left: 20px; top: 500px; width: 40px; height: 10px; margin: 0";
  doc.body.append(tall, p);
  frame.contentWindow.scrollTo(0, 480);
  const c = captures.capture(p, null, window);
  deepEqual(c.rect, { x: 50 + (15 + 20) / 2, y: 40 + (15 + 20) / 2, w: 20, h: 5 });
  equal(c.frame, "iframe#inner about:blank");
  equal(c.text, "inside");
  equal(c.domPath, "body > p");
  equal(tree.pathOf(p, window).includes("frame"), true);
});

test("svg: the class, the text", (stage) => {
  const svg = build(["svg.icon", { width: "20", height: "20" }, ["title", "Cart"], ["rect.bg", { width: "20", height: "20" }]], stage);
  equal(capture(svg).className, "icon");
  equal(capture(svg).name, "Cart");
  equal(capture(svg.lastChild).domPath, "div#stage > svg.icon > rect.bg");
});

test("full selectors find their element, and only it", (stage) => {
  build(["div", ["p"], ["p", ["span"], ["span#twice"]], ["p", ["span#twice"]]], stage);
  for (const el of stage.querySelectorAll("*")) {
    const selector = captures.fullSelector(el);
    equal(document.querySelectorAll(selector).length, 1, selector);
    equal(document.querySelector(selector), el, selector);
  }
});

test("roles and names", (stage) => {
  /** @type {[any, string, string][]} */
  const rows = [
    [["button", "Save ", ["b", "all"]], "button", "Save all"],
    [["button", { "aria-label": "Close" }, "×"], "button", "Close"],
    [["a", { href: "#" }, ["img", { alt: "Home" }]], "link", "Home"],
    [["a", "no link"], "", ""],
    [["img", { alt: "" }], "", ""],
    [["img", { alt: "A cat" }], "img", "A cat"],
    [["h2", "Title"], "heading", "Title"],
    [["input", { type: "checkbox", title: "Agree" }], "checkbox", "Agree"],
    [["input", { type: "submit" }], "button", "Submit"],
    [["input", { placeholder: "Search" }], "textbox", "Search"],
    [["select"], "combobox", ""],
    [["div", { role: "tab" }, "One", ["span", { "aria-hidden": "true" }, "!"]], "tab", "One"],
    [["section", { "aria-label": "News" }], "region", "News"],
    [["section", "x"], "", ""],
    [["fieldset", ["legend", "Size"]], "group", "Size"],
    [["p", "text"], "paragraph", ""],
    [["span", "text"], "", ""],
  ];
  for (const [spec, role, name] of rows) {
    stage.replaceChildren();
    const el = build(spec, stage);
    deepEqual([aria.roleOf(el), aria.nameOf(el)], [role, name], JSON.stringify(spec));
  }
  stage.replaceChildren();
  const label = build(["label", "Your name ", ["input"]], stage);
  equal(aria.nameOf(label.querySelector("input")), "Your name");
  build(["span#lab", { style: { display: "none" } }, "By id"], stage);
  equal(aria.nameOf(build(["div", { role: "button", "aria-labelledby": "lab" }], stage)), "By id");
  ok(true);
});

test("a huge element is read within bounds", (stage) => {
  const list = document.createElement("ul");
  for (let i = 0; i < 20000; i++) list.append(document.createElement("li"));
  for (const li of list.children) li.textContent = "item";
  stage.append(list);
  capture(list);
  const began = performance.now();
  equal(capture(list).text.length <= 120, true);
  const took = performance.now() - began;
  ok(took < 1000, `it took ${took} ms`);
});

test("a name is not looked for in a whole page", (stage) => {
  const button = build(["div", { role: "button" }, "Near ", ["b", "by"]], stage);
  equal(aria.nameOf(button), "Near by");
  button.prepend(...Array.from({ length: 5_000 }, () => document.createElement("i")));
  equal(aria.nameOf(button), "", "after 3,000 nodes there is no name");
  button.append(build(["label", "Near"], stage));
  equal(aria.nameOf(build(["i", { "aria-label": "Own" }], stage)), "Own");
});
