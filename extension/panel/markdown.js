// Runs in: side panel. Markdown as it streams in: each line is read once, when
// it is whole, and becomes nodes at the open end of the document; what was
// built before is never touched again. The line that is still being written is
// shown too, and taken back when more of it has come.
//
// The blocks of CommonMark that agents use, and tables. Indented code is not
// among them: agents indent for lists.

import { button, el, icon } from "../lib/dom.js";
import { plural } from "../lib/format.js";
import { inline } from "./inline.js";

/** @typedef {import("./inline.js").Links} Links */
/** @typedef {{links: Links, copy: (text: string) => void}} Options */

/** @typedef {{type: "root" | "quote", node: HTMLElement}} Box */
/** @typedef {{type: "list", node: HTMLElement, ordered: boolean}} List */
/** An item's text begins `indent` columns in, its mark stands at `mark`. @typedef {{type: "item", node: HTMLElement, indent: number, mark: number}} ListItem */
/** @typedef {Box | List | ListItem} Container */

/** `drawn` characters of it are drawn for good, `rest` are the nodes behind them. @typedef {{type: "text", node: HTMLElement, lines: string[], drawn: number, rest: ChildNode[]}} Paragraph */
/**
 * What is long shows its first lines, and the rest on demand: `shown` of
 * `lines` are nodes, and `room` may be.
 * @typedef {{lines: string[], shown: number, room: number, more: HTMLButtonElement | null}} Long
 */
/** Its text stands in pieces in `code`; `text` is the last one. @typedef {Long & {type: "fence", code: HTMLElement, text: Text, close: RegExp, indent: number}} Fence */
/** `body` is that of the last one of the tables in `node`. @typedef {Long & {type: "table", node: HTMLElement, body: HTMLElement, names: string[], aligns: string[]}} Table */
/** What may still be done in this call, in characters; whoever draws takes from it. @typedef {{left: number}} Budget */
/** @typedef {Paragraph | Fence | Table} Leaf */

