// Runs in: side panel. Items that are one line: notes, how a run was stopped,
// what it took, pictures being made, and the line between two chats.

import { el, fill, icon } from "../../lib/dom.js";
import { bytes, cost, count, duration, plural, until } from "../../lib/format.js";

/** @typedef {import("./index.js").Desk} Desk */
/**
 * @template {import("../store.js").Item} I
 * @typedef {import("./index.js").View<I>} View
 */

/** @param {Desk} _desk @returns {View<import("../store.js").NoteItem>} */
export function noteLine(_desk) {
  const node = el("div", { class: "line note" });
  return {
    node,
    update({ message, level, resetsAt }) {
      const warning = level === "warning";
      const time = resetsAt && until(resetsAt, new Date());
      node.classList.toggle("warning", warning);
      fill(node, icon(warning ? "warn" : "info"), el("p", { dir: "auto" }, message, time && ` Resets ${time}.`));
    },
  };
}

/** Who stopped a run. @type {Record<string, string>} */
const by = {
  user: "Stopped. Nothing was taken back.",
  disconnect: "Stopped: nobody was listening any more.",
  shutdown: "Stopped: slidewrite was ended.",
  timeout: "Stopped: it took longer than --run-timeout allows.",
};

/** @param {Desk} _desk @returns {View<import("../store.js").StoppedItem>} */
export function stoppedLine(_desk) {
  const node = el("div", { class: "line note" });
  return { node, update: (item) => fill(node, icon("stop"), el("p", null, by[item.by] ?? "Stopped.")) };
}

/** @param {Desk} _desk @returns {View<import("../store.js").StatsItem>} */
export function statsLine(_desk) {
  const node = el("p", { class: "stats" });
  return {
    node,
    update({ numTurns, durationMs, totalCostUsd, usage }) {
      const parts = [
        numTurns > 0 && plural(numTurns, "turn"),
        durationMs > 0 && duration(durationMs),
        totalCostUsd > 0 && cost(totalCostUsd),
        usage && `${count(usage.inputTokens + usage.cacheReadTokens + usage.cacheCreationTokens)} in`,
        usage && `${count(usage.outputTokens)} out`,
      ];
      fill(node, parts.filter((part) => typeof part === "string").map((part) => el("span", null, part)));
      node.title = usage ? `Tokens: ${usage.inputTokens} new, ${usage.cacheReadTokens} read from cache, ${usage.cacheCreationTokens} written to cache, ${usage.outputTokens} out` : "";
    },
  };
}

/** @param {Desk} _desk @returns {View<import("../store.js").ImageItem>} */
export function imageLine(_desk) {
  const node = el("div", { class: "line note" });
  return {
    node,
    update({ state, mimeType, bytes: size }) {
      const made = state === "generated";
      fill(node, icon("image"), el("p", null, made ? `Made a picture (${mimeType.replace("image/", "").toUpperCase()}, ${bytes(size)}).` : "Making a picture…"));
    },
  };
}

/** @param {Desk} _desk @returns {View<import("../store.js").DividerItem>} */
export function dividerLine(_desk) {
  const node = el("div", { class: "divider" });
  return { node, update: ({ text }) => fill(node, el("span", { dir: "auto" }, text)) };
}
