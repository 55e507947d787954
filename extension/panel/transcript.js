// Runs in: side panel. The items of a chat as nodes: one view per item, kept
// by its key, and only what has changed is drawn.

import { button, el } from "../lib/dom.js";
import { cards } from "./cards/index.js";
import { place } from "./place.js";

/** @typedef {import("./store.js").Chat} Chat */
/** @typedef {import("./store.js").Item} Item */
/** @typedef {import("./cards/index.js").Around} Around */

/** So many items are nodes at first; more on demand. */
const most = 300;
/** In characters: what is drawn in one frame at first, at least and at most, and what an item counts for in it. */
const frame = { first: 2_000, least: 500, most: 8_000, item: 200 };
/** In ms: a frame that took longer is followed by a smaller one, one that took less by a larger one. */
const took = { long: 10, short: 4 };

export class Transcript {
  /** @type {Map<number, {item: Item, around: string, view: import("./cards/index.js").View<any>}>} */
  #views = new Map();
  #most = most;
  /** @type {{chat: Chat, details: boolean} | null} */
  #shown = null;
  /** What is drawn in a frame: as much as this machine can, so that input is never kept waiting. */
  #pace = frame.first;

  /**
   * @param {import("./cards/index.js").Desk} desk
   * @param {{readOnly?: boolean}} [options] readOnly: nothing can be sent from it
   */
  constructor(desk, { readOnly = false } = {}) {
    this.desk = desk;
    this.readOnly = readOnly;
    this.node = el("div", { class: "items" });
    this.earlier = button({ label: "Show earlier", class: "link more" }, () => {
      this.#most += most;
      this.#again();
    });
  }

  /** @param {() => void} [drawn] */
  #again(drawn = () => {}) {
    if (this.#shown && this.show(this.#shown.chat, this.#shown.details, drawn)) requestAnimationFrame(() => this.#again(drawn));
  }

  /**
   * All of a chat, over as many frames as that takes.
   * @param {Chat} chat
   * @param {() => void} [drawn] called after each of them
   */
  showAll(chat, drawn = () => {}) {
    this.#shown = { chat, details: false };
    this.#again(drawn);
  }

  /** All of a chat at once. @param {Chat} chat */
  showNow(chat) {
    while (this.#draw(chat, false, { left: frame.most }));
  }

  /**
   * @param {Chat} chat
   * @param {boolean} details raw calls are shown
   * @param {() => void} [drawn] called when it is done
   * @returns {boolean} whether there is more to draw, in the next frame
   */
  show(chat, details, drawn = () => {}) {
    const began = performance.now();
    const budget = { left: this.#pace };
    const behind = this.#draw(chat, details, budget);
    drawn();
    if (budget.left < this.#pace) void this.node.offsetHeight; // now, and not later in the frame: it counts
    const time = performance.now() - began;
    // Only a frame that was full says how much fits.
    if (time > took.long) this.#pace = Math.max(frame.least, this.#pace / 2);
    else if (behind && time < took.short) this.#pace = Math.min(frame.most, this.#pace * 1.5);
    return behind;
  }

  /**
   * @param {Chat} chat
   * @param {boolean} details
   * @param {{left: number}} budget in characters
   * @returns {boolean} whether there is more to draw
   */
  #draw(chat, details, budget) {
    this.#shown = { chat, details };
    const items = chat.items.slice(-this.#most);
    const idle = chat.run === null;
    const lastUser = chat.items.findLast((item) => item.kind === "user")?.key;
    const lastKey = chat.items.at(-1)?.key;
    /** @type {HTMLElement[]} */
    const nodes = [];
    const keys = new Set(items.map((item) => item.key));
    for (const key of this.#views.keys()) if (!keys.has(key)) this.#views.delete(key);
    let behind = false;
    for (const item of items) {
      const last = !this.readOnly && (item.kind === "user" ? item.key === lastUser : item.key >= (lastUser ?? 0));
      /** @type {Around} */
      const around = { live: !idle && item.key === lastKey, last, idle, details, budget };
      const same = `${around.live} ${last} ${idle} ${details}`;
      if (budget.left <= 0 && !this.#views.has(item.key)) {
        behind = true;
        break;
      }
      let known = this.#views.get(item.key);
      if (!known) {
        const view = cards[item.kind](this.desk);
        view.node.dataset.sw = "item";
        view.node.dataset.kind = item.kind;
        known = { item, around: "", view };
        this.#views.set(item.key, known);
      }
      if (known.item !== item || known.around !== same) {
        budget.left -= frame.item;
        const unfinished = known.view.update(item, around) === true;
        behind ||= unfinished;
        known.item = item;
        known.around = unfinished ? "" : same;
      }
      nodes.push(known.view.node);
    }
    place(this.node, nodes);
    if (chat.items.length > items.length) this.node.before(this.earlier);
    else this.earlier.remove();
    return behind;
  }
}