const patterns = {
  fence: /^(\s*)(`{3,}(?!`)|~{3,}(?!~))([^`]*)$/,
  heading: /^\s{0,3}(#{1,6})(?=\s|$)/,
  rule: /^\s{0,3}([-*_])(?:\s*\1){2,}\s*$/,
  underline: /^\s{0,3}(={2,}|-{3,})\s*$/,
  quote: /^\s*>\s?/,
  item: /^(\s*)([-*+]|(\d{1,9})[.)])(\s+|$)/,
  /** What begins so is text, whatever follows. */
  words: /^(?:[^\s|:=\-*_`~#>+\d]|[*_]{1,3}[^\s*_]|`{1,2}[^`]|\d{1,9}[^\d.)])/,
  delimiterRow: /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/,
};

/** More containers in each other are text: a browser runs out of stack when it lays out thousands. */
const deepest = 60;
/** In characters: no longer line is taken for a table's row; of longer text only the end is drawn again; a longer line of code is cut. */
const longest = { row: 2_000, piece: 2_000, code: 5_000 };
/** So many rows of a table, and lines of code, are nodes at first, and with each press of the button. */
const most = { rows: 200, lines: 400 };
/** What a line costs beside its characters: a short one makes nodes, too. */
const lineCost = 40;

export class Markdown {
  /** @type {Container[]} from the root to the innermost that is open; replaced, never changed */
  #stack;
  /** @type {Leaf | null} */
  #leaf = null;
  #text = "";
  /** Up to here whole lines have been read. */
  #read = 0;
  /** @type {Set<Paragraph>} whose text is to be drawn */
  #dirty = new Set();
  /** @type {Set<Fence | Table>} that have got another length */
  #longer = new Set();
  /** @type {(() => void)[] | null} how to take the unfinished line back; null while whole ones are read */
  #log = null;
  /** @type {(() => void) | null} */
  #takeBack = null;
  /** @type {{paragraph: Paragraph, from: number} | null} the paragraph that the unfinished line stands in for good, and where in the text it begins */
  #growing = null;

  /**
   * @param {HTMLElement} root
   * @param {Options} options
   */
  constructor(root, options) {
    this.root = root;
    this.options = options;
    this.#stack = [{ type: "root", node: root }];
  }

  /**
   * Shows this text. What was shown before must be its beginning, else all is
   * built anew.
   * @param {string} text
   * @param {boolean} [ended] nothing comes behind it
   * @param {Budget} [budget] what is read and drawn is taken from it
   * @returns {boolean} whether there is more to do, in a further call
   */
  update(text, ended = false, budget = { left: Infinity }) {
    if (text.length < this.#text.length || !text.startsWith(this.#text.slice(-64), Math.max(0, this.#text.length - 64))) this.#reset();
    this.#text = text;
    if (!this.#grow(text)) {
      this.#takeBack?.();
      this.#takeBack = null;
    }
    // What is half drawn comes first.
    const ready = this.#draw(budget, true);
    let end = text.indexOf("\n", this.#read);
    for (; ready && end >= 0 && budget.left > 0; end = text.indexOf("\n", this.#read)) {
      const line = text.slice(this.#read, end);
      this.#read = end + 1;
      this.#line(line);
      budget.left -= line.length + lineCost;
    }
    const rest = this.#growing || end >= 0 ? "" : text.slice(this.#read);
    if (rest && ended) {
      this.#read = text.length;
      this.#line(rest);
    } else if (rest) {
      this.#unfinished(rest);
    }
    const drawn = this.#draw(budget);
    for (const long of this.#longer) this.#offerMore(long);
    this.#longer.clear();
    return end >= 0 || !drawn;
  }

  /**
   * Draws the paragraphs that have changed.
   * @param {Budget} budget
   * @param {boolean} [begun] only those of which a part is drawn
   * @returns {boolean} whether these are drawn to their end
   */
  #draw(budget, begun = false) {
    let all = true;
    for (const paragraph of this.#dirty) {
      if (begun && paragraph.drawn === 0) continue;
      if (draw(paragraph, this.options.links, budget)) this.#dirty.delete(paragraph);
      else all = false;
    }
    return all;
  }

  /**
   * A line that can only be more of a paragraph is not taken back: it grows.
   * @param {string} text
   * @returns {boolean} whether there was one
   */
  #grow(text) {
    if (!this.#growing) return false;
    const { paragraph, from } = this.#growing;
    const end = text.indexOf("\n", this.#read);
    paragraph.lines[paragraph.lines.length - 1] = text.slice(from, end < 0 ? undefined : end).replace(/\r$/, "");
    this.#dirty.add(paragraph);
    if (end >= 0) {
      this.#read = end + 1;
      this.#growing = null;
      this.#takeBack = null;
    }
    return true;
  }

  #reset() {
    this.#stack = [{ type: "root", node: this.root }];
    this.#leaf = null;
    this.#text = "";
    this.#read = 0;
    this.#takeBack = null;
    this.#growing = null;
    this.#dirty.clear();
    this.root.replaceChildren();
  }

  /** Shows a line that may go on. @param {string} line */
  #unfinished(line) {
    // The dashes under a table's head are not worth a look.
    if (this.#leaf?.type === "text" && /^[\s|:-]+$/.test(line) && this.#leaf.lines.at(-1)?.includes("|")) return;
    const stack = this.#stack;
    const leaf = this.#leaf;
    /** @type {(() => void)[]} */
    const log = this.#log = [];
    this.#line(line);
    this.#log = null;
    const words = this.#leaf?.type === "text" ? this.#leaf.lines.at(-1) : "";
    if (this.#leaf?.type === "text" && words && (patterns.words.test(words) || words.length > longest.row) && line.endsWith(words)) {
      this.#growing = { paragraph: this.#leaf, from: this.#text.length - words.length };
    }
    this.#takeBack = () => {
      for (const back of log.reverse()) back();
      this.#stack = stack;
      this.#leaf = leaf;
    };
  }

  /** @param {string} raw */
  #line(raw) {
    let rest = raw.replace(/\r$/, "").replace(/^[\t ]+/, (space) => space.replaceAll("\t", "    "));
    let matched = 1;
    for (; matched < this.#stack.length; matched++) {
      const inner = continued(this.#stack[matched], rest);
      if (inner === null) break;
      rest = inner;
    }
    const leaf = this.#leaf;
    const whole = matched === this.#stack.length;
    if (leaf?.type === "fence") {
      if (whole) return this.#code(leaf, rest);
      if (rest.trim() === "") return this.#code(leaf, ""); // a blank line belongs to an unfinished list
    }
    const blank = rest.trim() === "";
    if (!whole && leaf?.type === "text" && !blank && !begins(rest)) return this.#more(leaf, rest); // a lazy line
    if (!whole) {
      this.#stack = this.#stack.slice(0, matched);
      this.#leaf = null;
    }
    this.#block(rest);
  }

  /** Reads what a line holds inside its containers. @param {string} line */
  #block(line) {
    let rest = line;
    for (;;) {
      if (rest.trim() === "") {
        this.#leaf = null;
        return;
      }
      if (this.#rows(rest) || this.#fence(rest) || this.#heading(rest)) return;
      const deep = this.#stack.length > deepest;
      const quote = !deep && patterns.quote.exec(rest);
      if (quote) {
        this.#open({ type: "quote", node: el("blockquote", null) });
        rest = rest.slice(quote[0].length);
        continue;
      }
      const item = !deep && patterns.item.exec(rest);
      if (item && !(this.#leaf?.type === "text" && (rest.trim() === item[2] || (item[3] && Number(item[3]) !== 1)))) {
        rest = this.#item(rest, item);
        continue;
      }
      return this.#words(rest);
    }
  }

  /** @param {string} text */
  #words(text) {
    if (this.#leaf?.type === "text") return this.#more(this.#leaf, text);
    const paragraph = words(el("p", { dir: this.#inList() ? null : "auto" }));
    this.#attach(paragraph.node);
    this.#leaf = paragraph;
    this.#more(paragraph, text);
  }

  #inList() {
    return this.#stack.some((container) => container.type === "list");
  }

  /** @param {Paragraph} paragraph @param {string} text */
  #more(paragraph, text) {
    paragraph.lines.push(text.trimStart());
    this.#dirty.add(paragraph);
    this.#log?.push(() => {
      paragraph.lines.pop();
      this.#dirty.add(paragraph);
    });
  }

  /** A heading or a rule. @param {string} line @returns {boolean} */
  #heading(line) {
    const leaf = this.#leaf;
    const under = leaf?.type === "text" && patterns.underline.exec(line);
    if (leaf?.type === "text" && under) {
      const heading = title(under[1][0] === "=" ? 1 : 2);
      this.#replace(leaf, heading);
      this.#dirty.add(words(heading, ...leaf.lines));
      this.#leaf = null;
      return true;
    }
    const m = patterns.heading.exec(line);
    if (m) {
      const heading = title(m[1].length);
      this.#attach(heading);
      this.#dirty.add(words(heading, line.slice(m[0].length).trim().replace(/(^|\s)#+$/, "")));
      this.#leaf = null;
      return true;
    }
    if (!patterns.rule.test(line)) return false;
    this.#attach(el("hr", null));
    this.#leaf = null;
    return true;
  }

  /** A list item; returns what stands in it. @param {string} line @param {RegExpExecArray} m */
  #item(line, m) {
    const [all, before, mark, number, after] = m;
    const ordered = number !== undefined;
    let list = this.#stack[this.#stack.length - 1];
    if (list.type !== "list" || list.ordered !== ordered) {
      // The outermost list has the direction of its text, and all in it has that.
      list = { type: "list", ordered, node: el(ordered ? "ol" : "ul", { dir: this.#inList() ? null : "auto", start: ordered && Number(number) !== 1 ? Number(number) : null }) };
      this.#open(list);
    }
    const space = after.length > 4 || after === "" ? 1 : after.length;
    const node = el("li", null);
    this.#open({ type: "item", node, indent: before.length + mark.length + space, mark: before.length });
    return line.slice(Math.min(all.length, before.length + mark.length + space));
  }

  /** A fence that begins. @param {string} line @returns {boolean} */
  #fence(line) {
    const m = patterns.fence.exec(line);
    if (!m) return false;
    const language = /^[\w+#.-]{1,30}/.exec(m[3].trim())?.[0] ?? "";
    const text = document.createTextNode("");
    const code = el("code", null, el("div", null, text));
    /** @type {string[]} */
    const lines = [];
    const name = language ? `Code, ${language}` : "Code";
    this.#attach(el("div", { class: "code" },
      el("div", { class: "code-head" }, el("span", { class: "code-language" }, language || "code"),
        button({ label: "Copy the code", icon: "copy", class: "button quiet icon small" }, () => this.options.copy(lines.join("\n")))),
      el("pre", { tabindex: "0", role: "group", "aria-label": name, dir: "ltr" }, code)));
    this.#leaf = {
      type: "fence", code, text, lines, shown: 0, room: most.lines, more: null,
      indent: m[1].length, close: new RegExp(`^\\s*${m[2][0]}{${m[2].length},}\\s*$`),
    };
    return true;
  }

  /** A line in a fence, or the end of it. @param {Fence} fence @param {string} line */
  #code(fence, line) {
    if (fence.close.test(line)) {
      this.#leaf = null;
      return;
    }
    // While it may still become the end, it is not shown.
    if (this.#log && /^\s*[`~]+$/.test(line)) return;
    this.#add(fence, line.slice(Math.min(fence.indent, line.length - line.trimStart().length)));
  }

  /** A further line of what may be long. @param {Fence | Table} long @param {string} line */
  #add(long, line) {
    long.lines.push(line);
    this.#log?.push(() => {
      long.lines.pop();
      this.#longer.add(long);
    });
    if (long.shown < long.room) this.#showLine(long);
    else this.#longer.add(long);
  }

  /** Shows the next line of those it has. @param {Fence | Table} long */
  #showLine(long) {
    const line = long.lines[long.shown++];
    this.#log?.push(() => long.shown--);
    if (long.type === "fence") return this.#showCode(long, line);
    const row = tableRow("td", cells(line), long.aligns, this.options.links);
    long.body.append(row);
    this.#log?.push(() => row.remove());
  }

  /** @param {Fence} fence @param {string} whole */
  #showCode(fence, whole) {
    const line = whole.length <= longest.code ? whole : `${whole.slice(0, longest.code)}… (${whole.length - longest.code} more characters in a copy)`;
    const { text } = fence;
    const at = text.length;
    if (at > 2 * longest.piece) {
      const piece = el("div", null, fence.text = document.createTextNode(line));
      fence.code.append(piece);
      this.#log?.push(() => {
        piece.remove();
        fence.text = text;
      });
      return;
    }
    // A line feed stands before each line but the first; a blank first line is one, too.
    text.appendData((fence.shown > 1 ? "\n" : "") + line);
    this.#log?.push(() => text.deleteData(at, text.length - at));
  }

  /** A button for what is not shown, while there is something. @param {Fence | Table} long */
  #offerMore(long) {
    const left = long.lines.length - long.shown;
    if (left === 0) {
      long.more?.remove();
      long.more = null;
      return;
    }
    const [step, what] = long.type === "fence" ? [most.lines, "line"] : [most.rows, "row"];
    if (!long.more) {
      long.more = button({ label: "", class: "link more" }, () => {
        // The line that is being written is among them.
        if (!this.#growing) {
          this.#takeBack?.();
          this.#takeBack = null;
        }
        long.room += step;
        // A table of its own: the columns of a longer one are laid out anew with each row.
        if (long.type === "table") long.body = this.#table(long.node, long.names, long.aligns);
        while (long.shown < Math.min(long.room, long.lines.length)) this.#showLine(long);
        this.#offerMore(long);
      });
      if (long.type === "fence") long.code.parentElement?.after(long.more);
      else long.node.after(long.more);
    }
    long.more.textContent = `Show ${Math.min(step, left)} more of ${plural(left, what)}`;
  }

  /** @param {HTMLElement} node @param {string[]} names @param {string[]} aligns @returns {HTMLElement} its body */
  #table(node, names, aligns) {
    const body = el("tbody", null);
    node.append(el("table", null, el("thead", null, tableRow("th", names, aligns, this.options.links)), body));
    return body;
  }

  /** A line of a table, or the one that makes a paragraph's last line its head. @param {string} line @returns {boolean} */
  #rows(line) {
    const leaf = this.#leaf;
    if (leaf?.type === "table") {
      if (begins(line) || line.length > longest.row) {
        this.#leaf = null;
        return false;
      }
      this.#add(leaf, line);
      return true;
    }
    const head = leaf?.type === "text" ? leaf.lines.at(-1) : undefined;
    if (leaf?.type !== "text" || head === undefined || line.length > longest.row || !(head.includes("|") || line.includes("|")) || !patterns.delimiterRow.test(line)) return false;
    const names = cells(head);
    const marks = cells(line);
    if (names.length !== marks.length) return false;
    const aligns = marks.map((mark) => (mark.endsWith(":") ? (mark.startsWith(":") ? "center" : "end") : ""));
    const table = el("div", { class: "table", tabindex: "0", role: "group", "aria-label": "Table" });
    const body = this.#table(table, names, aligns);
    if (leaf.lines.length === 1) {
      this.#replace(leaf, table);
    } else {
      leaf.lines.pop();
      this.#dirty.add(leaf);
      this.#log?.push(() => {
        leaf.lines.push(head);
        this.#dirty.add(leaf);
      });
      this.#attach(table);
    }
    this.#leaf = { type: "table", node: table, body, names, aligns, lines: [], shown: 0, room: most.rows, more: null };
    return true;
  }

  /** Puts a block at the open end; a list that is open there ends. @param {HTMLElement} node */
  #attach(node) {
    const top = this.#stack[this.#stack.length - 1];
    if (top.type === "list") this.#stack = this.#stack.slice(0, -1);
    this.#stack[this.#stack.length - 1].node.append(node);
    this.#log?.push(() => node.remove());
  }

  /** @param {Container} container */
  #open(container) {
    this.#leaf = null;
    const top = this.#stack[this.#stack.length - 1];
    if (container.type === "item") {
      top.node.append(container.node);
      this.#log?.push(() => container.node.remove());
    } else {
      this.#attach(container.node);
    }
    this.#stack = [...this.#stack, container];
  }

  /** Something else stands where a paragraph stood. @param {Paragraph} old @param {HTMLElement} made */
  #replace(old, made) {
    old.node.replaceWith(made);
    this.#dirty.delete(old);
    this.#log?.push(() => {
      made.replaceWith(old.node);
      this.#dirty.add(old);
    });
  }
}

