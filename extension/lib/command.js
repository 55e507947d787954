// Runs in: options, confirm page. A command for the terminal, to be copied.

import { button, el, icon } from "./dom.js";

const shownMs = 2_000;

/** @param {string} text */
export function command(text) {
  const said = el("span", { class: "visually-hidden", role: "status" });
  const copy = button({ label: `Copy ${text}`, icon: "copy", class: "button quiet icon", title: "Copy" }, async () => {
    await navigator.clipboard.writeText(text);
    copy.replaceChildren(icon("check"));
    said.textContent = "Copied";
    setTimeout(() => {
      copy.replaceChildren(icon("copy"));
      said.textContent = "";
    }, shownMs);
  });
  return el("div", { class: "command" }, el("code", null, text), copy, said);
}
