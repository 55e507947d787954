// Runs in: side panel. A unified diff as rows. Parsing is pure; only as many
// rows as were asked for become nodes.

import { button, el, fill } from "../lib/dom.js";
import { plural } from "../lib/format.js";

/** `line` is its number in the new file, 0 where it has none. @typedef {{kind: "add" | "del" | "same" | "hunk" | "meta", text: string, line: number}} Row */

/** So many rows are shown at first, and with each press of the button. */
const page = 200;
/** A longer line is cut: nobody reads it here. */
const longest = 2_000;

/**
 * @param {string} diff of one file or several
 * @returns {Row[]}
 */
export function parseDiff(diff) {
  /** @type {Row[]} */
  const rows = [];
  let line = 0;
  let inHunk = false;
  const lines = diff.split("\n");
  if (lines.at(-1) === "") lines.pop();
  for (const text of lines) {
    const hunk = /^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)$/.exec(text);
    if (hunk) {
      inHunk = true;
      line = Number(hunk[1]);
      rows.push({ kind: "hunk", text: hunk[2], line });
    } else if (text.startsWith("diff --git ")) {
      inHunk = false;
    } else if (!inHunk) {
      if (!/^(index |--- |\+\+\+ )/.test(text)) rows.push({ kind: "meta", text, line: 0 });
    } else if (text.startsWith("+")) {
      rows.push({ kind: "add", text: text.slice(1), line: line++ });
    } else if (text.startsWith("-")) {
      rows.push({ kind: "del", text: text.slice(1), line: 0 });
    } else if (text.startsWith("\\")) {
      rows.push({ kind: "meta", text: text.slice(2), line: 0 });
    } else {
      rows.push({ kind: "same", text: text.slice(1), line: line++ });
    }
  }
  return rows;
}

/** What a row is called where colour and sign do not speak. */
const signs = { add: "+", del: "−", same: " ", hunk: "", meta: "" };

/**
 * @param {string} diff of one file
 * @param {string} path
 * @param {{editorAddress: (path: string, line: number) => string}} desk
 * @returns {HTMLElement}
 */
export function diffView(diff, path, desk) {
  // The first place needs no mark.
  const rows = parseDiff(diff).filter((row, i) => i > 0 || row.kind !== "hunk" || row.text !== "");
  if (rows.length === 0) return el("p", { class: "muted" }, "No lines differ.");
  const lines = el("div", { class: "diff-rows" });
  const node = el("div", { class: "diff", tabindex: "0", role: "group", "aria-label": `Diff of ${path}`, dir: "ltr" }, lines);
  const more = button({ label: "", class: "link more" }, () => show());
  let shown = 0;
  function show() {
    const next = rows.slice(shown, shown + page);
    shown += next.length;
    lines.append(...next.map((row) => rowView(row)));
    const left = rows.length - shown;
    more.hidden = left === 0;
    fill(more, `Show ${Math.min(page, left)} more of ${plural(left, "line")}`);
  }
  /** @param {Row} row */
  function rowView({ kind, text, line }) {
    const address = line > 0 && kind !== "hunk" ? desk.editorAddress(path, line) : "";
    const number = line > 0 && kind !== "hunk" ? String(line) : "";
    return el("div", { class: `diff-row ${kind}` },
      address ? el("a", { class: "number", href: address, "aria-label": `Open line ${number}`, tabindex: "-1" }, number) : el("span", { class: "number" }, number),
      el("span", { class: "sign" }, signs[kind]),
      el("span", { class: "diff-text" }, kind === "hunk" && text === "" ? "⋯" : text.length > longest ? text.slice(0, longest) + "…" : text));
  }
  show();
  return el("div", null, node, more);
}
