// The objects in cdpstyles.json are those that Chromium 156 gave for this page,
// but for the browser's own rules, of which one is left, and its port:
//
//   site.css:  @layer reset, theme;
//              @layer theme { .a { color: red !important; padding: 9px; margin: 3px } }
//              @layer reset { .a { color: orange !important; padding: 8px } }
//              .a, .b { color: purple !important; margin: 1px 2px; width: 10px; width: bogus; }
//              .card {
//                & .a { margin-left: 7px; --gap: 4px }
//                .unmatched & { margin: 0 }
//              }
//              .a { /* outline: 1px solid; */ height: 20px; }
//              .a:hover { color: green }
//              /*# sourceMappingURL=site.css.map */
//   the page:  <!doctype html>
//              <link rel="stylesheet" href="/site.css">
//              <style>
//                button { border-radius: 2px }
//              </style>
//              <div class="card"><button class="a" style="height: 30px; background: url(x.png) no-repeat; color: blue">
//   by script: a style element .a { cursor: help }, an adopted sheet .a { opacity: .9 }, an inserted rule .a { top: 1px }
import { matchedStyles } from "../../extension/background/cdpstyles.js";
import { deepEqual, equal, test } from "./harness.js";

/** @typedef {import("../../extension/background/cdpstyles.js").Sheet} Sheet */

const recorded = await (await fetch("cdpstyles.json")).text();

/** @param {(found: {matched: any, sheets: Sheet[], longhands: Record<string, string[]>}) => void} [change] */
function styles(change) {
  const found = JSON.parse(recorded);
  change?.(found);
  return matchedStyles(found.matched, new Map(found.sheets.map((/** @type {Sheet} */ s) => [s.styleSheetId, s])), found.longhands);
}

const css = "http://127.0.0.1:5173/site.css";
const map = `${css}.map`;

test("authored rules, the winning one first, with what of them is in effect", () => {
  deepEqual(styles(), [
    { selector: ".a", source: css, line: 3, sourceMapURL: map, props: { color: "orange !important" } }, // of important ones, the first layer's
    { selector: "element.style", props: { height: "30px", background: "url(x.png) no-repeat" } },
    { selector: ".card { & .a", source: css, line: 6, sourceMapURL: map, props: { "margin-left": "7px", "--gap": "4px" } },
    { selector: ".a", props: { opacity: "0.9" } },
    { selector: ".a", props: { top: "1px" } },
    { selector: ".a", props: { cursor: "help" } },
    { selector: ".a", source: css, line: 4, sourceMapURL: map, props: { margin: "1px 2px", width: "10px" } },
    { selector: "button", source: "http://127.0.0.1:5173/", line: 4, props: { "border-radius": "2px" } },
    { selector: ".a", source: css, line: 2, sourceMapURL: map, props: { padding: "9px" } },
  ]);
});

/** The sheet of `cursor: help`. @param {Sheet[]} sheets @returns {any} */
const bundled = (sheets) => sheets.find((s) => s.styleSheetId === "style-sheet-1-6");
/** @param {ReturnType<typeof styles>} rules */
const cursor = (rules) => rules.find((r) => r.props.cursor);

test("a bundler's style element is of a file; its lines are, where nothing was compiled", () => {
  for (const [devId, source, line] of /** @type {[string, string, number?][]} */ ([
    ["/home/me/shop/src/x.css", "/home/me/shop/src/x.css", 1],
    ["/home/me/shop/src/x.scss", "/home/me/shop/src/x.scss"],
    ["/home/me/shop/src/App.vue?vue&type=style&index=0&lang.css", "/home/me/shop/src/App.vue"],
  ])) {
    const found = cursor(styles(({ sheets }) => { bundled(sheets).devId = devId; }));
    deepEqual(found, { selector: ".a", source, ...(line && { line }), props: { cursor: "help" } });
  }
  // Written into the page by a server, it lies at a line of the page.
  const served = cursor(styles(({ sheets }) => Object.assign(bundled(sheets), { devId: "/home/me/shop/src/x.css", sourceURL: "http://127.0.0.1:5173/", startLine: 7 })));
  equal(served?.line, 1);
  equal(cursor(styles(({ sheets }) => { bundled(sheets).devId = "\0virtual:x.css"; }))?.source, undefined);
});

test("a map that is data is not sent along; a rule that a script changed has no line", () => {
  const [first] = styles(({ sheets }) => {
    for (const sheet of sheets) if (sheet.sourceMapURL) Object.assign(sheet, { sourceMapURL: "data:application/json,{}", isMutable: true });
  });
  deepEqual(first, { selector: ".a", source: css, props: { color: "orange !important" } });
});

test("important in the style attribute wins over authored layers, and the browser's over all", () => {
  const [own, next] = styles(({ matched }) => {
    const color = matched.inlineStyle.cssProperties.find((/** @type {any} */ p) => p.name === "color");
    Object.assign(color, { important: true, value: "blue !important" });
  });
  deepEqual([own.selector, own.props.color, next.selector], ["element.style", "blue !important", ".card { & .a"]);
  const rules = styles(({ matched }) => {
    matched.matchedCSSRules[0].rule.style.cssProperties.push({ name: "color", value: "black !important", important: true, range: {} });
  });
  equal(rules.some((r) => r.props.color), false);
});

test("no more than 12 rules of 24 properties", () => {
  const range = { startLine: 0 };
  const rules = styles(({ matched, sheets, longhands }) => {
    matched.inlineStyle = null;
    sheets.length = 0;
    matched.matchedCSSRules = Array.from({ length: 20 }, (_, i) => ({
      matchingSelectors: [0],
      rule: {
        origin: "regular", selectorList: { text: `.r${i}`, selectors: [{ text: `.r${i}`, range }] },
        style: { cssProperties: Array.from({ length: 30 }, (_, n) => ({ name: `--r${i}-${n}`, value: "x".repeat(9_000), range })) },
      },
    }));
    for (const name of Object.keys(longhands)) delete longhands[name];
  });
  equal(rules.length, 12);
  equal(rules[0].selector, ".r19");
  deepEqual([...new Set(rules.map((r) => Object.keys(r.props).length))], [24]);
  equal(rules[0].props["--r19-29"].length, 500);
});

test("nothing matched", () => deepEqual(matchedStyles({}, new Map(), {}), []));
