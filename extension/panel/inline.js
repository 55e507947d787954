// Runs in: side panel. The inside of a paragraph: text → nodes, by the rules
// of CommonMark that agents use: code spans, emphasis, strikethrough, links,
// autolinks, hard breaks, escapes. Time is linear in the length of the text,
// whatever it holds. Nothing is ever parsed as HTML, and no image is loaded.

import { el } from "../lib/dom.js";

/**
 * What surrounds a text: how a reference to a file, or to an element of the page, becomes something to press.
 * @typedef {object} Links
 * @property {(path: string, line: number, text: string) => Node} file
 * @property {(code: string) => Node | null} element null: it names no element of the page
 */

/** A run of * _ or ~ that may open or close, and where it stands in `parts`. @typedef {{char: string, left: number, opens: boolean, closes: boolean, at: number, size: number}} Delimiter */
/** A [ that may begin a link. @typedef {{at: number, image: boolean, delimiters: number}} Bracket */

/** More of these in one paragraph are text: what they cost grows with their square. */
const most = { delimiters: 1_000, brackets: 200 };

/** The third: a file with a line, from the beginning of a word on. */
const special = /[\\`*_~[\]!<\n]|https?:\/\/|(?<![\w/.@:-])(?:[\w.@-]{1,200}\/){0,40}[\w@-][\w.@-]{0,200}\.[A-Za-z][A-Za-z0-9]{0,11}:\d{1,7}(?::\d{1,7})?(?![\w:/])/g;
/** "example.com:443" is a machine. */
const machine = /^[\w.-]+\.(?:com|org|net|io|dev|app|local|test|example):/;
const punctuation = /[!-/:-@[-`{-~\p{P}\p{S}]/u;

/**
 * @param {string} text
 * @param {Links} links
 * @returns {DocumentFragment}
 */
export function inline(text, links) {
  return new Inline(text, links).parse();
}

class Inline {
  /** @type {(Node | string)[]} what has been read, flat */
  parts = [];
  /** @type {Delimiter[]} */
  delimiters = [];
  /** @type {Bracket[]} */
  brackets = [];
  /** @type {Map<number, number>} code spans: where the next run of so many backticks cannot be found from */
  noFence = new Map();
  noAngle = false;

  /** @param {string} text @param {Links} links */
  constructor(text, links) {
    this.text = text;
    this.links = links;
  }

  parse() {
    const { text } = this;
    let at = 0;
    special.lastIndex = 0;
    for (let m = special.exec(text); m; m = special.exec(text)) {
      if (m.index > at) this.parts.push(text.slice(at, m.index));
      at = this.read(m[0], m.index);
      special.lastIndex = at;
    }
    if (at < text.length) this.parts.push(text.slice(at));
    this.emphasise(0);
    return fragment(this.parts);
  }

  /**
   * Reads what begins at a special character and says where it ends.
   * @param {string} what
   * @param {number} at
   * @returns {number}
   */
  read(what, at) {
    const { text, parts } = this;
    switch (what) {
      case "\\": {
        const next = text[at + 1];
        if (next === "\n") return this.put(el("br", null), at + 2);
        if (next && /[!-/:-@[-`{-~]/.test(next)) return this.put(next, at + 2);
        return this.put("\\", at + 1);
      }
      case "`": return this.code(at);
      case "*": case "_": case "~": return this.delimiter(what, at);
      case "[":
        return this.bracket("[", at);
      case "!":
        return text[at + 1] === "[" ? this.bracket("![", at) : this.put("!", at + 1);
      case "]": return this.link(at);
      case "<": return this.angle(at);
      case "\n": {
        const last = parts.at(-1);
        const hard = typeof last === "string" && / {2,}$/.test(last);
        if (typeof last === "string") parts[parts.length - 1] = last.trimEnd();
        return this.put(hard ? el("br", null) : "\n", at + 1);
      }
      case "http://": case "https://": return this.bare(at);
      default: return this.place(what, at);
    }
  }

  /** @param {Node | string} part @param {number} end */
  put(part, end) {
    this.parts.push(part);
    return end;
  }

  /** A code span, or backticks that are none. @param {number} at */
  code(at) {
    const { text } = this;
    let open = at;
    while (text[open] === "`") open++;
    const size = open - at;
    const none = this.noFence.get(size);
    if (none === undefined || none > open) {
      for (let i = text.indexOf("`", open); i >= 0;) {
        let end = i;
        while (text[end] === "`") end++;
        if (end - i === size) return this.put(this.span(text.slice(open, i)), end);
        i = text.indexOf("`", end);
      }
      this.noFence.set(size, open);
    }
    return this.put(text.slice(at, open), open);
  }

  /** @param {string} raw */
  span(raw) {
    let code = raw.replaceAll("\n", " ");
    if (code.startsWith(" ") && code.endsWith(" ") && code.trim()) code = code.slice(1, -1);
    const file = fileReference(code);
    if (file) return this.links.file(file.path, file.line, code);
    return this.links.element(code) ?? el("code", null, code);
  }

  /** A run of emphasis characters. @param {string} char @param {number} at */
  delimiter(char, at) {
    const { text } = this;
    let end = at;
    while (text[end] === char) end++;
    const size = end - at;
    const before = at === 0 ? " " : text[at - 1];
    const after = end === text.length ? " " : text[end];
    const leftFlanking = !/\s/.test(after) && (!punctuation.test(after) || /\s/.test(before) || punctuation.test(before));
    const rightFlanking = !/\s/.test(before) && (!punctuation.test(before) || /\s/.test(after) || punctuation.test(after));
    const opens = char === "_" ? leftFlanking && (!rightFlanking || punctuation.test(before)) : leftFlanking;
    const closes = char === "_" ? rightFlanking && (!leftFlanking || punctuation.test(after)) : rightFlanking;
    const usable = char !== "~" || size <= 2;
    if (usable && (opens || closes) && this.delimiters.length < most.delimiters) this.delimiters.push({ char, left: size, opens, closes, at: this.parts.length, size });
    return this.put(text.slice(at, end), end);
  }

  /** A bracket that may begin a link. @param {"[" | "!["} what @param {number} at */
  bracket(what, at) {
    if (this.brackets.length < most.brackets) this.brackets.push({ at: this.parts.length, image: what === "![", delimiters: this.delimiters.length });
    return this.put(what, at + what.length);
  }

  /** A ] that ends a link, or does not. @param {number} at */
  link(at) {
    const { text } = this;
    const bracket = this.brackets.pop();
    const target = bracket && /^\(\s*(?:<([^<>\n]*)>|([^\s()<]*(?:\([^\s()]*\)[^\s()<]*)*))(?:\s+(?:"[^"]*"|'[^']*'|\([^)]*\)))?\s*\)/.exec(text.slice(at + 1, at + 2_050));
    if (!bracket || !target) return this.put("]", at + 1);
    this.emphasise(bracket.delimiters);
    const inside = this.parts.splice(bracket.at).slice(1);
    const address = (target[1] ?? target[2]).replace(/\\([!-/:-@[-`{-~])/g, "$1");
    const content = fragment(inside);
    if (!bracket.image) this.brackets = this.brackets.filter((b) => b.image); // no link in a link
    this.parts.push(this.anchor(address, content, bracket.image));
    return at + 1 + target[0].length;
  }

  /**
   * @param {string} address
   * @param {DocumentFragment} content
   * @param {boolean} [image]
   * @returns {Node}
   */
  anchor(address, content, image = false) {
    const text = content.textContent ?? "";
    if (content.querySelector("a, button")) content = fragment([text]); // no link in a link
    const href = webAddress(address);
    if (href) {
      for (const pressed of content.querySelectorAll("a, button")) pressed.replaceWith(...pressed.childNodes); // nothing to press within a link
      return el("a", { href, target: "_blank", rel: "noopener noreferrer" }, image && !text ? "picture" : content);
    }
    const file = fileReference(address, true);
    if (file && !image) return this.links.file(file.path, file.line, text || address);
    return content.hasChildNodes() ? content : document.createTextNode(address);
  }

  /** <https://…>, or a < like any other. @param {number} at */
  angle(at) {
    const m = /^<((?:https?:\/\/|mailto:)[^\s<>]*)>/.exec(this.text.slice(at, at + 2_050));
    if (!m) return this.put("<", at + 1);
    return this.put(this.anchor(m[1], fragment([m[1].replace(/^mailto:/, "")])), at + m[0].length);
  }

  /** A web address in the text, without the punctuation behind it. @param {number} at */
  bare(at) {
    const m = /^https?:\/\/[^\s<>`"]+/.exec(this.text.slice(at, at + 2_050));
    const found = m ? m[0] : "";
    let [end, spare] = [found.length, found.split(")").length - found.split("(").length];
    while (end > 0 && ("?!.,:;*_~']".includes(found[end - 1]) || (found[end - 1] === ")" && spare-- > 0))) end--;
    const address = found.slice(0, end);
    if (!/^https?:\/\/./.test(address)) return this.put(this.text.slice(at, at + 4), at + 4);
    return this.put(this.anchor(address, fragment([address])), at + address.length);
  }

  /** A file with a line. @param {string} what @param {number} at */
  place(what, at) {
    const file = machine.test(what) ? null : fileReference(what);
    return this.put(file ? this.links.file(file.path, file.line, what) : what, at + what.length);
  }

  /**
   * Makes pairs of the delimiters from index `from` on, and forgets them.
   * CommonMark's procedure, with its memory of where no opener was found.
   * @param {number} from
   */
  emphasise(from) {
    /** @type {Record<string, number>} */
    const bottom = {};
    const stack = this.delimiters;
    /** @type {{first: number, last: number, tag: "em" | "strong" | "del"}[]} */
    const pairs = [];
    for (let c = from; c < stack.length; c++) {
      const closer = stack[c];
      while (closer.closes && closer.left > 0) {
        const memo = closer.char + closer.opens + (closer.size % 3);
        const low = bottom[memo] ?? from;
        let o = c - 1;
        while (o >= low && !(stack[o].left > 0 && stack[o].opens && stack[o].char === closer.char && fits(stack[o], closer))) o--;
        if (o < low) {
          bottom[memo] = c;
          break;
        }
        const opener = stack[o];
        const size = closer.char === "~" ? closer.left : Math.min(2, opener.left, closer.left);
        opener.left -= size;
        closer.left -= size;
        for (let between = o + 1; between < c; between++) stack[between].left = -Math.abs(stack[between].left); // they cannot pair any more
        pairs.push({ first: opener.at, last: closer.at, tag: closer.char === "~" ? "del" : size === 2 ? "strong" : "em" });
      }
    }
    for (const delimiter of stack.splice(from)) this.parts[delimiter.at] = delimiter.char.repeat(Math.abs(delimiter.left));
    for (const { first, last, tag } of pairs) this.wrap(first, last, tag);
  }

  /**
   * Puts what stands between two delimiters into an element. Slots stay where
   * they are, emptied, so that the positions of other pairs hold.
   * @param {number} first
   * @param {number} last
   * @param {"em" | "strong" | "del"} tag
   */
  wrap(first, last, tag) {
    const node = el(tag, null);
    for (let i = first + 1; i < last; i++) {
      if (this.parts[i] !== "") node.append(this.parts[i]);
      this.parts[i] = "";
    }
    this.parts[first + 1] = node;
  }
}

/** Whether two runs may pair; the "rule of three". @param {Delimiter} opener @param {Delimiter} closer */
function fits(opener, closer) {
  if (opener.char === "~") return opener.left === closer.left;
  return !((opener.closes || closer.opens) && (opener.size + closer.size) % 3 === 0 && (opener.size % 3 !== 0 || closer.size % 3 !== 0));
}

/** @param {(Node | string)[]} parts */
function fragment(parts) {
  const made = document.createDocumentFragment();
  let text = "";
  for (const part of parts) {
    if (typeof part === "string") {
      text += part;
      continue;
    }
    if (text) made.append(text);
    text = "";
    made.append(part);
  }
  if (text) made.append(text);
  return made;
}

/**
 * An address that a browser may open; null for every other scheme.
 * @param {string} address
 */
function webAddress(address) {
  if (!/^(https?:\/\/|mailto:)/i.test(address)) return null;
  try {
    return new URL(address).href;
  } catch {
    return null;
  }
}

/**
 * "src/App.tsx:12" as a file and a line. In a link's target the line may be
 * missing, or written #L12.
 * @param {string} text
 * @param {boolean} [target]
 * @returns {{path: string, line: number} | null}
 */
export function fileReference(text, target = false) {
  const m = /^((?:[A-Za-z]:)?[^\s:*?"<>|#]{0,900}?[^\s:*?"<>|#/]\.[A-Za-z0-9]{1,12})(?:(?::|#L)(\d{1,7}))?(?:[:-]\d{1,7})?$/.exec(text);
  if (!m || (!target && !m[2])) return null;
  return { path: m[1].replace(/^\.\//, ""), line: Number(m[2] ?? 1) };
}
