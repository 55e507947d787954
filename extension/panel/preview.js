// Runs in: side panel. "What the agent receives": the exact prompt, before it
// is sent.

import { button, el, fill } from "../lib/dom.js";
import { bytes } from "../lib/format.js";

/** @typedef {import("../lib/shim.js").Preview} Preview */

/**
 * Opens the dialog and fills it when the answer is there.
 * @param {HTMLElement} over the view it belongs to
 * @param {Promise<Preview>} answer
 * @param {(text: string) => void} copy
 * @param {HTMLElement} back has the focus afterwards
 */
export async function showPreview(over, answer, copy, back) {
  const body = el("div", { class: "dialog-body" }, el("p", { class: "muted", role: "status" }, "Asking the shim…"));
  const dialog = el("dialog", { class: "preview", "aria-label": "What the agent receives", on: { close: () => {
    dialog.remove();
    back.focus();
  } } },
    el("div", { class: "dialog-head" }, el("h2", null, "What the agent receives"), button({ label: "Close", icon: "close", class: "button quiet icon" }, () => dialog.close())),
    body);
  over.append(dialog);
  dialog.showModal();
  try {
    const { system, prompt, attachments } = await answer;
    fill(body,
      part("Prompt", prompt, copy),
      attachments && attachments.length > 0 && el("section", null, el("h3", null, "Pictures"), el("ul", null, attachments.map(({ name, bytes: size }) => el("li", null, el("code", null, name), `, ${bytes(size)}`)))),
      part("System prompt", system, copy));
  } catch (err) {
    fill(body, el("p", { class: "danger-text", role: "alert" }, String(/** @type {Error} */ (err).message)));
  }
}

/** @param {string} title @param {string} text @param {(text: string) => void} copy */
function part(title, text, copy) {
  if (!text) return null;
  return el("section", null,
    el("div", { class: "part-head" }, el("h3", null, title), button({ label: `Copy: ${title}`, title: "Copy", icon: "copy", class: "button quiet icon small" }, () => copy(text))),
    el("pre", { tabindex: "0", role: "group", "aria-label": title, dir: "auto" }, text));
}
