// Runs in: options page. The controls of a setting: each has a label, a hint,
// a place for what is wrong with its value, and says when it was saved.

import { button, el, fill, icon } from "../lib/dom.js";

/** @typedef {{node: HTMLElement, set: (value: any) => void}} Control */
/** What happens with a new value; it may throw a sentence for people. @typedef {(value: any) => unknown} Save */

let last = 0;
const newId = () => `c${++last}`;

const saved = /** @type {HTMLElement} */ (document.getElementById("saved"));
/** @type {ReturnType<typeof setTimeout> | undefined} */
let savedTimer;

/** Says so, to eyes and ears. */
export function sayShortly(/** @type {string} */ text) {
  clearTimeout(savedTimer);
  saved.textContent = text;
  saved.classList.add("shown");
  savedTimer = setTimeout(() => saved.classList.remove("shown"), 2_000);
}

/**
 * @param {HTMLInputElement | HTMLSelectElement} input
 * @param {HTMLElement} error
 * @param {Save} save
 * @param {() => unknown} read
 */
async function store(input, error, save, read) {
  try {
    const kept = (await save(read())) !== false;
    error.textContent = "";
    input.removeAttribute("aria-invalid");
    if (kept) sayShortly("Saved");
  } catch (err) {
    error.textContent = err instanceof Error ? err.message : String(err);
    input.setAttribute("aria-invalid", "true");
  }
}

/**
 * A line of text; with secret, hidden until asked for.
 * @param {{label: string, hint?: string, placeholder?: string, secret?: boolean, code?: boolean}} what
 * @param {Save} save
 * @returns {Control}
 */
export function textField({ label, hint = "", placeholder = "", secret = false, code = false }, save) {
  const id = newId();
  const error = el("p", { class: "error", id: id + "e", role: "alert" });
  const input = el("input", {
    class: code ? "input code" : "input", id, type: secret ? "password" : "text", placeholder, spellcheck: "false",
    autocomplete: "off", autocapitalize: "off", "aria-describedby": `${id}h ${id}e`,
  });
  input.addEventListener("change", () => void store(input, error, save, () => input.value));
  const node = el("div", { class: "field" },
    el("label", { for: id }, label),
    el("div", { class: "value" },
      secret ? el("div", { class: "secret" }, input, reveal(input, label)) : input,
      error,
      el("p", { class: "hint", id: id + "h" }, hint)));
  return {
    node,
    set(value) {
      if (document.activeElement !== input) input.value = value;
    },
  };
}

/** @param {HTMLInputElement} input @param {string} label */
function reveal(input, label) {
  const eye = button({ label: `Show: ${label}`, icon: "eye", class: "button quiet icon", "aria-pressed": "false" }, () => {
    const shown = input.type === "password";
    input.type = shown ? "text" : "password";
    eye.setAttribute("aria-pressed", String(shown));
  });
  return eye;
}

/** @typedef {{value: string, label: string}} Choice */

/**
 * @param {{label: string, hint?: string, choices?: Choice[]}} what
 * @param {Save} save
 * @returns {Control & {offer: (choices: Choice[]) => void}}
 */
export function selectField({ label, hint = "", choices = [] }, save) {
  const id = newId();
  const error = el("p", { class: "error", role: "alert" });
  const input = el("select", { class: "input", id, "aria-describedby": id + "h" });
  let value = "";
  let offered = choices;
  const draw = () => {
    // A value that is not offered now is kept, and shown.
    const all = offered.some((c) => c.value === value) ? offered : [...offered, { value, label: value }];
    fill(input, all.map((c) => el("option", { value: c.value }, c.label)));
    input.value = value;
  };
  input.addEventListener("change", () => {
    value = input.value;
    void store(input, error, save, () => value);
  });
  return {
    node: el("div", { class: "field" }, el("label", { for: id }, label), el("div", { class: "value" }, input, error, el("p", { class: "hint", id: id + "h" }, hint))),
    set(v) {
      value = v;
      draw();
    },
    offer(c) {
      offered = c;
      draw();
    },
  };
}

/**
 * On or off.
 * @param {{label: string, hint?: string}} what
 * @param {Save} save
 * @returns {Control}
 */
export function checkField({ label, hint = "" }, save) {
  const id = newId();
  const error = el("p", { class: "error", role: "alert" });
  const input = el("input", { type: "checkbox", id, "aria-describedby": id + "h" });
  input.addEventListener("change", () => {
    const wanted = input.checked;
    void store(input, error, async (v) => {
      let kept = /** @type {unknown} */ (false);
      try {
        return (kept = await save(v));
      } finally {
        if (kept === false) input.checked = !wanted;
      }
    }, () => wanted);
  });
  return {
    node: el("div", { class: "check" }, input, el("div", null, el("label", { for: id }, label), el("p", { class: "hint", id: id + "h" }, hint), error)),
    set(value) {
      input.checked = value;
    },
  };
}

const levels = { ok: "check", info: "info", warn: "warn", danger: "error" };
const spoken = { ok: "", info: "", warn: "Warning: ", danger: "Problem: " };

/** @param {import("./diagnose.js").Finding["level"]} level */
export const mark = (level) => el("span", { class: `mark ${level}` }, icon(levels[level]), el("span", { class: "visually-hidden" }, spoken[level]));