/** @param {HTMLElement} node @param {...string} lines @returns {Paragraph} */
function words(node, ...lines) {
  return { type: "text", node, lines, drawn: 0, rest: [] };
}

/**
 * Draws a paragraph's text. A very long one is drawn in pieces, each once and
 * a block of its own, which keeps what the browser lays out anew small;
 * emphasis does not reach from one piece into the next.
 * @param {Paragraph} paragraph
 * @param {Links} links
 * @param {Budget} budget
 * @returns {boolean} whether it is drawn to its end
 */
function draw(paragraph, links, budget) {
  const text = paragraph.lines.join("\n");
  if (text.length < paragraph.drawn) {
    paragraph.node.replaceChildren();
    paragraph.drawn = 0;
  }
  for (const node of paragraph.rest) node.remove();
  paragraph.rest = [];
  for (let pieces = 0; text.length - paragraph.drawn > longest.piece; pieces++) {
    if (pieces > 0 && budget.left <= 0) return false;
    const cut = cutBefore(text, paragraph.drawn, paragraph.drawn + longest.piece);
    paragraph.node.append(el("div", null, inline(text.slice(paragraph.drawn, cut), links)));
    budget.left -= cut - paragraph.drawn;
    paragraph.drawn = cut;
  }
  const task = paragraph.drawn === 0 && taskOf(paragraph.node, text);
  const rest = inline(text.slice(task ? 3 : paragraph.drawn), links);
  if (task) rest.prepend(task);
  paragraph.rest = paragraph.drawn > 0 ? [el("div", null, rest)] : [...rest.childNodes];
  paragraph.node.append(...paragraph.rest);
  return true;
}

