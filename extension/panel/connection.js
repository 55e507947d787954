// Runs in: side panel. Whether there is a shim to talk to, and what to do when
// there is none. `judge` is pure; Connection asks.

import { connect, ShimError } from "../lib/shim.js";

/** @typedef {import("../lib/shim.js").Meta} Meta */
/** @typedef {import("../lib/shim.js").Shim} Shim */
/** @typedef {import("../lib/settings.js").OriginSettings} OriginSettings */
/** @typedef {import("../lib/settings.js").Pairing} Pairing */

/**
 * What the panel shows in place of a chat, or beside one. `ready` shows none.
 * @typedef {{kind: "ready"}
 *   | {kind: "loading", url: string}
 *   | {kind: "restricted"}
 *   | {kind: "off", origin: string}
 *   | {kind: "unpaired", origin: string}
 *   | {kind: "offer", origin: string, pairing: Pairing}
 *   | {kind: "down", url: string, message: string, fix: string}
 *   | {kind: "refused", message: string, fix: string}
 *   | {kind: "failed", message: string, fix: string}} State
 */

/**
 * @param {object} facts
 * @param {string | null} facts.origin null: a page that cannot be worked on
 * @param {OriginSettings | null} facts.settings null: the origin has none
 * @param {Pairing | null} facts.pairing one that waits for a site
 * @param {ShimError | null} facts.failure
 * @param {Meta | null} facts.meta
 * @returns {State}
 */
export function judge({ origin, settings, pairing, failure, meta }) {
  if (origin === null) return { kind: "restricted" };
  if (settings && !settings.enabled) return { kind: "off", origin };
  if (!settings?.token) return pairing ? { kind: "offer", origin, pairing } : { kind: "unpaired", origin };
  if (failure) {
    const { message, fix, code } = failure;
    // Paired anew, perhaps because it listens elsewhere now.
    if (pairing && (code === "unauthorized" || isDown(failure))) return { kind: "offer", origin, pairing };
    if (code === "unauthorized") return { kind: "refused", message, fix };
    if (isDown(failure)) return { kind: "down", url: settings.shimUrl, message, fix };
    return { kind: "failed", message, fix };
  }
  return meta ? { kind: "ready" } : { kind: "loading", url: settings.shimUrl };
}

/** @param {ShimError} failure */
const isDown = ({ code }) => code === "unreachable" || code === "not_a_shim" || code === "silent";

/** In ms: how often to look for a shim that is gone, for one that is there, for agents that have not answered. */
const every = { down: 1_500, up: 15_000, pending: 3_000 };

/** One shim, watched while the panel is seen. */
export class Connection {
  /** @type {Shim | null} */
  shim = null;
  /** @type {Meta | null} */
  meta = null;
  /** @type {ShimError | null} */
  failure = null;

  #where = "";
  #seen = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** Answers to questions of an older shim are not heard. */
  #turn = 0;

  /** @param {() => void} changed */
  constructor(changed) {
    this.changed = changed;
  }

  /**
   * @param {OriginSettings | null} settings null, or without a token: no shim
   */
  configure(settings) {
    const where = settings?.enabled && settings.token ? `${settings.shimUrl} ${settings.token}` : "";
    if (where === this.#where) return;
    this.#where = where;
    this.#turn++;
    clearTimeout(this.#timer);
    this.shim = settings && where ? connect(settings) : null;
    this.meta = null;
    this.failure = null;
    if (this.shim) void this.ask();
  }

  /** @param {boolean} seen nobody looks: nothing is asked */
  setSeen(seen) {
    if (seen === this.#seen) return;
    this.#seen = seen;
    clearTimeout(this.#timer);
    if (seen && this.shim) this.#later(this.meta && !this.failure ? every.up : 0);
  }

  /**
   * Asks what the shim works on.
   * @param {{refresh?: boolean}} [options] refresh: the agents are asked anew
   */
  async ask({ refresh = false } = {}) {
    const { shim } = this;
    const turn = ++this.#turn;
    clearTimeout(this.#timer);
    if (!shim) return;
    try {
      const meta = await shim.meta({ refresh });
      if (turn !== this.#turn) return;
      this.meta = meta;
      this.failure = null;
    } catch (err) {
      if (turn !== this.#turn) return;
      this.failure = asFailure(err);
    }
    this.changed();
    const pending = !this.failure && this.meta?.providers.some((p) => p.pending);
    this.#later(this.failure ? every.down : pending ? every.pending : every.up);
  }

  /** A call found the shim gone: look for it at once. @param {unknown} err */
  noticed(err) {
    if (err instanceof ShimError && isDown(err) && !this.failure) {
      this.failure = err;
      this.changed();
      this.#later(every.down);
    }
  }

  /** @param {number} ms */
  #later(ms) {
    clearTimeout(this.#timer);
    if (!this.#seen) return;
    this.#timer = setTimeout(() => void this.#look(), ms);
  }

  async #look() {
    const { shim } = this;
    const turn = this.#turn;
    if (!shim) return;
    if (!this.meta || this.meta.providers.some((p) => p.pending)) {
      if (!this.failure || !isDown(this.failure)) return this.ask();
    }
    try {
      await shim.health();
      if (turn !== this.#turn) return;
      if (this.failure) return this.ask(); // it is back, or may know the token now
      this.#later(every.up);
    } catch (err) {
      if (turn !== this.#turn) return;
      const before = this.failure?.code;
      this.failure = asFailure(err);
      if (before !== this.failure.code) this.changed();
      this.#later(every.down);
    }
  }

  close() {
    this.#turn++;
    clearTimeout(this.#timer);
    this.shim = null;
  }
}

/** @param {unknown} err */
function asFailure(err) {
  return err instanceof ShimError ? err : new ShimError({ status: 0, code: "internal", message: String(err) });
}
