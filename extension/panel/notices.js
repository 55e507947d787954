// Runs in: side panel. Quiet lines above a chat that works: what is not as it
// should be with the agent, git, or the versions.

import { button, el } from "../lib/dom.js";
import { compareVersions, extensionVersion } from "../lib/version.js";
import { fixLine } from "./fix.js";

/** @typedef {import("../lib/shim.js").Meta} Meta */
/** @typedef {import("../lib/shim.js").Provider} Provider */

/** What git states mean for a run; those that are not here are no matter. @type {Record<string, string>} */
const gitWords = {
  none: "This folder is no git repository: runs work, without a list of changes, commits or undo.",
  merging: "A merge is going on: changes are not committed until it is finished.",
  rebasing: "A rebase is going on: changes are not committed until it is finished.",
  reverting: "A revert is going on: changes are not committed until it is finished.",
  bisecting: "A bisect is going on: changes are not committed until it is finished.",
  am: "Patches are being applied: changes are not committed until that is finished.",
  locked: "Another git command holds the index: changes are not committed while it does.",
  unsafe: "Git does not trust this repository, because someone else owns it.",
  bare: "This repository has no working tree.",
};

/**
 * @param {Meta} meta
 * @param {Provider | null} provider the one that is chosen
 * @param {{copy: (text: string) => void, checkAgain: () => void}} actions
 * @returns {HTMLElement[]}
 */
export function notices(meta, provider, { copy, checkAgain }) {
  /** @type {HTMLElement[]} */
  const found = [];
  if (provider?.error) {
    found.push(notice("agent", "warn", `${provider.label}: ${provider.error}`, provider.fix ?? "", copy,
      button({ label: "Check again", class: "link" }, checkAgain)));
  } else if (provider?.pending) {
    found.push(notice("pending", "", `${provider.label} has not answered yet; its models follow.`, "", copy));
  }
  const git = gitWords[meta.git.state];
  if (git) found.push(notice("git", meta.git.state === "none" ? "" : "warn", git, meta.git.fix ?? (meta.git.state === "none" ? "git init" : ""), copy));
  const versions = mismatch(meta.version);
  if (versions) found.push(notice("version", "", versions.text, versions.fix, copy, versions.reload && button({ label: "Reload the extension", class: "link" }, () => chrome.runtime.reload())));
  return found;
}

/**
 * Picking did not work, or has ended.
 * @param {import("./picking.js").Trouble} trouble
 * @param {() => void} reload
 */
export function troubleNotice({ message, reload: helps, quiet }, reload) {
  return el("div", { class: quiet ? "notice" : "notice warn", role: quiet ? "status" : "alert", data: { sw: "notice", notice: "picker" } },
    el("p", { dir: "auto" }, message, helps && " ", helps && button({ label: "Reload the tab", class: "link" }, reload)));
}

/**
 * @param {string} name
 * @param {string} level
 * @param {string} text
 * @param {string} fix
 * @param {(text: string) => void} copy
 * @param {HTMLElement | false} [action]
 */
function notice(name, level, text, fix, copy, action = false) {
  return el("div", { class: `notice ${level}`, data: { sw: "notice", notice: name } }, el("p", { dir: "auto" }, text, action && " ", action), fixLine(fix, copy));
}

/**
 * What to say when the shim is of another version than the extension.
 * @param {string} shimVersion
 */
function mismatch(shimVersion) {
  const own = extensionVersion();
  const newer = compareVersions(shimVersion, own);
  if (newer === 0) return null;
  return newer > 0
    ? { text: `The shim is ${shimVersion}, this extension ${own}. Write out the one that belongs to it, then reload:`, fix: "slidewrite extension", reload: true }
    : { text: `This extension is ${own}, the shim only ${shimVersion}. Update slidewrite, and restart it.`, fix: "", reload: false };
}
