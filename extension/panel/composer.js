// Runs in: side panel. Where the user writes: the field, what goes along, the
// model, and the menu of settings for this site's runs.

import { button, el, fill } from "../lib/dom.js";
import { chipNode, mostChips, patched } from "./chips.js";
import { pastedCapture, picturesOf } from "./images.js";

/** @typedef {import("./chips.js").Chip} Chip */
/** @typedef {import("../lib/shim.js").Provider} Provider */

/**
 * @typedef {object} Writer
 * @property {(text: string, chips: Chip[]) => void} send
 * @property {() => void} changed the draft or its chips are to be kept
 * @property {() => void} escape
 * @property {() => string[]} recall what was sent before, oldest first
 * @property {(choice: {provider: string, model: string}) => void} chooseModel
 * @property {(effort: string) => void} chooseEffort
 * @property {(on: boolean) => void} setAutoCommit
 * @property {(on: boolean) => void} setScreenshots
 * @property {(on: boolean) => void} setDetails
 * @property {() => void} preview
 * @property {() => void} pick
 * @property {(target: import("./elements.js").Target | null) => void} highlight
 * @property {(text: string) => void} announce
 */

/**
 * @typedef {object} Surroundings
 * @property {boolean} running
 * @property {boolean} armed the picker waits for a pick
 * @property {string} why shown below the field when something is written and cannot be sent
 * @property {string} blocked why nothing can be sent; "" when it can
 * @property {Provider[]} providers
 * @property {string} provider
 * @property {string} model
 * @property {string} effort
 * @property {boolean} autoCommit
 * @property {boolean} screenshots
 * @property {boolean} details
 */

let ids = 0;

export class Composer {
  /** @type {Chip[]} */
  #chips = [];
  #nextChip = 1;
  /** Which of the recalled messages is shown, from the newest; -1: the draft. */
  #recalled = -1;
  #draft = "";
  #blocked = "";
  #models = "";

