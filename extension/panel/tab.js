// Runs in: side panel. One tab's panel: its chat, its draft, its connection,
// its runs. Talks to: shim (fetch), worker (the badge), the tab (its address).
//
// Flow: the composer hands a message to `send` → `run` streams events into the
// store → `draw`, once per frame, shows the chat.

import { button, el, fill, icon } from "../lib/dom.js";
import { clock, count, oneLine } from "../lib/format.js";
import { send as tell } from "../lib/messages.js";
import { forOrigin, isLoopback, originKey, save, saveOrigin, usePairing } from "../lib/settings.js";
import { ShimError } from "../lib/shim.js";
import { CommitsCard, carryOut } from "./cards/commits.js";
import { chipView, forShim, patched } from "./chips.js";
import { Composer, RunBar } from "./composer.js";
import { Connection, judge } from "./connection.js";
import { editorAddress } from "./editor.js";
import { elementLink, namesOf, targetOf } from "./elements.js";
import { lastWords } from "./ended.js";
import { Follow } from "./follow.js";
import { HistoryView } from "./history.js";
import { notices, troubleNotice } from "./notices.js";
import { keep, recover, tabOfRun } from "./persist.js";
import { Picking } from "./picking.js";
import { showPreview } from "./preview.js";
import { showQueue } from "./queue.js";
import { stateCard } from "./states.js";
import { ask, begun, divide, emptyChat, fail, found, receive, stopping, undone } from "./store.js";
import { plain, sentence } from "./steps.js";
import { Transcript } from "./transcript.js";

/** @typedef {import("../lib/settings.js").Settings} Settings */
/** @typedef {import("../lib/settings.js").OriginSettings} OriginSettings */
/** @typedef {import("../lib/shim.js").Numbered} Numbered */
/** @typedef {import("./chips.js").Chip} Chip */
/** @typedef {import("./store.js").Chat} Chat */
/** @typedef {import("./queue.js").Message} Message */

/** In ms: how long events are taken in without letting the browser draw; how long to wait before keeping; how long Escape stands; how long a message waits for what is still found out about its picks; how long a run is looked for that nobody heard begin. */
const times = { slice: 8, keep: 600, escape: 4_000, busy: 2_000, findings: 1_500, unheard: 10_000 };
/** In ms: a frame that took longer is followed by a pause, and how long at most. */
const pause = { after: 12, most: 200 };
/** So many sent messages can be recalled. */
const mostRecall = 50;

/**
 * The run that a message began whose answer nobody heard, if there is one; it
 * may still be on its way into the shim.
 * @param {import("../lib/shim.js").Shim} shim
 * @param {import("./store.js").Run} run
 * @param {AbortSignal} [signal]
 * @returns {Promise<string>} its id, or ""
 */
async function begunSince(shim, run, signal) {
  for (const end = performance.now() + times.unheard; ; await new Promise((resolve) => setTimeout(resolve, times.busy / 4))) {
    const all = await shim.runs({ signal });
    const mine = all.filter((one) => one.kind === "design" && Date.parse(one.startedAt) >= run.startedAt - 1_000 && run.prompt.startsWith(one.prompt.replace(/…$/, "")));
    if (mine.length > 0) return /** @type {import("../lib/shim.js").RunSummary} */ (mine.at(-1)).id; // the newest comes first
    if (performance.now() > end || signal?.aborted) return "";
  }
}

export class TabView {
  /** @type {Chat} */
  chat = emptyChat();
  /** @type {Message[]} */
  queue = [];
  /** @type {string[]} */
  recall = [];
  /** @type {import("./persist.js").Sent | null} */
  sent = null;
  /** The repository as it was last known. */
  repoDir = "";
  origin = "";
  url = "";
  title = "";
  details = false;
  /** The connection of the run's stream. */
  live = true;
  /** What the queue waits for when no run of this chat does. @type {import("./store.js").Busy | null} */
  busy = null;
  queueHeld = false;
  #shown = false;
  #nextMessage = 1;
  #escapeUntil = 0;
  #drawing = false;
  /** When the next frame may be drawn, by the clock of the page. */
  #rested = 0;
  /** What is being done with the chat's commits. @type {import("./cards/commits.js").What | ""} */
  #committing = "";
  /** Whose end `commits` shows. @type {Chat | null} */
  #ends = null;
  #ready = false;
  /** @type {AbortController} ends what belongs to the present chat */
  #abort = new AbortController();
  /** Ends what takes the events of a run in. */
  #taking = new AbortController();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #keeping;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #clock;
  /** What it is, as far as is known: one may be left of a panel before. @type {string | null} */
  #badge = null;
  /** How a run ended that nobody looked at. @type {"" | "done" | "failed"} */
  #news = "";
  /** Of `picked`, for the last message. @type {{asked: import("./store.js").Item | undefined, chips: import("./store.js").ChipView[]}} */
  #picked = { asked: undefined, chips: [] };
  /** What has been drawn around the chat, so that it is drawn only when it changes. @type {Record<string, string>} */
  #drawn = {};

