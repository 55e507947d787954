// Runs in: side panel. What goes along with a message: captures of picked
// elements and pasted pictures, five at most.

import { button, el, icon } from "../lib/dom.js";
import { namesOf } from "./elements.js";

/**
 * Part of the shim's contract, an item of `elements` of a request. The panel hands it
 * on and reads only what it draws.
 * @typedef {Record<string, unknown>} Capture
 */
/** What goes along; lost: its picture was not kept. @typedef {{id: number, capture: Capture, thumb: string, lost?: boolean}} Chip */
/** @typedef {import("./store.js").ChipView} ChipView */
/** @typedef {import("./elements.js").Target} Target */

/** As many as the shim uses. */
export const mostChips = 5;

/** @param {unknown} value */
const text = (value) => (typeof value === "string" ? value : "");

/** @param {Capture} capture */
export function chipLabel(capture) {
  if (capture.pasted === true) return `pasted image · ${Number(capture.screenshotW) || "?"}×${Number(capture.screenshotH) || "?"}`;
  const first = text(capture.className).trim().split(/\s+/)[0];
  return (text(capture.tag) || "element") + (first ? "." + first : "");
}

/** @param {Chip} chip @returns {ChipView} */
export function chipView({ capture, thumb }) {
  return { label: chipLabel(capture), text: text(capture.text), thumb, pasted: capture.pasted === true, pick: text(capture.pick), path: text(capture.domPath), names: namesOf(capture) };
}

/**
 * @param {Chip} chip
 * @param {{remove: () => void, highlight: (target: Target | null) => void}} actions
 * @returns {HTMLElement}
 */
export function chipNode(chip, { remove, highlight }) {
  const { label, text: words, thumb, pasted, path, pick } = chipView(chip);
  return el("li", { class: "chip", title: words ? `${label}: ${words}` : label, on: {
    pointerenter: () => !pasted && highlight({ selector: path, pick }), pointerleave: () => !pasted && highlight(null),
    focusin: () => !pasted && highlight({ selector: path, pick }), focusout: () => !pasted && highlight(null),
  } },
    thumb ? el("img", { src: thumb, alt: "" }) : icon(pasted ? "image" : "pick"),
    el("span", { class: "cut" }, el("span", null, label), words && el("span", { class: "muted", dir: "auto" }, " " + words)),
    chip.lost && el("span", { class: "tag lost", title: `The picture was too large to be kept while the panel was closed. ${pasted ? "Paste" : "Pick"} it again to send one.` }, "no picture"),
    button({ label: `Remove ${label}`, icon: "close", class: "chip-remove" }, remove));
}

/**
 * A chip's capture as the shim takes it: the panel's own fields stay here.
 * @param {Chip} chip
 * @returns {Capture}
 */
export function forShim({ capture }) {
  const { screenshotW: _w, screenshotH: _h, pick: _pick, ...rest } = capture;
  return rest;
}

/**
 * Chips with what was found out later about a picked element.
 * @param {Chip[]} chips
 * @param {string} pick the name of the pick
 * @param {Capture} patch
 * @param {string} thumb "" for none
 * @returns {Chip[]}
 */
export function patched(chips, pick, patch, thumb) {
  return chips.map((chip) => (pick && chip.capture.pick === pick ? { ...chip, capture: { ...chip.capture, ...patch, pick }, thumb: thumb || chip.thumb, ...(chip.lost && { lost: !patch.screenshotDataUrl }) } : chip));
}
