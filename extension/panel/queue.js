// Runs in: side panel. Messages that wait for the run that is going on.

import { button, el, fill } from "../lib/dom.js";
import { plural } from "../lib/format.js";

/** @typedef {{id: number, text: string, chips: import("./chips.js").Chip[]}} Message */

/**
 * @typedef {object} QueueActions
 * @property {(message: Message) => void} edit takes it back into the composer
 * @property {(message: Message) => void} remove
 * @property {() => void} sendNow
 */

/**
 * @param {HTMLElement} node
 * @param {Message[]} queue
 * @param {string} waitsFor why they wait; "" when they wait for the user
 * @param {QueueActions} actions
 */
export function showQueue(node, queue, waitsFor, actions) {
  node.hidden = queue.length === 0;
  if (queue.length === 0) return node.replaceChildren();
  fill(node,
    el("div", { class: "queue-head" },
      el("h2", null, plural(queue.length, "message waits", "messages wait")),
      waitsFor ? el("span", { class: "muted cut" }, waitsFor) : button({ label: "Send now", class: "link" }, actions.sendNow)),
    el("ol", null, queue.map((message) => el("li", { data: { sw: "queued" } },
      el("span", { class: "cut", dir: "auto", title: message.text }, message.text || plural(message.chips.length, "picture")),
      message.chips.length > 0 && message.text && el("span", { class: "tag" }, `+${message.chips.length}`),
      button({ label: "Edit this message", icon: "edit", class: "button quiet icon small" }, () => actions.edit(message)),
      button({ label: "Remove this message", icon: "close", class: "button quiet icon small" }, () => actions.remove(message))))));
}
