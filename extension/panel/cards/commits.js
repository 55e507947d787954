// Runs in: side panel. The end of a chat that rests: what of it waits to be
// committed, or its commits, which can be made one, and what became of that.

import { button, el, fill, icon } from "../../lib/dom.js";
import { oneLine, plural } from "../../lib/format.js";
import { fixLine } from "../fix.js";
import { committed, corrected, together, waiting } from "../store.js";

/** @typedef {import("../store.js").Chat} Chat */
/** @typedef {import("../store.js").ChangeItem} ChangeItem */
/** @typedef {import("../store.js").CommitsView} CommitsView */
/** @typedef {import("../../lib/shim.js").ShimError} ShimError */
/** @typedef {import("../../lib/shim.js").Shim} Shim */
/** @typedef {"squash" | "commit"} What can be done with the commits of a chat */

/** So many files are named at most. */
const most = 5;

export class CommitsCard {
  /**
   * @param {(what: What, runs: string[]) => void} act
   * @param {(text: string) => void} copy
   */
  constructor(act, copy) {
    this.act = act;
    this.copy = copy;
    this.node = el("section", { class: "commits", "aria-label": "Commits of this chat", hidden: true });
  }

  /**
   * @param {Chat} chat
   * @param {{can: string[], doing: What | ""}} around can: what the shim offers
   */
  show(chat, { can, doing }) {
    if (chat.run) {
      this.node.hidden = true;
      return;
    }
    const had = this.node.contains(document.activeElement);
    const waits = can.includes("commit") ? waiting(chat) : [];
    const { runs, commits } = committed(chat);
    const result = chat.commits ? said(chat.commits, this.copy) : null;
    if (waits.length > 0) fill(this.node, result, this.#waitingCard(waits, doing));
    else if (commits.length > 1 && can.includes("squash")) fill(this.node, result, el("div", { class: "row" }, button({ label: doing === "squash" ? "Making them one…" : `Make these ${commits.length} commits one`, icon: "commit", text: true, class: "button quiet", data: { sw: "squash" } }, () => this.act("squash", runs))));
    else fill(this.node, result);
    this.node.hidden = !this.node.hasChildNodes();
    // Whoever pressed a button that has gone is not sent back to the start.
    if (had && !this.node.contains(document.activeElement)) /** @type {HTMLElement | null} */ (this.node.querySelector(doing ? "button" : "[tabindex], button"))?.focus();
  }

  /** @param {ChangeItem[]} waits @param {What | ""} doing */
  #waitingCard(waits, doing) {
    const files = [...new Set(waits.flatMap((item) => item.files.filter((file) => !file.yours).map((file) => file.path)))];
    return el("div", { class: "card", data: { sw: "waiting" } },
      el("div", { class: "card-title" }, icon("commit"), el("h3", null, `${plural(waits.length, "change")} not committed`)),
      el("ul", { class: "in-the-way" }, files.slice(0, most).map((path) => el("li", null, el("code", { dir: "ltr" }, path))),
        files.length > most && el("li", { class: "muted" }, `and ${plural(files.length - most, "more file")}`)),
      el("div", { class: "row" }, button({ label: doing === "commit" ? "Committing…" : "Commit all", icon: "commit", text: true, class: "button", data: { sw: "commit-all" } }, () => this.act("commit", waits.map((item) => item.runId)))));
  }
}

/** @param {CommitsView} view @param {(text: string) => void} copy */
function said({ state, message, notes, fix }, copy) {
  return el("div", { class: `notice ${state === "done" ? "ok" : "warn"}`, tabindex: "-1", data: { sw: "commits-said" } },
    el("p", { dir: "auto" }, message), notes.length > 0 && el("ul", null, notes.map((note) => el("li", { dir: "auto" }, note))), fixLine(fix, copy));
}

/**
 * Asks the shim, and says what has become of the chat; it may have gone on
 * meanwhile.
 * @param {Shim} shim
 * @param {What} what
 * @param {string[]} runs
 * @returns {Promise<{view: CommitsView, apply: (chat: Chat) => Chat, error?: unknown}>}
 */
export async function carryOut(shim, what, runs) {
  try {
    if (what === "squash") {
      const made = await shim.squash(runs);
      return { view: done(`${plural(made.replaced.length, "commit")} are one now: ${made.sha}`), apply: (chat) => together(chat, made.runs, made) };
    }
    const made = await shim.commit(runs);
    const notes = [...made.notes.map((note) => sentence(note.message)), ...made.left.map((left) => `“${oneLine(left.prompt, 60)}” is not in it: ${left.reason}.`)];
    return { view: done(`Committed ${plural(made.runs.length, "change")} as ${made.sha}`, notes), apply: (chat) => together(chat, made.runs, made) };
  } catch (error) {
    const { message, fix, status } = /** @type {ShimError} */ (error);
    const nothing = what === "squash" ? "Nothing was changed." : "Nothing was committed.";
    const view = status === 0 ? { message: "The shim did not answer.", fix: "" } : { message: `${message} ${nothing}`, fix };
    const list = await shim.runs().catch(() => []);
    return { view: { state: "refused", notes: [], ...view }, apply: (chat) => corrected(chat, list), error };
  }
}

/** @param {string} message @param {string[]} [notes] @returns {CommitsView} */
const done = (message, notes = []) => ({ state: "done", message, notes, fix: "" });

/** @param {string} text */
const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?…]$/.test(text) ? "" : ".");