/**
 * The box of a list item that is a task; null for another text.
 * @param {HTMLElement} node @param {string} text
 */
function taskOf(node, text) {
  const mark = /^\[([ xX])\] /.exec(text)?.[1];
  if (!mark || node.parentElement?.localName !== "li" || node !== node.parentElement.firstChild) return null;
  const done = mark !== " ";
  return el("span", { class: done ? "task done" : "task", role: "img", "aria-label": done ? "Done" : "To do" }, done && icon("check"));
}

/**
 * The best place to cut a text between two positions: behind a sentence, a
 * word, or right at the end.
 * @param {string} text
 * @param {number} from
 * @param {number} to
 */
function cutBefore(text, from, to) {
  const half = (from + to) / 2;
  for (const between of [". ", " "]) {
    const at = text.lastIndexOf(between, to - between.length);
    if (at > half) return at + between.length;
  }
  return to;
}

/**
 * What a line holds inside a container that goes on with it; null: it does not.
 * @param {Container} container
 * @param {string} line
 * @returns {string | null}
 */
function continued(container, line) {
  switch (container.type) {
    case "root": case "list": return line;
    case "quote": {
      const m = patterns.quote.exec(line);
      return m && line.slice(m[0].length);
    }
    case "item": {
      const space = line.length - line.trimStart().length;
      if (space === line.length) return "";
      if (space >= container.indent) return line.slice(container.indent);
      // Agents indent lists in lists by two, whatever the width of the mark.
      return space >= container.mark + 2 && patterns.item.test(line) ? line.slice(space) : null;
    }
  }
}

