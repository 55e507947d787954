// Runs in: side panel. A tab's picker as the panel sees it: armed or not, what
// was picked, what went wrong. Talks to: worker (messages), the tab (highlight).

import { pass, send, watchName } from "../lib/messages.js";
import { mostChips } from "./chips.js";

/** @typedef {import("./chips.js").Capture} Capture */
/** Why picking did not work; `reload`: the tab has to be loaded anew; `quiet`: the user ended it elsewhere. @typedef {import("../lib/messages.js").Trouble} Trouble */

/**
 * @typedef {object} PickHost
 * @property {(capture: Capture) => boolean} add whether there was room
 * @property {(pick: string, patch: Capture, thumb: string) => void} more later findings about a pick
 * @property {() => number} chips how many there are
 * @property {() => void} changed
 * @property {(text: string, seen?: boolean) => void} announce seen: shown to those who see, too
 */

export class Picking {
  armed = false;
  /** @type {chrome.runtime.Port | null} */
  #port = null;
  /** @type {Trouble | null} */
  trouble = null;

  /** @param {number} tabId @param {PickHost} host */
  constructor(tabId, host) {
    this.tabId = tabId;
    this.host = host;
  }

  /** Picks that came while no panel listened. */
  async takeWaiting() {
    /** @type {import("../lib/messages.js").TakenPicks | null | undefined} */
    const kept = await send({ type: "sw-picks-take", tabId: this.tabId }).catch(() => null);
    if (!kept) return;
    for (const { pick, capture, thumb } of kept.waiting) {
      if (this.host.add({ ...capture, pick }) && thumb) this.host.more(pick, {}, thumb);
    }
    this.state(kept.armed);
    if (kept.trouble) this.failed(kept.trouble);
  }

  toggle() {
    if (this.armed) return void this.stop();
    this.trouble = null;
    const max = mostChips - this.host.chips();
    if (max <= 0) return this.host.announce(`No more than ${mostChips} elements and pictures go along with a message.`, true);
    send({ type: "sw-picker-start", tabId: this.tabId, max }).catch((err) => this.failed({ message: String(err.message), reload: false, quiet: false }));
    this.host.changed();
  }

  async stop() {
    this.armed = false;
    this.host.changed();
    await send({ type: "sw-picker-stop", tabId: this.tabId }).catch(() => {}); // it had ended, with the tab or by itself
    this.#watch();
  }

  /**
   * While it is armed the worker holds the other end: a panel that is closed
   * can tell nothing any more, and picking ends with it.
   */
  #watch() {
    if (!this.armed) {
      this.#port?.disconnect();
      this.#port = null;
    } else if (!this.#port) {
      this.#port = chrome.runtime.connect({ name: watchName(this.tabId) });
      this.#port.onDisconnect.addListener(() => {
        this.#port = null;
        if (!chrome.runtime.lastError) this.#watch(); // the worker was ended
      });
    }
  }

  /** The key of Shift+click, of which a page without the focus does not hear. @param {boolean} held */
  shift(held) {
    if (this.armed) void send({ type: "sw-picker-shift", tabId: this.tabId, held });
  }

  /** @param {boolean} armed */
  state(armed) {
    if (armed === this.armed) return;
    this.armed = armed;
    this.#watch();
    if (armed) this.host.announce("Pick elements in the page; Escape ends it");
    else if (this.host.chips() >= mostChips) this.host.announce(`Picking has ended: ${mostChips} elements and pictures go along with a message.`, true);
    this.host.changed();
  }

  /** @param {string} pick @param {Capture} capture @returns {boolean} it was taken */
  picked(pick, capture) {
    this.trouble = null;
    this.host.add({ ...capture, pick });
    return true;
  }

  /** @param {Trouble} trouble @returns {boolean} it was heard */
  failed(trouble) {
    this.armed = false;
    this.#watch();
    this.trouble = trouble;
    this.host.announce(trouble.message);
    this.host.changed();
    return true;
  }

  /**
   * Waits until all is known of these that will be, but no longer than that.
   * @param {import("./chips.js").Chip[]} chips
   * @param {number} most in ms
   */
  async settled(chips, most) {
    const names = chips.filter(({ capture }) => capture.pick && !capture.screenshotDataUrl).map(({ capture }) => String(capture.pick));
    if (names.length === 0) return;
    await Promise.race([send({ type: "sw-picks-settled", names }).catch(() => {}), new Promise((resolve) => setTimeout(resolve, most))]);
  }

  /**
   * Outlines an element in the page; null: none.
   * @param {import("./elements.js").Target | null} target
   * @param {boolean} [reveal] the page is scrolled to it
   * @returns {Promise<boolean>} whether it is there
   */
  async highlight(target, reveal = false) {
    /** @type {import("../lib/messages.js").Highlight} */
    const message = { type: "sw-highlight", selector: target?.selector ?? "", pick: target?.pick ?? "", reveal };
    const reply = await chrome.tabs.sendMessage(this.tabId, message).catch(() => null); // no content script there: nothing to outline
    return reply?.value === true;
  }
}

/**
 * What the worker tells about the picker of a tab, for the view of that tab.
 * @param {(tabId: number) => Picking | undefined} of
 * @returns {import("../lib/messages.js").Handlers}
 */
export function pickHandlers(of) {
  /** @param {number} tabId @param {(picking: Picking) => unknown} act */
  const mine = (tabId, act) => {
    const picking = of(tabId);
    return picking ? act(picking) : pass; // the panel of another window has it
  };
  return {
    "sw-picker-state": ({ tabId, armed }) => mine(tabId, (p) => p.state(armed)),
    "sw-element-picked": ({ tabId, pick, capture }) => mine(tabId, (p) => p.picked(pick, capture)),
    "sw-element-more": ({ tabId, pick, patch, thumb }) => mine(tabId, (p) => p.host.more(pick, patch, thumb)),
    "sw-picker-error": ({ tabId, message, reload, quiet }) => mine(tabId, (p) => p.failed({ message, reload, quiet })),
  };
}
