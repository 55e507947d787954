// Runs in: side panel. The sessions an agent has of this repository: a list
// with search, and the replay of one, read-only, a page at a time.

import { button, el, fill } from "../lib/dom.js";
import { day, hour, plural } from "../lib/format.js";
import { Follow } from "./follow.js";
import { emptyChat, reduce, undone } from "./store.js";
import { Transcript } from "./transcript.js";

/** @typedef {import("../lib/shim.js").Session} Session */
/** @typedef {import("../lib/shim.js").Shim} Shim */
/** @typedef {import("../lib/shim.js").Meta} Meta */
/** @typedef {import("../lib/shim.js").RunSummary} RunSummary */
/** @typedef {import("./store.js").Chat} Chat */

/**
 * @typedef {object} Options
 * @property {() => Shim | null} shim
 * @property {() => Meta | null} meta
 * @property {() => string} provider
 * @property {(text: string) => void} copy
 * @property {import("./cards/index.js").Desk} desk
 * @property {() => void} close
 * @property {(session: {id: string, provider: string, title: string}, replay: Chat) => void} resume
 */

/** So many events are a page; so many sessions are listed at once. */
const page = { events: 200, sessions: 100 };

export class HistoryView {
  /** @type {Session[]} */
  #sessions = [];
  #provider = "";
  #most = page.sessions;
  /** The one that is shown instead of the list. @type {Session | null} */
  #replayed = null;
  /** How far the list was scrolled. */
  #top = 0;
  /** Answers to older questions are not heard. */
  #turn = 0;

  /** @param {Options} options */
  constructor(options) {
    this.options = options;
    this.search = el("input", { class: "input", type: "search", placeholder: "Search", "aria-label": "Search the history", data: { sw: "history-search" }, on: { input: () => {
      this.#most = page.sessions;
      this.#top = 0;
      this.list();
    } } });
    this.providers = el("select", { class: "choice", "aria-label": "Agent", on: { change: () => {
      this.#provider = this.providers.value;
      void this.load();
    } } });
    this.body = el("div", { class: "history-body" });
    this.bar = el("div", { class: "history-bar" });
    this.node = el("main", { class: "history", "aria-label": "History", on: { keydown: (/** @type {KeyboardEvent} */ e) => {
      if (e.key !== "Escape") return;
      e.stopPropagation();
      options.close();
    } } }, this.bar, this.body);
  }

