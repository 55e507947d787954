// Runs in: side panel. Tool calls in a row: one sentence, which opens to the
// single calls, each of which opens to its output. A failure opens by itself.

import { button, el, fill, icon } from "../../lib/dom.js";
import { oneLine } from "../../lib/format.js";
import { place } from "../place.js";
import { plain, sentence, summary } from "../steps.js";

/** @typedef {import("../store.js").Step} Step */
/** @typedef {import("../store.js").StepsItem} StepsItem */

/** So many calls are shown at once. */
const most = 60;

/** @param {import("../steps.js").Piece[]} pieces */
const set = (pieces) => pieces.map((piece, i) => [i > 0 && !piece.tight && " ", piece.code ? el("code", { class: /^\S{1,24}$/.test(piece.text) && "word", title: piece.text }, piece.text) : el("span", null, piece.text)]).flat();

/** @param {Step} step */
const failed = (step) => step.result?.isError === true;

let ids = 0;

/** @param {import("./index.js").Desk} _desk @returns {import("./index.js").View<StepsItem>} */
export function stepsCard(_desk) {
  const id = `steps-${++ids}`;
  const mark = el("span", { class: "step-mark" });
  const words = el("span", { class: "step-words" });
  const head = button({ label: "", class: "steps-head", "aria-expanded": "false", "aria-controls": id }, () => open(!isOpen, true));
  head.replaceChildren(icon("chevron"), mark, words);
  const earlier = button({ label: "", class: "link more" }, () => {
    back = true;
    from = Math.max(0, from - most);
    draw();
  });
  const first = el("li", null, earlier);
  const list = el("ul", { id, class: "steps-list", hidden: true });
  const node = el("div", { class: "steps" }, head, list);

  let isOpen = false;
  let chosen = false; // the reader has opened or closed it
  let from = 0;
  let back = false; // the reader has gone back from the last ones
  /** @type {StepsItem | undefined} */
  let item;
  let details = false;
  /** @type {Map<number, {step: Step, row: StepRow}>} */
  const rows = new Map();

  /** @param {boolean} now @param {boolean} [byReader] */
  function open(now, byReader = false) {
    chosen ||= byReader;
    isOpen = now;
    list.hidden = !now;
    head.setAttribute("aria-expanded", String(now));
    draw();
  }

  function draw() {
    if (!isOpen || !item) return;
    const { steps } = item;
    if (!back) from = Math.max(0, steps.length - most);
    for (const i of rows.keys()) if (i < from) rows.delete(i);
    for (let i = from; i < steps.length; i++) {
      const known = rows.get(i);
      if (known?.step === steps[i] && known.row.details === details && known.row.alone === (steps.length === 1)) continue;
      const row = known?.row ?? new StepRow(steps[i]);
      row.update(steps[i], details, steps.length === 1);
      rows.set(i, { step: steps[i], row });
    }
    const wanted = [...Array(steps.length - from).keys()].map((i) => /** @type {{row: StepRow}} */ (rows.get(from + i)).row.node);
    earlier.textContent = `Show ${Math.min(from, most)} earlier`;
    if (from > 0) wanted.unshift(first);
    place(list, wanted);
  }

  return {
    node,
    update(now, around) {
      item = now;
      details = around.details;
      const { steps } = now;
      const last = steps[steps.length - 1];
      const running = around.live && !last.result;
      const anyFailed = steps.some(failed);
      const pieces = running ? sentence(last, true) : summary(steps);
      fill(words, set(pieces), running && steps.length > 1 && el("span", { class: "muted" }, ` · step ${steps.length}`));
      fill(mark, running ? el("span", { class: "spinner" }) : anyFailed ? icon("warn") : null);
      mark.hidden = !running && !anyFailed;
      head.title = plain(pieces);
      head.classList.toggle("failed", anyFailed);
      // A single call opens to its output: without one there is nothing to open.
      head.disabled = steps.length === 1 && !details && !last.result?.text.trim();
      const wants = details || (failed(last) && !head.disabled) || (anyFailed && isOpen);
      if (!chosen && wants !== isOpen) open(wants);
      else draw();
    },
  };
}

/** One call in the list. */
class StepRow {
  details = false;
  alone = false;
  /** @type {boolean | null} what the reader wants */
  #chosen = null;

  /** @param {Step} step */
  constructor(step) {
    this.node = el("li", { class: step.parentId ? "step nested" : "step" });
  }

  /** @param {Step} step @param {boolean} details @param {boolean} alone its sentence is that of the whole group */
  update(step, details, alone) {
    this.details = details;
    this.alone = alone;
    const words = el("span", { class: "step-words" }, set(sentence(step)));
    const output = step.result?.text.trimEnd() ?? "";
    const raw = details && el("code", { class: "raw", dir: "ltr" }, oneLine(`${step.tool} ${step.detail}`, 1_000));
    this.node.classList.toggle("failed", failed(step));
    if (alone) {
      fill(this.node, output && outputOf(step, output), raw);
      return;
    }
    if (!output) {
      fill(this.node, el("div", { class: "step-line" }, failed(step) && icon("warn"), words, failed(step) && el("span", { class: "muted" }, "failed")), raw);
      return;
    }
    const box = el("details", { class: "output", open: this.#chosen ?? failed(step) },
      el("summary", { class: "step-line" }, icon("chevron"), failed(step) && icon("warn"), words));
    const show = () => {
      if (box.open && box.children.length === 1) {
        box.append(outputOf(step, output));
      }
    };
    box.addEventListener("toggle", () => {
      if (box.isConnected && box.open !== (this.#chosen ?? failed(step))) this.#chosen = box.open;
      show();
    });
    show();
    fill(this.node, box, raw);
  }
}

/** @param {Step} step @param {string} output */
function outputOf(step, output) {
  return el("div", { class: "output-text" },
    el("pre", { tabindex: "0", role: "group", "aria-label": "Output", dir: "ltr" }, output),
    step.result?.truncated && el("p", { class: "muted" }, "The beginning of a longer output."));
}
