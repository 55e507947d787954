// Runs in: side panel. Which code of an answer names an element of the page:
// one that was picked, by its names; or any, by a selector. Whether the page has
// it is asked when somebody wants to see it, and not before.

import { el } from "../lib/dom.js";

/** An element to show in the page; pick: "" or the pick that it was. @typedef {{selector: string, pick: string}} Target */

/** In characters. */
const most = 200;

/** A name in CSS. */
const name = String.raw`-?(?:[_a-zA-Z]|[^\x00-\x7f]|\\.)(?:[-\w]|[^\x00-\x7f]|\\.)*`;
const compound = new RegExp(String.raw`^(\*|[a-z][\w-]*)?((?:[.#]${name})*)((?:\[\])*)$`);
/** What an element is only now and then, and what is no element of its own: the element is meant. */
const states = /(?<!\\)(?:::[\w-]+(?:\([^()]*\))?|:(?:hover|active|focus|focus-within|focus-visible|visited|target|before|after)(?![\w-]))/g;
const pseudo = /(?<!\\):[\w-]+(?:\((?:[^()]|\([^()]*\))*\))?/g;
const attribute = /\[[^\]]*\]/g;
/** An attribute that code in brackets is not likely to be: with a value, with a hyphen, or one that elements just have. */
const tellingAttribute = /[=-]|^\[(?:disabled|checked|hidden|required|open|readonly|selected|multiple|href|src|role|tabindex)\]$/;
const svgTags = /^(?:circle|defs|ellipse|g|line|path|polygon|polyline|rect|svg|text|tspan|use)$/;

// What code has dots for, too.
const color = /^#(?:[\da-f]{3,4}){1,2}$/i;
const fileEnding = /\.(?:[cm]?[jt]sx?|s?css|sass|less|styl|html?|vue|svelte|astro|mdx?|json[5c]?|ya?ml|toml|ini|env|lock|txt|svg|png|jpe?g|gif|webp|avif|ico|woff2?|[to]tf|py|rb|go|rs|java|kt|swift|php|[chd]|cc|cpp|cs|sh|bash|zsh|sql|graphql|proto|xml|csv|log|pdf|map|test|spec|config|min|local|example|exe|zip|gz|wasm|snap|ejs|hbs|pug|twig|erb)$/;
const dotFile = /^\.(?:env|git\w*|\w+rc|\w+ignore|vscode|idea|husky|editorconfig|DS_Store|htaccess)\b/;

/**
 * A selector that code is likely to be, without states like :hover; "" for
 * none. The name of a tag alone is none.
 * @param {string} code
 * @returns {string}
 */
export function selectorOf(code) {
  if (code.length > most || !/[.#[]/.test(code)) return "";
  const selector = code.replace(states, "");
  let telling = false;
  const bare = selector.replace(pseudo, "").replace(attribute, (found) => {
    telling ||= tellingAttribute.test(found);
    return "[]";
  });
  for (const part of bare.trim().split(/\s*[\s>+~,]\s*/)) {
    const [, tag = "", names = ""] = compound.exec(part) ?? [];
    if (tag === "" && names === "" && !part.startsWith("[]")) return "";
    if (tag !== "" && tag !== "*" && !isTag(tag)) return "";
    if (names !== "" && isCode(tag, names)) return "";
    telling ||= names !== "";
  }
  return telling && parses(selector) ? selector : "";
}

/** @param {string} tag */
function isTag(tag) {
  return svgTags.test(tag) || !(document.createElement(tag) instanceof HTMLUnknownElement);
}

/** Whether classes or ids are rather a file, a colour, a property. @param {string} tag @param {string} names ".a.b" */
function isCode(tag, names) {
  const [first] = names.slice(1).split(/[.#]/);
  if (fileEnding.test(names)) return true;
  if (tag === "") return color.test(names) || dotFile.test(names) || first in Array.prototype || first in Promise.prototype;
  return names[0] === "." && first in document.createElement(tag);
}

/** @param {string} selector */
function parses(selector) {
  try {
    document.createDocumentFragment().querySelector(selector);
    return true;
  } catch {
    return false;
  }
}

/**
 * What an answer may call a picked element. Its tag alone is no name.
 * @param {import("./chips.js").Capture} capture
 * @returns {string[]}
 */
export function namesOf({ tag, id, className, attrs, component, pasted }) {
  if (pasted === true) return [];
  /** @type {string[]} */
  const names = [];
  const classes = typeof className === "string" ? className.trim().split(/\s+/).filter(Boolean) : [];
  if (classes.length > 0) names.push(...classes.map((one) => "." + one), `${tag}.${classes[0]}`, tag + classes.map((one) => "." + one).join(""));
  if (typeof id === "string" && id !== "") names.push("#" + id, `${tag}#${id}`);
  const testId = /** @type {Record<string, unknown> | undefined} */ (attrs)?.["data-testid"];
  if (typeof testId === "string") names.push(`[data-testid="${testId}"]`, `[data-testid='${testId}']`, `[data-testid=${testId}]`);
  const made = /** @type {{name?: unknown} | null | undefined} */ (component)?.name;
  if (typeof made === "string" && made !== "") names.push(made, `<${made}>`, `<${made} />`);
  return names;
}

/**
 * The element that code of an answer names.
 * @param {string} code
 * @param {import("./store.js").ChipView[]} picked
 * @returns {Target | null}
 */
export function targetOf(code, picked) {
  const known = picked.findLast((one) => one.names.includes(code));
  if (known) return { selector: known.path, pick: known.pick };
  const selector = selectorOf(code);
  return selector ? { selector, pick: "" } : null;
}

/**
 * A name that shows its element: while it is pointed at, and from a press on
 * until the next one, or until the focus goes.
 * @param {string} code
 * @param {Target} target
 * @param {{highlight: (target: Target | null, reveal?: boolean) => Promise<boolean>, announce: (text: string) => void}} page
 * @returns {HTMLElement}
 */
export function elementLink(code, target, { highlight, announce }) {
  let held = false;
  /** @param {boolean} now */
  const hold = (now) => {
    held = now;
    node.setAttribute("aria-pressed", String(now));
  };
  const release = () => {
    if (!held) return;
    hold(false);
    void highlight(null);
  };
  const node = el("button", { type: "button", class: "element-link", title: "Show it in the page", "aria-pressed": "false", on: {
    pointerenter: () => void highlight(target, false),
    pointerleave: () => { if (!held) void highlight(null); },
    click: async () => {
      if (held) return release();
      hold(true);
      if (await highlight(target, true)) return;
      hold(false);
      announce(`Nothing on this page is ${code} now.`);
    },
    blur: release,
    keydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Escape" || !held) return;
      event.stopPropagation();
      release();
    },
  } }, el("code", null, code));
  return node;
}
