// Runs in: side panel. The agent's thinking: one line, and all of it on demand.

import { el, icon } from "../../lib/dom.js";
import { oneLine } from "../../lib/format.js";

/** @param {import("./index.js").Desk} _desk @returns {import("./index.js").View<import("../store.js").ThinkingItem>} */
export function thinkingCard(_desk) {
  const line = el("span", { class: "cut", dir: "auto" });
  const word = el("span", { class: "thinking-word" });
  const body = el("div", { class: "thinking-text", dir: "auto", tabindex: "0", role: "group", "aria-label": "Thinking" });
  const node = el("details", { class: "thinking" }, el("summary", null, icon("chevron"), word, line), body);
  let text = "";
  const show = () => { if (node.open) body.textContent = text.trim(); };
  node.addEventListener("toggle", show);
  return {
    node,
    update(item, { live }) {
      text = item.text;
      word.textContent = live ? "Thinking" : "Thought";
      node.classList.toggle("live", live);
      // While it goes on, the line that is being written; then what it began with.
      line.textContent = oneLine(live ? lastLine(text) : text.trimStart(), 120);
      show();
    },
  };
}

/** @param {string} text */
function lastLine(text) {
  const end = text.slice(-600).trimEnd();
  return end.slice(end.lastIndexOf("\n") + 1);
}
