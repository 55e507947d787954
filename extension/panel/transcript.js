// Runs in: side panel. The items of a chat as nodes: one view per item, kept
// by its key, and only what has changed is drawn.

import { button, el } from "../lib/dom.js";
import { cards } from "./cards/index.js";
import { place } from "./place.js";

/** @typedef {import("./store.js").Chat} Chat */
/** @typedef {import("./store.js").Item} Item */
/** @typedef {import("./cards/index.js").Around} Around */

/** So many items are nodes at first, and so many more on demand; with all of them, what is farthest from the reader goes. */
const most = { page: 300, all: 600 };
/** In characters: what is drawn in one frame at first, at least and at most, and what an item counts for in it. */
const frame = { first: 2_000, least: 1_500, most: 6_000, item: 200 };
/** In ms: a frame that took longer is followed by a smaller one, one that took less by a larger one. */
const took = { long: 12, short: 5 };

export class Transcript {
  /** @type {Map<number, {item: Item, around: string, view: import("./cards/index.js").View<any>}>} */
  #views = new Map();
  #most = most.page;
  /** The key of the last item that is shown, when later ones are not. @type {number | null} */
  #until = null;
  /** @type {{chat: Chat, details: boolean} | null} */
  #shown = null;
  /** The next one that goes on by itself. */
  #frame = 0;
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
    this.earlier = button({ label: "Show earlier", class: "link more" }, () => this.back());
    this.later = button({ label: "Show later", class: "link more" }, () => this.#forth());
  }

  /**
   * Shows earlier items, in place of the last ones when there are many.
   * @param {() => void} [drawn] called after each frame
   */
  back(drawn) {
    const { items } = this.#shown?.chat ?? { items: [] };
    const end = this.#end(items);
    if (this.#most < most.all) this.#most += most.page;
    else if (end > most.all) this.#until = items[end - 1 - most.page].key;
    this.#again(drawn);
  }

  #forth() {
    const { items } = this.#shown?.chat ?? { items: [] };
    this.#until = items[this.#end(items) - 1 + most.page]?.key ?? null;
    this.#again();
  }

  /** Shows the newest items, and no more than at first. */
  latest() {
    this.#most = most.page;
    this.#until = null;
    this.#again();
  }

  /** Whether there are items before those that are shown. */
  get hasEarlier() {
    const { items } = this.#shown?.chat ?? { items: [] };
    return this.#end(items) > this.#most;
  }

  /** Where those that are shown end. @param {Item[]} items */
  #end(items) {
    const until = this.#until;
    return until === null ? items.length : items.findLastIndex((item) => item.key <= until) + 1;
  }

  /** Another chat comes: keys of items mean nothing from one chat to the next. */
  clear() {
    this.#views.clear();
    this.#most = most.page;
    this.#until = null;
    this.#shown = null;
  }

  /** @param {() => void} [drawn] */
  #again(drawn) {
    cancelAnimationFrame(this.#frame);
    if (this.#shown && this.show(this.#shown.chat, this.#shown.details, drawn)) this.#frame = requestAnimationFrame(() => this.#again(drawn));
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
    const end = this.#end(chat.items);
    const items = chat.items.slice(Math.max(0, end - this.#most), end);
    const idle = chat.run === null;
    const lastUser = chat.items.findLast((item) => item.kind === "user")?.key;
    const lastKey = chat.items.at(-1)?.key;
    const keys = new Set(items.map((item) => item.key));
    for (const key of this.#views.keys()) if (!keys.has(key)) this.#views.delete(key);
    let behind = false;
    // The newest first: that is where the reader is.
    for (const item of items.toReversed()) {
      const last = !this.readOnly && (item.kind === "user" ? item.key === lastUser : item.key >= (lastUser ?? 0));
      /** @type {Around} */
      const around = { live: !idle && item.key === lastKey, last, idle, details, budget };
      const same = `${around.live} ${last} ${idle} ${details}`;
      let known = this.#views.get(item.key);
      if (!known) {
        if (budget.left <= 0) {
          behind = true;
          continue;
        }
        const view = cards[item.kind](this.desk);
        view.node.dataset.sw = "item";
        view.node.dataset.kind = item.kind;
        known = { item, around: "", view };
        this.#views.set(item.key, known);
      }
      if (known.item !== item || known.around !== same) {
        budget.left -= frame.item;
        let unfinished = false;
        try {
          unfinished = known.view.update(item, around) === true;
        } catch (err) {
          // A shim of another version, or none: the rest of the chat is shown.
          console.warn("an item cannot be shown", item.kind, err);
          known.view.node.replaceChildren(el("p", { class: "muted" }, "This part cannot be shown."));
        }
        behind ||= unfinished;
        known.item = item;
        known.around = unfinished ? "" : same;
      }
    }
    place(this.node, items.flatMap((item) => this.#views.get(item.key)?.view.node ?? []));
    this.node.ariaBusy = String(behind);
    if (end > items.length) this.node.before(this.earlier);
    else this.earlier.remove();
    if (end < chat.items.length) this.node.after(this.later);
    else this.later.remove();
    return behind;
  }
}