  /** Shows what was shown before; of the list, what it is now. */
  open() {
    this.#provider ||= this.options.provider();
    const known = this.options.meta()?.providers.filter((p) => p.enabled) ?? [];
    fill(this.providers, known.map((p) => el("option", { value: p.id }, p.label)));
    this.providers.value = this.#provider;
    this.providers.hidden = known.length < 2;
    if (this.#replayed) return this.bar.querySelector("button")?.focus();
    void this.load();
    this.search.focus();
  }

  /** It is taken out of the panel, for a while. */
  leave() {
    if (!this.#replayed) this.#top = this.body.scrollTop;
  }

  /** The tab shows another site. What was searched for is kept. */
  forget() {
    this.#turn++;
    this.#provider = "";
    this.#sessions = [];
    this.#replayed = null;
    this.#top = 0;
    fill(this.body);
  }

  async load() {
    const turn = ++this.#turn;
    this.#replayed = null;
    fill(this.bar, button({ label: "Back to the chat", icon: "back", class: "button quiet icon" }, this.options.close), el("h2", { class: "visually-hidden" }, "History"), this.search, this.providers);
    fill(this.body, el("p", { class: "muted middle", role: "status" }, "Reading the history…"));
    try {
      const shim = this.options.shim();
      if (!shim) throw new Error("There is no connection to the shim.");
      const sessions = await shim.history(this.#provider);
      if (turn !== this.#turn) return;
      this.#sessions = sessions;
      this.list();
      this.body.scrollTop = this.#top;
    } catch (err) {
      if (turn === this.#turn) this.#failed(err, () => void this.load());
    }
  }

  /** @param {unknown} err @param {() => void} again */
  #failed(err, again) {
    fill(this.body, el("div", { class: "notice danger", role: "alert" }, el("p", null, String(/** @type {Error} */ (err).message))), button({ label: "Try again", class: "button" }, again));
  }

  list() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = this.#sessions.filter((s) => {
      const text = `${s.title} ${s.firstPrompt} ${s.branch} ${s.runs.map((r) => r.prompt + " " + r.sha).join(" ")}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    if (found.length === 0) {
      fill(this.body, el("p", { class: "muted middle" }, this.#sessions.length === 0 ? "Nothing here yet. What you and this agent do in the repository will be listed." : "No session has these words."));
      return;
    }
    const now = new Date();
    /** @type {Map<string, Session[]>} */
    const days = new Map();
    for (const session of found.slice(0, this.#most)) {
      const time = session.endedAt ?? session.startedAt;
      const name = time ? day(new Date(time), now) : "Some day";
      days.set(name, [...(days.get(name) ?? []), session]);
    }
    fill(this.body, [...days].map(([name, sessions]) => el("section", { class: "day", "aria-label": name }, el("h3", null, name), el("ul", null, sessions.map((s) => this.#row(s))))),
      found.length > this.#most && button({ label: `Show ${found.length - this.#most} more`, class: "link more" }, () => {
        this.#most += page.sessions;
        this.list();
      }));
  }

  /** @param {Session} session */
  #row(session) {
    const time = session.endedAt ?? session.startedAt;
    const commits = new Set(session.runs.filter((run) => run.sha && run.kind !== "undo").map((run) => run.sha)).size; // several runs may have one
    const facts = [time && hour(new Date(time)), plural(session.messageCount, "message"), commits > 0 && plural(commits, "commit")].filter(Boolean).join(" · ");
    return el("li", null, el("button", { type: "button", class: "session", data: { sw: "session" }, on: { click: () => void this.replay(session) } },
      el("span", { class: "cut", dir: "auto" }, session.title || session.firstPrompt || "Without a title"), el("span", { class: "muted" }, facts)));
  }

