// Runs in: side panel. What cures a problem, shown so that it can be used: a
// command with a button that copies it, words, or both.

import { button, el } from "../lib/dom.js";
import { fixParts } from "../lib/format.js";

/**
 * @param {string} fix "" shows nothing
 * @param {(text: string) => void} copy
 * @returns {HTMLElement | null}
 */
export function fixLine(fix, copy) {
  if (!fix) return null;
  const { command, words } = fixParts(fix);
  const said = words && el("p", { class: "fix-words", dir: "auto" }, words);
  if (!command) return said || null;
  const line = el("div", { class: "command" },
    el("code", { tabindex: "0", role: "group", "aria-label": "Command" }, command),
    button({ label: `Copy ${command}`, title: "Copy", icon: "copy", class: "button quiet icon small" }, () => copy(command)));
  return said ? el("div", { class: "fix" }, line, said) : line;
}
