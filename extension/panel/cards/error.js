// Runs in: side panel. A run that failed: what happened, and what to do next.

import { button, el, fill, icon } from "../../lib/dom.js";
import { hour, oneLine, until } from "../../lib/format.js";
import { fixLine } from "../fix.js";

/** What an error is called, by its code. @type {Record<string, string>} */
const titles = {
  not_found: "The agent is not installed",
  not_signed_in: "The agent is not signed in",
  billing: "The plan or credit does not cover this",
  rate_limited: "The limit is used up",
  overloaded: "The service is overloaded",
  model_not_found: "This model is not available",
  prompt_too_long: "The message is too long",
  max_turns: "The limit of turns was reached",
  refused: "The agent refused",
  crashed: "The run ended unexpectedly",
  timeout: "It took too long",
  unsupported: "This provider cannot do that",
  busy: "Another run is going on here",
  unreachable: "Not sent",
  silent: "Not sent",
  not_a_shim: "Not sent",
  not_known: "Perhaps not sent",
  no_run: "This run is not kept any more",
  unauthorized: "The token is not the right one",
  too_large: "The message is too large",
};

/** @param {import("./index.js").Desk} desk @returns {import("./index.js").View<import("../store.js").ErrorItem>} */
export function errorCard(desk) {
  const node = el("div", { class: "card error" });
  /** @type {import("../store.js").ErrorItem | undefined} */
  let item;
  const row = el("div", { class: "row" });
  return {
    node,
    update(now, { last, idle }) {
      row.hidden = !last || !idle;
      if (now === item) return;
      item = now;
      const { code, message, fix, resetsAt, busy } = now;
      const time = resetsAt && until(resetsAt, new Date());
      fill(row,
        code === "busy" && button({ label: "Send it after that", class: "button primary" }, desk.queueLast),
        code === "busy" && button({ label: "Show it", class: "button" }, () => desk.openBusy(now)),
        code === "max_turns" && button({ label: "Continue", class: "button primary" }, desk.goOn),
        code === "not_signed_in" && button({ label: "Check again", class: "button" }, desk.checkAgain),
        button({ label: "Try again", icon: "retry", text: true, class: "button" }, desk.retry));
      // Why there is no shim, and what to do, stands on the connection's own card.
      const unsent = titles[code] === "Not sent";
      fill(node,
        el("div", { class: "card-title" }, icon("error"), el("h3", null, titles[code] ?? "That did not work")),
        el("div", { class: "error-text", dir: "auto", ...(message.length > 400 && { tabindex: "0", role: "group", "aria-label": "Message" }) }, busy ? busyText(busy) : unsent ? "The shim did not answer." : message),
        time && el("p", null, `It resets ${time}.`),
        !busy && !unsent && fixLine(fix, desk.copy),
        row);
    },
  };
}

/** @param {import("../store.js").Busy} busy */
function busyText({ prompt, startedAt }) {
  const time = new Date(startedAt);
  const since = Number.isNaN(time.getTime()) ? "" : `, since ${hour(time)}`;
  return prompt ? `“${oneLine(prompt, 140)}”${since}. One run at a time works on a repository.` : `One run at a time works on a repository${since}.`;
}