  /** @param {Writer} writer */
  constructor(writer) {
    this.writer = writer;
    const id = ++ids;
    this.field = el("textarea", {
      rows: 1, "aria-label": "Message", placeholder: "What should change?", dir: "auto", spellcheck: "true", data: { sw: "composer" }, "aria-describedby": `why-${id}`,
      on: { keydown: (/** @type {KeyboardEvent} */ e) => this.#key(e), input: () => this.#typed(), paste: (/** @type {ClipboardEvent} */ e) => this.#paste(e) },
    });
    this.chipList = el("ul", { class: "chips", "aria-label": "Goes along", hidden: true });
    this.model = el("select", { class: "choice model", "aria-label": "Model", data: { sw: "model" }, on: { change: () => this.#chooseModel() } });
    this.effort = el("select", { class: "choice", "aria-label": "Effort", data: { sw: "effort" }, on: { change: () => writer.chooseEffort(this.effort.value) } });
    this.why = el("p", { id: `why-${id}`, class: "why", hidden: true });
    this.sendButton = button({ label: "Send", icon: "send", class: "button primary icon send", data: { sw: "send" } }, () => this.submit());
    this.autoCommit = el("input", { type: "checkbox", data: { sw: "auto-commit" }, on: { change: () => writer.setAutoCommit(this.autoCommit.checked) } });
    this.screenshots = el("input", { type: "checkbox", data: { sw: "screenshots" }, on: { change: () => writer.setScreenshots(this.screenshots.checked) } });
    this.details = el("input", { type: "checkbox", data: { sw: "details" }, on: { change: () => writer.setDetails(this.details.checked) } });
    this.menu = el("div", { class: "menu", id: `menu-${id}`, hidden: true });
    this.menuButton = button({ label: "Options", icon: "plus", class: "button quiet icon", "aria-expanded": "false", "aria-controls": `menu-${id}`, data: { sw: "options" } }, () => this.#toggleMenu());
    this.pickButton = button({ label: "Pick elements", icon: "pick", class: "button quiet icon", "aria-pressed": "false", data: { sw: "pick" } }, () => writer.pick());
    this.node = el("form", { class: "composer", on: { submit: (/** @type {Event} */ e) => e.preventDefault() } },
      this.menu,
      el("div", { class: "writing" }, this.chipList, this.field,
        el("div", { class: "tools" }, this.menuButton, this.pickButton, this.model, this.effort, el("span", { class: "grow" }), this.sendButton)),
      this.why);
    this.node.addEventListener("focusout", (e) => {
      if (!this.menu.hidden && !this.menu.contains(/** @type {Node | null} */ (e.relatedTarget)) && e.relatedTarget !== this.menuButton && e.relatedTarget) this.#toggleMenu(false);
    });
    this.#buildMenu();
    this.#update();
  }

  /** @returns {{text: string, chips: Chip[]}} */
  get draft() {
    return { text: this.field.value, chips: this.#chips };
  }

  /** @param {string} text @param {Chip[]} chips */
  setDraft(text, chips) {
    this.field.value = text;
    this.#chips = chips;
    this.#nextChip = Math.max(0, ...chips.map((chip) => chip.id)) + 1;
    this.#recalled = -1;
    this.#update();
  }

  /** Takes a message back to be changed. @param {string} text @param {Chip[]} chips */
  edit(text, chips) {
    this.setDraft(text, chips);
    this.field.focus();
    this.field.setSelectionRange(text.length, text.length);
    this.writer.changed();
  }

  /** @param {Surroundings} around */
  show(around) {
    const { running, blocked, why, armed, providers, provider, model, effort, autoCommit, screenshots, details } = around;
    this.#blocked = blocked;
    this.why.textContent = why;
    this.pickButton.setAttribute("aria-pressed", String(armed));
    this.field.placeholder = running ? "Write the next message…" : "What should change?";
    this.sendButton.title = running ? "Queue" : "Send";
    this.sendButton.setAttribute("aria-label", running ? "Queue" : "Send");
    this.#showModels(providers, provider, model, effort);
    this.autoCommit.checked = autoCommit;
    this.screenshots.checked = screenshots;
    this.details.checked = details;
    this.#update();
  }

  /** @param {Provider[]} providers @param {string} provider @param {string} model @param {string} effort */
  #showModels(providers, provider, model, effort) {
    const drawn = JSON.stringify([providers, provider, model, effort]);
    if (drawn === this.#models) return;
    this.#models = drawn;
    const usable = providers.filter((p) => p.enabled);
    this.model.hidden = usable.length === 0;
    const current = usable.find((p) => p.id === provider);
    fill(this.model, usable.map((p) => el("optgroup", { label: p.label },
      (p.models.length > 0 ? p.models : [{ id: "", label: "Its own model" }]).map((m) =>
        el("option", { value: `${p.id} ${m.id}`, title: "description" in m ? m.description : null }, usable.length > 1 && m.id === "" ? `${p.label}: its own model` : m.label || m.id)))));
    const chosen = current?.models.find((m) => m.id === model) ?? current?.models.find((m) => m.id === current.defaultModel) ?? current?.models[0];
    this.model.value = current ? `${current.id} ${chosen?.id ?? ""}` : "";
    this.model.title = current ? `${current.label}: ${chosen?.label ?? "its own model"}` : "";
    const efforts = chosen?.efforts ?? [];
    this.effort.hidden = efforts.length < 2;
    fill(this.effort, efforts.map((e) => el("option", { value: e.id, title: e.description }, e.label)));
    this.effort.value = efforts.some((e) => e.id === effort) ? effort : (chosen?.defaultEffort ?? efforts[0]?.id ?? "");
  }

  #chooseModel() {
    const [provider, ...rest] = this.model.value.split(" ");
    this.writer.chooseModel({ provider, model: rest.join(" ") });
  }

  #buildMenu() {
    const { writer } = this;
    fill(this.menu,
      el("label", { class: "menu-item" }, this.autoCommit, el("span", null, el("span", null, "Commit each run"), " ", el("span", { class: "muted" }, "Only its own lines, as a commit of its own"))),
      el("label", { class: "menu-item" }, this.screenshots, el("span", null, el("span", null, "Screenshots"), " ", el("span", { class: "muted" }, "A picture goes along with each pick"))),
      el("label", { class: "menu-item" }, this.details, el("span", null, el("span", null, "Details"), " ", el("span", { class: "muted" }, "Show the agent's raw calls"))),
      button({ label: "What the agent receives", icon: "eye", text: true, class: "menu-item", data: { sw: "preview" } }, () => {
        this.#toggleMenu(false);
        writer.preview();
      }));
    this.menu.addEventListener("keydown", (e) => {
      if (e.key !== "Escape") return;
      e.preventDefault();
      e.stopPropagation();
      this.#toggleMenu(false);
      this.menuButton.focus();
    });
  }

  /** @param {boolean} [open] */
  #toggleMenu(open = this.menu.hidden !== false) {
    this.menu.hidden = !open;
    this.menuButton.setAttribute("aria-expanded", String(open));
    if (open) this.menu.querySelector("input")?.focus();
  }

  submit() {
    const text = this.field.value.trim();
    if (text === "" && this.#chips.length === 0) return this.field.focus();
    if (this.#blocked) return this.writer.announce(this.#blocked);
    const chips = this.#chips;
    if (chips.length > 0) this.writer.highlight(null);
    this.setDraft("", []);
    this.writer.send(text, chips);
    this.writer.changed();
  }

  #typed() {
    this.#recalled = -1;
    this.#update();
    this.writer.changed();
  }

  #update() {
    const empty = this.field.value.trim() === "" && this.#chips.length === 0;
    this.sendButton.setAttribute("aria-disabled", String(empty || this.#blocked !== ""));
    this.why.hidden = this.why.textContent === "" || empty;
    this.chipList.hidden = this.#chips.length === 0;
    fill(this.chipList, this.#chips.map((chip) => chipNode(chip, { remove: () => this.#remove(chip), highlight: this.writer.highlight })));
  }

  /** @param {Chip} chip */
  #remove(chip) {
    this.writer.highlight(null); // what is taken out does not tell that it is left
    this.#chips = this.#chips.filter((c) => c !== chip);
    this.#update();
    this.field.focus();
    this.writer.changed();
  }

  /** @param {import("./chips.js").Capture} capture @param {string} thumb @returns {boolean} */
  addCapture(capture, thumb) {
    if (this.#chips.length >= mostChips) {
      this.writer.announce(`No more than ${mostChips} elements and pictures go along with a message.`);
      return false;
    }
    this.#chips = [...this.#chips, { id: this.#nextChip++, capture, thumb }];
    this.#update();
    this.writer.changed();
    return true;
  }

  /** What was found out later about a picked element. @param {string} pick @param {import("./chips.js").Capture} patch @param {string} thumb */
  patchCapture(pick, patch, thumb) {
    this.#chips = patched(this.#chips, pick, patch, thumb);
    this.#update();
    this.writer.changed();
  }

  /** @param {ClipboardEvent} event */
  async #paste(event) {
    const files = picturesOf(event.clipboardData);
    if (files.length === 0) return; // text: the field's own business
    event.preventDefault();
    for (const file of files) {
      try {
        const { capture, thumb } = await pastedCapture(file);
        if (!this.addCapture(capture, thumb)) return;
      } catch {
        this.writer.announce("This picture cannot be read. Paste it as PNG, JPEG or WebP.");
      }
    }
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.isComposing) return; // an input method's own keys
    if (event.key === "Enter") {
      if (event.shiftKey || event.altKey) return;
      event.preventDefault();
      if (event.metaKey || event.ctrlKey) {
        this.field.setRangeText("\n", this.field.selectionStart, this.field.selectionEnd, "end");
        return this.#typed();
      }
      return this.submit();
    }
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      if (!this.menu.hidden) {
        this.#toggleMenu(false);
        return this.menuButton.focus();
      }
      return this.writer.escape();
    }
    if (event.key === "ArrowUp" || event.key === "ArrowDown") this.#recall(event);
  }

  /** Arrow up in an empty field: what was sent before. @param {KeyboardEvent} event */
  #recall(event) {
    const sent = this.writer.recall();
    const up = event.key === "ArrowUp";
    if (event.shiftKey || event.altKey || event.metaKey || event.ctrlKey || sent.length === 0) return;
    if (this.#recalled < 0 && (!up || this.field.value !== "")) return;
    if (this.#recalled < 0) this.#draft = this.field.value;
    const next = Math.min(this.#recalled + (up ? 1 : -1), sent.length - 1);
    event.preventDefault();
    this.#recalled = next;
    this.field.value = next < 0 ? this.#draft : sent[sent.length - 1 - next];
    this.field.setSelectionRange(this.field.value.length, this.field.value.length);
    this.#update();
    this.writer.changed();
  }
}

/** A line that says what runs, with the button that stops it. */
export class RunBar {
  #words = el("span", { class: "cut" });
  #numbers = el("span", { class: "muted" });
  #stop;

  /** @param {() => void} stop */
  constructor(stop) {
    this.#stop = button({ label: "Stop", icon: "stop", text: true, class: "button small", data: { sw: "stop" } }, stop);
    this.node = el("div", { class: "run-bar", hidden: true, data: { sw: "run-bar" } }, el("span", { class: "spinner", "aria-hidden": "true" }), el("div", { class: "run-words" }, this.#words, this.#numbers), this.#stop);
  }

  /** @param {{words: string, numbers: string, stopping: boolean} | null} run */
  show(run) {
    this.node.hidden = run === null;
    if (!run) return;
    if (this.#words.textContent !== run.words) this.#words.textContent = run.words;
    if (this.#numbers.textContent !== run.numbers) this.#numbers.textContent = run.numbers;
    this.#stop.disabled = run.stopping;
  }
}
