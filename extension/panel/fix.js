// Runs in: side panel. What cures a problem, shown so that it can be used: a
// command with a button that copies it, or a sentence.

import { button, el } from "../lib/dom.js";

const command = /^(slidewrite|claude|codex|grok|git|npm|npx|brew|sudo|rm|export)( |$)/;

/**
 * @param {string} fix a command or a sentence; "" shows nothing
 * @param {(text: string) => void} copy
 * @returns {HTMLElement | null}
 */
export function fixLine(fix, copy) {
  if (!fix) return null;
  if (!command.test(fix)) return el("p", { class: "fix-words", dir: "auto" }, fix.charAt(0).toUpperCase() + fix.slice(1));
  return el("div", { class: "command" },
    el("code", { tabindex: "0", role: "group", "aria-label": "Command" }, fix),
    button({ label: `Copy ${fix}`, title: "Copy", icon: "copy", class: "button quiet icon small" }, () => copy(fix)));
}