  /**
   * @param {number} tabId
   * @param {Settings} settings
   */
  constructor(tabId, settings) {
    this.tabId = tabId;
    this.settings = settings;
    this.connection = new Connection(() => {
      const { meta } = this.connection;
      const site = this.site();
      if (meta && site && site.project !== meta.project) void this.set({ project: meta.project });
      this.draw();
    });
    const copy = (/** @type {string} */ text) => void this.copy(text);
    this.project = el("h1", { class: "project" });
    this.agent = el("p", { class: "agent muted cut" });
    /** @param {string} label @param {string} name @param {string} sw @param {() => void} press */
    const tool = (label, name, sw, press) => button({ label, icon: name, class: "button quiet icon", data: { sw } }, press);
    this.newButton = tool("New chat", "compose", "new-chat", () => this.newChat());
    this.historyButton = tool("History", "history", "history", () => this.toggleHistory());
    this.head = el("header", { class: "head" }, el("div", { class: "where" }, this.project, this.agent),
      el("div", { class: "tools" }, this.newButton, this.historyButton, tool("Settings", "settings", "settings", () => this.openSettings())));
    this.notices = el("section", { class: "notices", "aria-label": "Notices", hidden: true });
    this.transcript = new Transcript(this.desk());
    this.stateBox = el("div", { class: "state-box" });
    this.commits = new CommitsCard((what, runs) => void this.settleCommits(what, runs), copy);
    this.box = el("main", { class: "scroll", tabindex: "0", "aria-label": "Chat" }, this.stateBox, this.transcript.node, this.commits.node);
    this.jump = button({ label: "Jump to latest", icon: "down", text: true, class: "button jump", hidden: true, data: { sw: "jump" } }, () => {
      this.transcript.latest();
      this.follow.toEnd();
    });
    this.follow = new Follow(this.box, (away) => { this.jump.hidden = !away; });
    this.runBar = new RunBar(() => this.stop());
    this.queueNode = el("section", { class: "queue", "aria-label": "Waiting messages", hidden: true });
    this.composer = new Composer({
      send: (text, chips) => this.send(text, chips),
      changed: () => this.keepSoon(),
      escape: () => this.escape(),
      recall: () => this.recall,
      chooseModel: ({ provider, model }) => this.chooseModel(provider, model),
      chooseEffort: (effort) => void this.set({ effort }),
      setAutoCommit: (autoCommit) => void this.set({ autoCommit }),
      setScreenshots: (screenshots) => void this.set({ screenshots }),
      setDetails: (on) => {
        this.details = on;
        this.draw();
      },
      preview: () => this.preview(),
      pick: () => this.picking.toggle(),
      highlight: (target) => void this.picking.highlight(target),
      announce: (text) => this.announce(text, true),
    });
    this.picking = new Picking(tabId, {
      add: (capture) => this.composer.addCapture(capture, ""),
      more: (pick, patch, thumb) => this.learn(pick, patch, thumb),
      chips: () => this.composer.draft.chips.length,
      changed: () => this.draw(),
      announce: (text, seen) => this.announce(text, seen),
    });
    this.dock = el("footer", { class: "dock" }, this.jump, this.runBar.node, this.queueNode, this.composer.node);
    this.status = el("div", { class: "visually-hidden", role: "status" });
    this.toast = el("div", { class: "toast", hidden: true, "aria-hidden": "true" });
    this.node = el("div", { class: "tab", hidden: true, data: { tab: String(this.tabId) }, on: { keydown: (/** @type {KeyboardEvent} */ e) => {
      if (e.key === "Escape" && !e.defaultPrevented && !(e.target instanceof Element && e.target.closest("dialog, .history"))) this.escape();
    } } }, this.head, this.notices, this.box, this.dock, this.status, this.toast);
    this.history = new HistoryView({
      shim: () => this.connection.shim, meta: () => this.connection.meta, provider: () => this.providerId(), copy,
      desk: this.transcript.desk, close: () => this.toggleHistory(), resume: (session, items) => this.resume(session, items),
    });
  }

  // The tab and its settings.

  /**
   * The tab shows this address.
   * @param {string} url
   * @param {string} title
   */
  visit(url, title) {
    this.title = title;
    const origin = originKey(url);
    const before = this.origin;
    this.url = url;
    if (origin !== null && origin !== before) {
      this.origin = origin;
      void this.begin(origin, before !== "");
    } else if (origin === null && before === "") {
      this.#ready = true;
    }
    this.configure(this.settings);
    this.badge(true);
  }

