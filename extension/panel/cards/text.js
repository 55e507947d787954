// Runs in: side panel. What the agent says.

import { el } from "../../lib/dom.js";
import { Markdown } from "../markdown.js";

/** @param {import("./index.js").Desk} desk @returns {import("./index.js").View<import("../store.js").TextItem>} */
export function textCard(desk) {
  const node = el("div", { class: "answer" });
  const markdown = new Markdown(node, desk);
  return { node, update: (item, { live, budget }) => markdown.update(item.text, !live, budget) };
}