/** Whether a line cannot be the next one of a paragraph. @param {string} line */
function begins(line) {
  return patterns.fence.test(line) || patterns.heading.test(line) || patterns.rule.test(line) || patterns.quote.test(line) || patterns.item.test(line);
}

/**
 * Headings look their level and are all read as one level: an answer is one
 * section of the panel, and agents skip levels.
 * @param {number} level
 */
function title(level) {
  return el("div", { class: `heading heading-${Math.min(level, 4)}`, role: "heading", "aria-level": "3", dir: "auto" });
}

/**
 * The cells of a row; a | that is escaped or in a code span is text.
 * @param {string} line
 * @returns {string[]}
 */
function cells(line) {
  const row = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  /** @type {string[]} */
  const found = [];
  let from = 0;
  let code = false;
  for (let i = 0; i <= row.length; i++) {
    if (row[i] === "`") code = !code && row.includes("`", i + 1);
    if (i === row.length || (row[i] === "|" && !code && row[i - 1] !== "\\")) {
      found.push(row.slice(from, i).trim().replaceAll("\\|", "|"));
      from = i + 1;
    }
  }
  return found;
}

/**
 * @param {"th" | "td"} tag
 * @param {string[]} texts
 * @param {string[]} aligns one per column
 * @param {Links} links
 */
function tableRow(tag, texts, aligns, links) {
  return el("tr", null, aligns.map((align, i) =>
    el(tag, { dir: "auto", scope: tag === "th" ? "col" : null, class: align ? `align-${align}` : null }, inline(texts[i] ?? "", links))));
}