  /**
   * Another site in this tab: what was kept of it, or a fresh start.
   * @param {string} origin
   * @param {boolean} moved the tab showed another one before
   */
  async begin(origin, moved) {
    this.#ready = false;
    if (moved) {
      this.#abort.abort();
      this.#abort = new AbortController();
      this.reset();
    }
    const kept = await recover(this.tabId);
    if (this.origin !== origin) return;
    this.#ready = true;
    if (kept?.origin === origin && !moved) {
      this.chat = kept.chat;
      this.queue = kept.queue;
      this.sent = kept.sent;
      this.recall = kept.recall;
      this.repoDir = kept.repoDir ?? "";
      this.#nextMessage = Math.max(0, ...this.queue.map((m) => m.id)) + 1;
      this.queueHeld = this.queue.length > 0 && !this.chat.run;
      if (!this.composer.draft.text) this.composer.setDraft(kept.draft, kept.chips);
      if (this.chat.run) void this.attach();
    }
    void this.picking.takeWaiting();
    this.draw();
  }

  reset() {
    this.chat = emptyChat();
    this.transcript.clear();
    this.queue = [];
    this.sent = null;
    this.recall = [];
    this.repoDir = "";
    this.busy = null;
    this.queueHeld = false;
    this.composer.setDraft("", []);
    if (this.history.node.isConnected) this.toggleHistory();
    this.history.forget();
    this.keepSoon();
  }

  /** @param {Settings} settings */
  configure(settings) {
    this.settings = settings;
    const before = this.connection.shim;
    this.connection.configure(this.site());
    const { shim } = this.connection;
    if (this.chat.run && before && shim && shim !== before) void this.attach(); // it listens elsewhere now
    this.draw();
  }

  /** The settings of this tab's site; null: it has none, or cannot have any. @returns {OriginSettings | null} */
  site() {
    const origin = originKey(this.url);
    return origin !== null && Object.hasOwn(this.settings.origins, origin) ? forOrigin(this.settings, origin) : null;
  }

  /** @param {Partial<OriginSettings>} patch */
  async set(patch) {
    if (this.origin) await saveOrigin(this.origin, patch);
  }

  /** @returns {import("./connection.js").State} */
  state() {
    const origin = originKey(this.url);
    const pairing = origin !== null && isLoopback(origin) ? (this.settings.global.pairings[0] ?? null) : null;
    return judge({ origin, settings: this.site(), pairing, failure: this.connection.failure, meta: this.connection.meta });
  }

  providerId() {
    const { meta } = this.connection;
    return this.site()?.provider || meta?.defaultProvider || "anthropic";
  }

  provider() {
    return this.connection.meta?.providers.find((p) => p.id === this.providerId()) ?? null;
  }

  /** Why nothing can be sent; "" when it can. */
  blocked() {
    const state = this.state();
    if (state.kind === "loading") return "Not sent: still connecting to the shim. The draft is kept.";
    if (state.kind !== "ready") return "Not sent: there is no connection to a project. The draft is kept.";
    const provider = this.provider();
    if (!provider) return `This shim has no provider called ${this.providerId()}. Choose another model.`;
    if (!provider.enabled) return `${provider.label} cannot be used: ${provider.error || "it is switched off"}. Choose another model.`;
    return "";
  }

  // Sending.

