// Runs in: side panel. The items of a chat as nodes: one view per item, kept
// by its key, and only what has changed is drawn.

import { button, el } from "../lib/dom.js";
import { cards } from "./cards/index.js";

/** @typedef {import("./store.js").Chat} Chat */
/** @typedef {import("./store.js").Item} Item */
/** @typedef {import("./cards/index.js").Around} Around */

/** So many items are nodes at first; more on demand. */
const most = 300;

export class Transcript {
  /** @type {Map<number, {item: Item, around: string, view: import("./cards/index.js").View<any>}>} */
  #views = new Map();
  #most = most;
  /** @type {{chat: Chat, details: boolean} | null} */
  #shown = null;

  /** @param {import("./cards/index.js").Desk} desk */
  constructor(desk) {
    this.desk = desk;
    this.node = el("div", { class: "items" });
    this.earlier = button({ label: "Show earlier", class: "link more" }, () => {
      this.#most += most;
      if (this.#shown) this.show(this.#shown.chat, this.#shown.details);
    });
  }

  /**
   * @param {Chat} chat
   * @param {boolean} details raw calls are shown
   */
  show(chat, details) {
    this.#shown = { chat, details };
    const items = chat.items.slice(-this.#most);
    const idle = chat.run === null;
    const lastUser = chat.items.findLast((item) => item.kind === "user")?.key;
    const lastKey = chat.items.at(-1)?.key;
    /** @type {HTMLElement[]} */
    const nodes = [];
    const keys = new Set(items.map((item) => item.key));
    for (const key of this.#views.keys()) if (!keys.has(key)) this.#views.delete(key);
    for (const item of items) {
      /** @type {Around} */
      const around = { live: !idle && item.key === lastKey, last: item.kind === "user" ? item.key === lastUser : item.key >= (lastUser ?? 0), idle, details };
      const same = `${around.live} ${around.last} ${idle} ${details}`;
      let known = this.#views.get(item.key);
      if (!known) {
        const view = cards[item.kind](this.desk);
        view.node.dataset.sw = "item";
        view.node.dataset.kind = item.kind;
        known = { item, around: "", view };
        this.#views.set(item.key, known);
      }
      if (known.item !== item || known.around !== same) {
        known.view.update(item, around);
        known.item = item;
        known.around = same;
      }
      nodes.push(known.view.node);
    }
    this.#place(nodes);
    if (chat.items.length > items.length) this.node.before(this.earlier);
    else this.earlier.remove();
  }

  /** Puts the nodes in order, and moves none that stands right. @param {HTMLElement[]} nodes */
  #place(nodes) {
    let at = this.node.firstChild;
    for (const node of nodes) {
      if (node === at) at = at.nextSibling;
      else this.node.insertBefore(node, at);
    }
    while (at) {
      const next = at.nextSibling;
      at.remove();
      at = next;
    }
  }
}