  /** Shows a session's last page. @param {Session} session */
  async replay(session) {
    const turn = ++this.#turn;
    if (!this.#replayed) this.#top = this.body.scrollTop;
    this.#replayed = session;
    const provider = this.#provider;
    const { shim: door, desk, resume } = this.options;
    const title = session.title || session.firstPrompt || "Without a title";
    const pages = new Pages();
    let chat = emptyChat();
    let before = "";
    let loading = false;
    const transcript = new Transcript({ ...desk, retry() {}, goOn() {}, editAgain() {}, checkAgain() {}, queueLast() {} }, { readOnly: true });
    const earlier = button({ label: "Load earlier", class: "link more", hidden: true }, () => void load());
    const resumeButton = button({ label: "Resume", class: "button primary", disabled: true, data: { sw: "resume" } }, () => {
      this.#replayed = null;
      resume({ id: session.id, provider, title }, chat);
    });
    fill(this.bar, button({ label: "Back to the list", icon: "back", class: "button quiet icon" }, () => {
      this.#turn++;
      void this.load().then(() => this.search.focus());
    }), el("h2", { class: "cut", dir: "auto", title }, title), resumeButton);
    const box = el("div", { class: "scroll replay", tabindex: "0", role: "group", "aria-label": title }, earlier, transcript.node, this.#changes(session));
    fill(this.body, el("p", { class: "muted middle", role: "status" }, "Reading the session…"));

    const load = async () => {
      const shim = door();
      if (loading || !shim) return;
      loading = true;
      try {
        const got = await shim.session(provider, session.id, { limit: page.events, before: before || undefined });
        if (turn !== this.#turn) return;
        chat = pages.prepend(got.events);
        before = got.before;
        earlier.hidden = before === "";
        resumeButton.disabled = false;
        if (!box.isConnected) {
          fill(this.body, box);
          const follow = new Follow(box, () => {});
          transcript.showAll(chat, () => follow.grown());
        } else {
          transcript.showAll(chat, stay);
          if (transcript.hasEarlier) transcript.back(stay);
        }
      } catch (err) {
        if (turn === this.#turn) this.#failed(err, () => void this.replay(session));
      } finally {
        loading = false;
      }
    };
    // What comes above the reader, or goes below, does not move what they read.
    /** @type {Element | undefined} */
    let read;
    let top = 0;
    const stay = () => { if (read?.isConnected) box.scrollTop += read.getBoundingClientRect().top - top; };
    box.addEventListener("scroll", () => {
      const { y } = box.getBoundingClientRect();
      read = [...transcript.node.children].find((node) => node.getBoundingClientRect().bottom > y);
      top = read?.getBoundingClientRect().top ?? 0;
      if (box.scrollTop >= 200 || transcript.node.ariaBusy === "true") return;
      if (transcript.hasEarlier) transcript.back(stay);
      else if (before) void load();
    }, { passive: true });
    await load();
  }

  /** What our runs of a session changed, each with its diff and its way back. @param {Session} session */
  #changes(session) {
    const runs = session.runs.filter((run) => run.files.length > 0 && run.kind !== "undo");
    if (runs.length === 0) return null;
    /** @type {Chat} */
    let chat = { ...emptyChat(), items: runs.toReversed().map((run, i) => changeOf(run, i + 1)), next: runs.length + 1 };
    const { desk } = this.options;
    const shown = new Transcript({ ...desk, undo: (id) => void act(id, async (shim) => {
      const { id: by, sha, commitError = "" } = await shim.undo(id);
      return { state: "undone", by, sha, message: commitError, fix: "", files: [] };
    }), redo: (id, by) => void act(id, async (shim) => {
      await shim.undo(by);
      return null;
    }) });
    /** @param {string} id @param {(shim: Shim) => Promise<import("./store.js").UndoView | null>} what */
    const act = async (id, what) => {
      const shim = this.options.shim();
      if (!shim) return;
      try {
        chat = undone(chat, id, await what(shim));
      } catch (err) {
        const { message, fix = "", body } = /** @type {import("../lib/shim.js").ShimError} */ (err);
        chat = undone(chat, id, { state: "refused", by: "", sha: "", message, fix, files: body?.files ?? [] });
      }
      shown.showAll(chat);
    };
    shown.showAll(chat);
    return el("section", { class: "session-changes" }, el("h3", null, "What it changed"), shown.node);
  }
}

/**
 * The pages of a session, from its end on. What a further one takes does not
 * depend on how many there are: only the turn that it may belong to is read
 * again. Keys count from the end, so that an earlier page changes none.
 */
export class Pages {
  /** @type {import("../lib/events.js").WireEvent[]} what stands before the first message of the user */
  #open = [];
  /** @type {import("./store.js").Item[]} what follows it */
  #items = [];

  /** @param {import("../lib/events.js").WireEvent[]} events the page before all others @returns {Chat} */
  prepend(events) {
    const all = [...events, ...this.#open];
    const first = all.findIndex((event) => event.type === "user");
    const at = first < 0 ? all.length : first;
    this.#items = [...numbered(all.slice(at), this.#items.length), ...this.#items];
    this.#open = all.slice(0, at);
    return { ...emptyChat(), items: [...numbered(this.#open, this.#items.length), ...this.#items] };
  }
}

/** @param {import("../lib/events.js").WireEvent[]} events @param {number} behind how many items follow them */
function numbered(events, behind) {
  const { items } = events.reduce(reduce, emptyChat());
  return items.map((item, i) => ({ ...item, key: i - items.length - behind }));
}

/**
 * A run of the list as the card of its change; lines are counted in its diff.
 * @param {RunSummary} run
 * @param {number} key
 * @returns {import("./store.js").ChangeItem}
 */
function changeOf(run, key) {
  return {
    kind: "change", key, runId: run.id, settled: !run.undoable && !run.undone, added: 0, removed: 0, commitError: null,
    files: run.files.map((path) => ({ path, status: "modified", added: 0, removed: 0, binary: false, yours: false })),
    commit: run.sha ? { sha: run.sha.slice(0, 9), count: run.files.length, hooksSkipped: false } : null,
    undo: run.undone ? { state: "undone", by: "", sha: "", message: "", fix: "", files: [] } : null,
  };
}