  /** @param {string} text @param {Chip[]} chips */
  send(text, chips) {
    const message = { id: this.#nextMessage++, text, chips };
    if (text) this.recall = [...this.recall.filter((t) => t !== text), text].slice(-mostRecall);
    this.transcript.latest();
    this.follow.toEnd();
    if (this.picking.armed) void this.picking.stop(); // the next click is for the app
    if (this.chat.run || this.busy) {
      this.queue = [...this.queue, message];
      this.announce("Queued");
      this.draw();
      return;
    }
    void this.run(message);
  }

  /** What became known of a pick, wherever that is by now. @param {string} pick @param {import("./chips.js").Capture} patch @param {string} thumb */
  learn(pick, patch, thumb) {
    this.composer.patchCapture(pick, patch, thumb);
    /** @template {{chips: Chip[]}} T @param {T} one @returns {T} */
    const better = (one) => (one.chips.some((chip) => chip.capture.pick === pick) ? { ...one, chips: patched(one.chips, pick, patch, thumb) } : one);
    this.queue = this.queue.map(better);
    this.sent &&= better(this.sent);
    this.chat = found(this.chat, pick, { thumb, names: namesOf(patch) });
    this.keepSoon();
    this.draw();
  }

  /** What a message of the chat went with. @param {import("./store.js").UserItem} item @returns {Chip[]} */
  chipsOf(item) {
    return this.sent?.key === item.key ? this.sent.chips : [];
  }

  /** @param {{text: string, chips: Chip[]}} message @returns {import("../lib/shim.js").DesignBody} */
  body({ text, chips }) {
    const site = this.site();
    const provider = this.providerId();
    const at = new URL(this.url);
    const { session } = this.chat;
    return {
      prompt: text, provider, screen: at.pathname + at.search + at.hash, elements: chips.map(forShim),
      ...(site?.model && { model: site.model }), ...(site?.effort && site.effort !== "default" && { effort: site.effort }),
      ...(session?.provider === provider && { resume: session.id }),
      autoCommit: site?.autoCommit !== false, detach: true,
    };
  }

  /** @param {Message} message */
  async run(message) {
    const { shim } = this.connection;
    if (!shim) return;
    if (this.chat.session && this.chat.session.provider !== this.providerId()) this.chat = divide(this.chat, `Now with ${this.provider()?.label ?? this.providerId()}`);
    const body = this.body(message);
    this.queueHeld = false;
    this.chat = ask(this.chat, { text: message.text, chips: message.chips.map(chipView), provider: this.providerId(), now: Date.now() });
    const sent = { key: this.chat.next - 1, chips: message.chips };
    this.sent = sent;
    this.keep(); // it is in the chat, and no longer in the queue or the field
    this.announce("Run started");
    const settled = this.picking.settled(sent.chips, times.findings);
    const now = () => (this.sent?.key === sent.key ? this.sent : sent).chips.map(forShim);
    await this.take(async function* (options) {
      await settled;
      options.signal?.throwIfAborted();
      yield* shim.design({ ...body, elements: now() }, options);
    });
  }

  /** Follows the run that was going on when the panel was last seen. */
  async attach() {
    await this.until(() => this.connection.shim !== null);
    const { shim } = this.connection;
    const { run } = this.chat;
    if (!shim || !run) return;
    this.draw();
    await this.take(async function* (options) {
      const id = run.id || (await begunSince(shim, run, options.signal));
      if (!id) throw new ShimError({ status: 0, code: "not_known", message: "The panel was closed before the shim had answered, and the shim knows of no run that began with this message.", fix: "Send it again." });
      if (!run.id) options.onRun?.(id);
      yield* shim.follow(id, run.lastId, options);
    });
  }

  /**
   * Takes the events of a run into the chat, to its end.
   * @param {(options: import("../lib/shim.js").StreamOptions) => AsyncIterable<Numbered>} open
   */
  async take(open) {
    this.#taking.abort();
    this.#taking = new AbortController();
    const signal = AbortSignal.any([this.#abort.signal, this.#taking.signal]);
    const onLive = (/** @type {boolean} */ live) => {
      if (live !== this.live) void this.connection.ask(); // is it down, or back?
      this.live = live;
      this.draw();
    };
    const onRun = (/** @type {string} */ id) => {
      this.chat = begun(this.chat, id);
      this.keep();
    };
    this.live = true;
    this.badge(false);
    this.tick();
    this.draw();
    try {
      let since = performance.now();
      for await (const numbered of open({ signal, onLive, onRun })) {
        if (signal.aborted) return;
        this.chat = receive(this.chat, numbered);
        this.noted(numbered.event);
        this.draw();
        this.keepSoon();
        if (performance.now() - since > times.slice) {
          await new Promise((resolve) => setTimeout(resolve));
          since = performance.now();
        }
      }
      if (signal.aborted) return;
      if (this.chat.run) this.chat = fail(this.chat, { code: "internal", message: "The shim ended its answer without a word on how the run ended.", fix: "slidewrite doctor" });
    } catch (err) {
      if (signal.aborted) return;
      this.connection.noticed(err);
      const { code = "internal", message, fix = "", body } = /** @type {ShimError} */ (err);
      this.chat = fail(this.chat, { code: code === "not_found" ? "no_run" : code, message, fix, busy: code === "busy" ? (body?.run ?? { id: "", prompt: "", startedAt: "" }) : null });
      this.announce(`Failed: ${message}`);
    }
    this.live = true;
    this.ended();
  }

  /** What an event means beyond the chat. @param {import("../lib/events.js").WireEvent} event */
  noted(event) {
    if (event.type === "error") this.announce(`Failed: ${event.message}`);
    if (event.type === "change" && this.site()?.autoReload) void chrome.tabs.reload(this.tabId).catch(() => {});
  }

  /** A run is over. */
  ended() {
    this.tick();
    const change = this.chat.items.findLast((item) => item.kind === "change");
    if (this.chat.outcome === "done") this.announce(change ? "Run finished" : "Answer finished");
    if (this.chat.outcome === "stopped") this.announce("Run stopped");
    this.keep();
    this.draw();
    if (this.queue.length > 0) {
      if (this.chat.outcome === "done" && !this.blocked()) return this.sendNext();
      this.queueHeld = true;
    }
    const { outcome } = this.chat;
    if (outcome === "done" || outcome === "failed") {
      if (!this.#shown) this.#news = outcome;
      const project = this.connection.meta?.project ?? this.site()?.project ?? "";
      tell({ type: "sw-run-ended", tabId: this.tabId, state: outcome, project, text: lastWords(this.chat) }).catch(() => {}); // the chat tells it, too
    }
    this.badge(false);
    this.draw();
    void this.connection.ask(); // the branch may be dirty now, or clean
  }

  sendNext() {
    const [next, ...rest] = this.queue;
    if (!next || this.chat.run) return;
    this.queue = rest;
    void this.run(next);
  }

  async stop() {
    const { run } = this.chat;
    const { shim } = this.connection;
    if (!run || !shim || run.stopping) return;
    this.chat = stopping(this.chat);
    this.draw();
    try {
      if (!run.id) throw new Error("The run has not started yet. Try again in a moment.");
      await shim.stop(run.id);
    } catch (err) {
      this.connection.noticed(err);
      if (this.chat.run) this.chat = { ...this.chat, run: { ...this.chat.run, stopping: false } };
      this.announce(String(/** @type {Error} */ (err).message), true);
      this.draw();
    }
  }

  /** Ends picking; else asks once, then stops the run. */
  escape() {
    if (this.picking.armed) return void this.picking.stop();
    if (!this.chat.run || this.chat.run.stopping) return;
    if (Date.now() < this.#escapeUntil) {
      this.#escapeUntil = 0;
      return void this.stop();
    }
    this.#escapeUntil = Date.now() + times.escape;
    this.announce("Press Escape again to stop the run");
    this.draw();
    setTimeout(() => this.draw(), times.escape);
  }

  retry() {
    const asked = this.chat.items.findLast((item) => item.kind === "user");
    if (!asked || this.chat.run || this.blocked()) return this.announce(this.blocked(), true);
    this.send(asked.text, this.chipsOf(asked));
  }

  /** The message that was refused waits until the repository is free. @param {import("./store.js").Busy | null} busy */
  async queueLast(busy) {
    const asked = this.chat.items.findLast((item) => item.kind === "user");
    if (!asked || !busy) return;
    const chips = this.chipsOf(asked);
    // It goes from the chat into the queue, and comes back when it is sent.
    this.chat = { ...this.chat, items: this.chat.items.filter((item) => item.key < asked.key), outcome: "" };
    this.queue = [{ id: this.#nextMessage++, text: asked.text, chips }, ...this.queue];
    this.busy = busy;
    this.queueHeld = false;
    this.draw();
    const { signal } = this.#abort;
    await this.until(async () => {
      const list = await this.connection.shim?.runs({ signal }).catch(() => null);
      return list ? !list.some((run) => run.state === "running") : false;
    }, times.busy);
    this.busy = null;
    if (!signal.aborted) this.sendNext();
  }

  /** @param {import("./store.js").ErrorItem} item */
  async openBusy({ busy }) {
    if (!busy?.id || this.chat.run) return;
    const tabId = await tabOfRun(busy.id);
    const tab = tabId !== null && tabId !== this.tabId ? await chrome.tabs.update(tabId, { active: true }).catch(() => undefined) : undefined;
    if (tab) return void await chrome.windows.update(tab.windowId, { focused: true });
    // A terminal, another browser, or a tab that is closed: it is followed here, and what was not sent waits in the field.
    const asked = this.chat.items.findLast((item) => item.kind === "user");
    if (asked && !this.composer.draft.text) this.composer.edit(asked.text, this.chipsOf(asked));
    const { session } = this.chat;
    const chat = ask(divide(this.chat, "A run from elsewhere"), { text: busy.prompt, provider: "", now: Date.parse(busy.startedAt) || Date.now() });
    this.chat = begun({ ...chat, session }, busy.id, true);
    this.keepSoon();
    await this.attach();
  }

  // Undo.

  /** @param {string} runId */
  async undo(runId) {
    const { shim } = this.connection;
    if (!shim) return;
    try {
      const { id, sha, commitError = "" } = await shim.undo(runId);
      this.chat = undone(this.chat, runId, { state: "undone", by: id, sha, message: commitError && `Not committed: ${commitError}`, fix: "", files: [] }, { id, sha });
      this.announce("Taken back");
    } catch (err) {
      this.connection.noticed(err);
      const { message, fix = "", body, status } = /** @type {ShimError} */ (err);
      const said = status === 0 ? "The shim did not answer." : body?.code === "conflict" && !message.endsWith("nothing was touched") ? `${message}. Nothing was touched.` : message;
      this.chat = undone(this.chat, runId, { state: "refused", by: "", sha: "", message: said, fix: status === 0 ? "" : fix, files: body?.files ?? [] });
    }
    this.keepSoon();
    this.draw();
    void this.connection.ask();
  }

  /** @param {string} runId @param {string} by */
  async redo(runId, by) {
    const { shim } = this.connection;
    if (!shim) return;
    try {
      this.chat = undone(this.chat, runId, null, await shim.undo(by));
      this.announce("Put back");
    } catch (err) {
      this.connection.noticed(err);
      this.announce(String(/** @type {Error} */ (err).message), true);
    }
    this.keepSoon();
    this.draw();
    void this.connection.ask();
  }

  /** Commits what waits in this chat, or makes its commits one. @param {import("./cards/commits.js").What} what @param {string[]} runs */
  async settleCommits(what, runs) {
    const { shim } = this.connection;
    if (!shim || this.#committing) return;
    const { signal } = this.#abort;
    this.#committing = what;
    this.draw();
    const { view, apply, error } = await carryOut(shim, what, runs);
    this.#committing = "";
    if (error) this.connection.noticed(error);
    if (signal.aborted) return; // another site's chat is here
    this.chat = { ...apply(this.chat), commits: this.chat.run ? null : view };
    this.announce(view.message);
    this.keepSoon();
    this.draw();
    void this.connection.ask();
  }

  // Chats.

  newChat() {
    if (this.chat.run) return this.announce("A run is going on. Stop it first, or wait.", true);
    this.chat = divide(this.chat, "New chat");
    if (this.history.node.isConnected) this.toggleHistory();
    this.follow.toEnd();
    this.keepSoon();
    this.draw();
    this.composer.field.focus();
  }

  /**
   * Goes on with a session of the history.
   * @param {{id: string, provider: string, title: string}} session
   * @param {Chat} replay its last page
   */
  resume(session, replay) {
    if (this.chat.run) return this.announce("A run is going on. Stop it first, or wait.", true);
    this.chat = { ...divide({ ...replay, run: null }, `Continues: ${oneLine(session.title, 60)}`), session: { id: session.id, provider: session.provider } };
    this.sent = null; // of the chat before
    this.transcript.clear();
    if (session.provider !== this.providerId()) void this.set({ provider: session.provider, model: "" });
    this.toggleHistory();
    this.follow.toEnd();
    this.keepSoon();
    this.draw();
    this.composer.field.focus();
  }

  toggleHistory() {
    const { history, box, dock } = this;
    const open = !history.node.isConnected;
    box.hidden = dock.hidden = open;
    this.historyButton.setAttribute("aria-pressed", String(open));
    if (open) {
      box.before(history.node);
      history.open();
    } else {
      history.leave();
      history.node.remove();
      this.historyButton.focus();
    }
    this.draw();
  }

  /** @param {string} provider @param {string} model */
  chooseModel(provider, model) {
    void this.set({ provider, model, effort: "" });
  }

  preview() {
    const { shim } = this.connection;
    const { draft } = this.composer;
    if (!shim) return this.announce(this.blocked(), true);
    const prompt = draft.text.trim() || "(your message)";
    void showPreview(this.node, shim.preview(this.body({ text: prompt, chips: draft.chips })), (text) => void this.copy(text), this.composer.menuButton);
  }

  openSettings() {
    void chrome.runtime.openOptionsPage();
  }

  /** @param {string} text */
  async copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      this.announce("Copied", true);
    } catch {
      this.announce("The browser did not allow copying. Click into the panel and try again.", true);
    }
  }

  /** What was picked in this chat, as far as an answer may speak of it. */
  picked() {
    const { items } = this.chat;
    const asked = items.findLast((item) => item.kind === "user");
    if (asked !== this.#picked.asked) this.#picked = { asked, chips: items.flatMap((item) => (item.kind === "user" ? item.chips : [])) };
    return this.#picked.chips;
  }

  /** @returns {import("./cards/index.js").Desk} */
  desk() {
    const address = (/** @type {string} */ path, /** @type {number} */ line) => editorAddress(this.settings.global.editorUrl, this.connection.meta?.repoDir ?? this.repoDir, path, line);
    return {
      links: {
        file: (path, line, text) => {
          const href = address(path, line);
          return href ? el("a", { class: "file-link", href, title: `Open ${path} in the editor` }, el("code", null, text)) : el("code", null, text);
        },
        element: (code) => {
          const target = targetOf(code, this.picked());
          return target && elementLink(code, target, { highlight: (one, reveal) => this.picking.highlight(one, reveal), announce: (text) => this.announce(text, true) });
        },
      },
      copy: (text) => void this.copy(text),
      highlight: (target) => void this.picking.highlight(target),
      editorAddress: address,
      diff: (runId, path) => {
        if (!this.connection.shim) throw new Error("There is no connection to the shim.");
        return this.connection.shim.diff(runId, path);
      },
      undo: (runId) => void this.undo(runId),
      redo: (runId, by) => void this.redo(runId, by),
      retry: () => this.retry(),
      goOn: () => this.send("Continue.", []),
      editAgain: (item) => this.composer.edit(item.text, this.chipsOf(item)),
      queueLast: () => void this.queueLast(this.chat.items.findLast((item) => item.kind === "error")?.busy ?? null),
      openBusy: (item) => void this.openBusy(item),
      checkAgain: () => void this.connection.ask({ refresh: true }),
    };
  }

  // Drawing and keeping.

  /** @param {boolean} seen @param {boolean} front this view is the one that is shown */
  setShown(seen, front) {
    this.node.hidden = !front;
    this.#shown = seen;
    if (seen) this.#news = "";
    this.badge(false);
    this.connection.setSeen(seen);
    this.tick();
    if (seen) this.draw();
  }

  /** Draws in the next frame. */
  draw() {
    if (this.#drawing || !this.#shown) return;
    this.#drawing = true;
    const frame = () => requestAnimationFrame(() => {
      this.#drawing = false;
      const began = performance.now();
      this.drawNow();
      const ended = performance.now();
      const took = ended - began;
      this.#rested = took > pause.after ? ended + Math.min(2 * took, pause.most) : 0;
    });
    const wait = this.#rested - performance.now();
    if (wait > 0) setTimeout(frame, wait);
    else frame();
  }

  drawNow() {
    this.drawHead();
    this.drawState();
    if (this.transcript.show(this.chat, this.details, () => this.follow.grown())) this.draw();
    this.drawRun();
    const { meta } = this.connection;
    const doing = this.#committing;
    if (this.once("commits", [doing, meta?.capabilities]) || this.#ends !== this.chat) {
      this.#ends = this.chat;
      this.commits.show(this.chat, { can: meta?.capabilities ?? [], doing });
      this.follow.grown();
    }
    const site = this.site();
    this.composer.show({
      running: this.chat.run !== null || this.busy !== null, blocked: this.blocked(), why: this.state().kind === "ready" ? this.blocked() : "", armed: this.picking.armed, providers: meta?.providers ?? [], provider: this.providerId(),
      model: site?.model ?? "", effort: site?.effort ?? "", autoCommit: site?.autoCommit !== false, screenshots: site?.screenshots !== false, details: this.details,
    });
    if (this.once("queue", [this.queue.map((m) => m.id), this.waitsFor()])) {
      showQueue(this.queueNode, this.queue, this.waitsFor(), {
        edit: (message) => {
          this.unqueue(message);
          this.composer.edit(message.text, message.chips);
        },
        remove: (message) => this.unqueue(message),
        sendNow: () => {
          if (this.blocked()) return this.announce(this.blocked(), true);
          this.sendNext();
          this.composer.field.focus();
        },
      });
    }
    this.follow.grown();
  }

  /** @param {Message} message */
  unqueue(message) {
    this.queue = this.queue.filter((m) => m !== message);
    this.keepSoon();
    this.draw();
  }

  waitsFor() {
    if (this.busy) return this.busy.prompt ? `for “${oneLine(this.busy.prompt, 60)}”` : "for another run";
    return this.chat.run ? "for this run" : this.queueHeld ? "" : " ";
  }

  /** Whether what a part shows has changed. @param {string} part @param {unknown} facts */
  once(part, facts) {
    const text = JSON.stringify(facts);
    if (this.#drawn[part] === text) return false;
    this.#drawn[part] = text;
    return true;
  }

  drawHead() {
    const { meta } = this.connection;
    const provider = this.provider();
    const model = provider?.models.find((m) => m.id === (this.site()?.model || provider.defaultModel));
    const name = meta?.project ?? this.site()?.project ?? "";
    if (!this.once("head", [name, meta?.branch, meta?.dirty, meta?.git.state, provider?.label, model?.label, provider?.billing, this.state().kind])) return;
    fill(this.project,
      el("span", { class: "cut", title: meta?.repoDir }, name || "Slide Write"),
      meta?.branch && el("span", { class: "branch cut", title: `Branch ${meta.branch}` }, meta.branch),
      meta?.dirty && el("span", { class: "dirty", title: "There are uncommitted changes" }, el("span", { class: "visually-hidden" }, "uncommitted changes")));
    this.agent.textContent = provider ? [provider.label, model?.label, provider.billing].filter(Boolean).join(" · ") : "";
    this.agent.hidden = !provider;
  }

  drawState() {
    const state = this.state();
    const beside = this.chat.items.length > 0;
    if (this.once("state", [state, beside, this.#ready])) {
      const actions = {
        copy: (/** @type {string} */ text) => void this.copy(text), openSettings: () => this.openSettings(), retry: () => void this.connection.ask(),
        turnOn: () => void this.set({ enabled: true }), answerOffer: (/** @type {boolean} */ use) => void this.answerOffer(use),
      };
      const card = this.#ready ? stateCard(state, actions, beside) : null;
      fill(this.stateBox, card ?? (this.#ready && !beside && state.kind === "ready" ? this.welcome() : null));
      if (beside && card) this.dock.prepend(this.stateBox);
      else if (this.stateBox.parentNode !== this.box) this.box.prepend(this.stateBox);
      if (state.kind !== "loading" && card) this.announce(card.getAttribute("aria-label") ?? "");
    }
    const { meta } = this.connection;
    if (this.once("notices", [state.kind, meta?.version, meta?.git, this.provider(), this.picking.trouble])) {
      fill(this.notices, this.picking.trouble && troubleNotice(this.picking.trouble, () => {
        this.picking.trouble = null;
        void chrome.tabs.reload(this.tabId);
        this.draw();
      }), state.kind === "ready" && meta ? notices(meta, this.provider(), {
        copy: (text) => void this.copy(text), checkAgain: () => void this.connection.ask({ refresh: true }),
      }) : null);
      this.notices.hidden = !this.notices.hasChildNodes();
    }
  }

  welcome() {
    const { meta } = this.connection;
    return el("div", { class: "welcome" }, el("h2", null, `Ready to change ${meta?.project ?? "your app"}`),
      el("p", { class: "muted" }, `Say what should be different on ${new URL(this.url).host}. Your dev server shows the change as it is made.`),
      el("ul", { class: "muted" },
        el("li", null, "Point at elements with ", icon("pick"), el("span", { class: "visually-hidden" }, "the button Pick elements"), " or ", el("kbd", null, "Alt+Shift+E"), ", or paste a picture."),
        el("li", null, "Each run is a commit of its own, and can be undone."),
        el("li", null, el("kbd", null, "Enter"), " sends, ", el("kbd", null, "Shift+Enter"), " is a new line.")));
  }

  drawRun() {
    const { run, items } = this.chat;
    if (!run) return this.runBar.show(null);
    const last = items.at(-1);
    const step = last?.kind === "steps" ? last.steps[last.steps.length - 1] : null;
    const words = Date.now() < this.#escapeUntil ? "Press Esc again to stop"
      : run.stopping ? "Stopping…"
      : !this.live ? "Reconnecting…"
      : last?.kind === "user" || last?.kind === "divider" ? "Starting…"
      : last?.kind === "thinking" ? "Thinking…"
      : step && !step.result ? plain(sentence(step, true)) + "…"
      : "Working…";
    const tokens = run.usage ? run.usage.inputTokens + run.usage.cacheReadTokens + run.usage.cacheCreationTokens + run.usage.outputTokens + run.usage.thinkingTokens : 0;
    this.runBar.show({ words, numbers: [clock(Date.now() - run.startedAt), tokens > 0 && `${count(tokens)} tokens`].filter(Boolean).join(" · "), stopping: run.stopping });
  }

  /** The clock of the run goes while somebody looks. */
  tick() {
    clearInterval(this.#clock);
    if (this.#shown && this.chat.run) this.#clock = setInterval(() => this.drawRun(), 1_000);
  }

  /**
   * The mark on the toolbar icon; Chrome takes it off when the tab navigates.
   * @param {boolean} again
   */
  badge(again) {
    const state = this.chat.run ? "running" : this.#news;
    if (state === this.#badge && !(again && state)) return;
    this.#badge = state;
    tell({ type: "sw-badge", tabId: this.tabId, state }).catch(() => {}); // a mark is not worth an error
  }

  /**
   * Tells those who do not see it; `seen` shows it to those who do, too.
   * @param {string} text
   * @param {boolean} [seen]
   */
  announce(text, seen = false) {
    if (!text) return;
    this.status.textContent = "";
    this.status.textContent = text;
    if (!seen) return;
    const { toast } = this;
    toast.textContent = text;
    toast.hidden = false;
    (this.dock.hidden ? this.node : this.dock).append(toast);
    const shown = {};
    Object.assign(toast, { shown });
    setTimeout(() => { if (/** @type {any} */ (toast).shown === shown) toast.hidden = true; }, 2_000 + 40 * text.length);
  }

  /** @param {boolean} use */
  async answerOffer(use) {
    const [pairing] = this.settings.global.pairings;
    if (!pairing || !this.origin) return;
    if (use) {
      await usePairing(this.origin, pairing);
      return this.composer.field.focus();
    }
    await save(({ global }) => ({ global: { pairings: global.pairings.filter((p) => p.shimUrl !== pairing.shimUrl) } }));
  }

  /**
   * Waits for a fact, asking now and then, until the chat is another.
   * @param {() => boolean | Promise<boolean>} fact
   * @param {number} [every]
   */
  async until(fact, every = 100) {
    const { signal } = this.#abort;
    while (!signal.aborted && !(await fact())) await new Promise((resolve) => setTimeout(resolve, every));
  }

  keepSoon() {
    this.#keeping ??= setTimeout(() => this.keep(), times.keep);
  }

  keep() {
    clearTimeout(this.#keeping);
    this.#keeping = undefined;
    if (!this.#ready || !this.origin) return;
    const { text, chips } = this.composer.draft;
    void keep(this.tabId, { origin: this.origin, chat: this.chat, queue: this.queue, draft: text, chips, sent: this.sent, recall: this.recall, repoDir: this.connection.meta?.repoDir ?? this.repoDir });
  }

  /** The tab is gone; its run goes on. */
  close() {
    this.#abort.abort();
    clearTimeout(this.#keeping);
    clearInterval(this.#clock);
    this.connection.close();
    this.node.remove();
  }
}
