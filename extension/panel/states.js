// Runs in: side panel. What stands in place of a chat while there is no shim
// to talk to. Each says what is the case, why, and the one thing to do.

import { button, el, icon } from "../lib/dom.js";
import { isLoopback } from "../lib/settings.js";
import { fixLine } from "./fix.js";

/** @typedef {import("./connection.js").State} State */

/** @param {string} name */
const quoted = (name) => name && `“${name}”`;

/**
 * @typedef {object} Actions
 * @property {(text: string) => void} copy
 * @property {() => void} openSettings
 * @property {() => void} retry
 * @property {() => void} turnOn
 * @property {(use: boolean) => void} answerOffer
 */

/** @typedef {{icon: string, title: string, text: string, command?: string, after?: string, busy?: boolean, buttons?: [string, keyof Actions | (() => void), boolean?][]}} Words */

/**
 * @param {State} state
 * @param {Actions} actions
 * @returns {Words | null}
 */
function words(state, actions) {
  switch (state.kind) {
    case "ready": return null;
    case "loading": return { icon: "plug", title: "Connecting", text: `Asking the shim at ${state.url} what it works on.`, busy: true };
    case "restricted": return {
      icon: "info", title: "Not on this page",
      text: "Chrome keeps extensions out of its own pages, the Web Store and files. Open the app you work on, and this panel follows.",
    };
    case "off": return {
      icon: "plug", title: "Switched off for this site", text: `Slide Write does nothing on ${state.origin} until you switch it on.`,
      buttons: [["Switch on", "turnOn", true], ["Settings", "openSettings"]],
    };
    case "unpaired": return {
      icon: "plug", title: "Connect this site to its project",
      text: isLoopback(state.origin) ? `Run this in the project that serves ${state.origin}:` : `Nothing is connected to ${state.origin}. If it is your app, run this in its project:`, command: `slidewrite --origin ${state.origin}`,
      after: "Then open the link it prints. If it already runs, slidewrite pair prints a new one.",
      buttons: [["Enter address and token", "openSettings"]],
    };
    case "offer": return {
      icon: "plug", title: `Use ${quoted(state.pairing.project) || "the new project"} here?`,
      text: `You connected ${quoted(state.pairing.project) || "a project"} at ${state.pairing.shimUrl}. Prompts from ${state.origin} would change its files.`,
      buttons: [[`Use ${quoted(state.pairing.project) || "it"} for this site`, () => actions.answerOffer(true), true], ["Not for this site", () => actions.answerOffer(false)]],
    };
    case "down": return {
      icon: "warn", title: "The shim is not running", text: state.message + " Start it in your project:", command: state.fix,
      after: "This panel connects by itself when it is up.", busy: true, buttons: [["Settings", "openSettings"]],
    };
    case "refused": return {
      icon: "warn", title: "The token is not the right one", text: state.message + " Ask for a new link in your project:", command: state.fix,
      after: "Open the link it prints, and this site is connected again.", buttons: [["Try again", "retry"], ["Settings", "openSettings"]],
    };
    case "failed": return { icon: "warn", title: "The shim refused", text: state.message, command: state.fix, buttons: [["Try again", "retry", true], ["Settings", "openSettings"]] };
  }
}

/**
 * @param {State} state
 * @param {Actions} actions
 * @param {boolean} beside there is a chat as well: be brief
 * @returns {HTMLElement | null}
 */
export function stateCard(state, actions, beside) {
  const said = words(state, actions);
  if (!said) return null;
  return el("section", { class: beside ? "state beside" : "state", data: { sw: "state", state: state.kind }, "aria-label": said.title },
    el("div", { class: "state-title" }, icon(said.icon), el("h2", null, said.title), said.busy && el("span", { class: "spinner", "aria-hidden": "true" })),
    el("p", null, said.text),
    fixLine(said.command ?? "", actions.copy),
    said.after && el("p", { class: "muted" }, said.after),
    said.buttons && el("div", { class: "row" }, said.buttons.map(([label, action, primary]) =>
      button({ label, class: primary ? "button primary" : "button" }, typeof action === "function" ? action : () => /** @type {() => void} */ (actions[action])()))));
}
