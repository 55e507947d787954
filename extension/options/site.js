// Runs in: options page. The settings of one origin: a row that opens, and
// what "Test connection" finds.

import { command } from "../lib/command.js";
import { button, el, fill } from "../lib/dom.js";
import { fixParts } from "../lib/format.js";
import { allowOrigin, permissionOf } from "../lib/permission.js";
import { forOrigin, isLoopback, load, removeOrigin, saveOrigin, shimAddress, usePairing } from "../lib/settings.js";
import { connect } from "../lib/shim.js";
import { extensionVersion } from "../lib/version.js";
import { checkField, mark, selectField, sayShortly, textField } from "./controls.js";
import { diagnose } from "./diagnose.js";

/** @typedef {import("../lib/settings.js").Settings} Settings */
/** @typedef {import("../lib/settings.js").OriginSettings} OriginSettings */
/** @typedef {import("../lib/shim.js").Meta} Meta */

/**
 * @param {string} origin
 * @param {Settings} now
 */
export function siteCard(origin, now) {
  let settings = now;
  /** @type {Meta | null} */
  let meta = null;
  let asked = false;
  const site = () => forOrigin(settings, origin);
  /** @param {Partial<OriginSettings>} patch */
  const save = (patch) => saveOrigin(origin, patch);

  const state = el("span", { class: "state" });
  const project = el("span", { class: "project" });
  const notices = el("div", { class: "notices" });
  const findings = el("ul", { class: "findings", "aria-label": "What the test found" });
  const verdict = el("p", { class: "visually-hidden", role: "status" });

  const provider = selectField({ label: "Provider" }, (v) => save({ provider: v, model: "", effort: "" }));
  const model = selectField({ label: "Model" }, (v) => save({ model: v, effort: "" }));
  const effort = selectField({ label: "Effort" }, (v) => save({ effort: v }));

  /** @type {[keyof OriginSettings, import("./controls.js").Control][]} */
  const connection = [
    ["shimUrl", textField({ label: "Shim address", hint: "Printed by slidewrite when it starts.", placeholder: "http://127.0.0.1:4040", code: true }, async (v) => {
      const address = shimAddress(v);
      if (address === null) throw new Error("Not an address. It looks like http://127.0.0.1:4040.");
      forget();
      await save({ shimUrl: address });
    })],
    ["token", textField({ label: "Token", hint: "Pairing fills it in. Only this extension can read it.", secret: true, code: true }, async (v) => {
      forget();
      await save({ token: v.trim() });
    })],
  ];
  /** @type {[keyof OriginSettings, import("./controls.js").Control][]} */
  const agent = [["provider", provider], ["model", model], ["effort", effort]];
  /** @type {[keyof OriginSettings, import("./controls.js").Control][]} */
  const behaviour = [
    ["enabled", checkField({ label: "Use Slide Write on this site" }, async (v) => {
      // First: Chrome asks for permission only while the click is fresh.
      if (v) return allowOrigin(origin);
      await save({ enabled: false });
      return true;
    })],
    ["autoCommit", checkField({ label: "Commit what each run changed", hint: "Off leaves the changes uncommitted." }, (v) => save({ autoCommit: v }))],
    ["autoReload", checkField({ label: "Reload the page when a run changed files", hint: "For apps that do not update by themselves." }, (v) => save({ autoReload: v }))],
    ["screenshots", checkField({ label: "Send a picture of each picked element" }, (v) => save({ screenshots: v }))],
  ];
  /** @type {[keyof OriginSettings, import("./controls.js").Control][]} */
  const picking = [
    ["debuggerPicker", checkField({
      label: "Pick through Chrome's debugger",
      hint: "The agent is also told which rules style an element, with file and line, and you can pick inside frames of other sites. While you pick, Chrome shows a bar that says “Slide Write started debugging this browser”; Cancel there ends picking.",
    }, (v) => save({ debuggerPicker: v }))],
  ];

  const test = button({ label: "Test connection", class: "button" }, () => void runTest());
  const node = el("details", { class: "site", data: { origin } },
    el("summary", null, el("span", { class: "who" }, el("span", { class: "origin" }, origin), " ", project), " ", state),
    el("div", { class: "body" },
      notices,
      el("div", { class: "group" }, behaviour[0][1].node),
      el("div", { class: "group" }, el("h3", null, "Connection"), connection.map(([, c]) => c.node), el("div", { class: "actions" }, test), verdict, findings),
      el("div", { class: "group" }, el("h3", null, "Agent"), agent.map(([, c]) => c.node)),
      el("div", { class: "group" }, el("h3", null, "Picking"), picking.map(([, c]) => c.node)),
      el("div", { class: "group" }, el("h3", null, "Runs"), behaviour.slice(1).map(([, c]) => c.node)),
      remover(origin)));
  node.addEventListener("toggle", () => {
    if (node.open) void learn();
  });

  /** What another shim had said. */
  function forget() {
    asked = false;
    meta = null;
    fill(findings);
    verdict.textContent = "";
  }

  /** Shows these settings, and what goes with them. @param {Settings} next */
  function update(next) {
    settings = next;
    const s = site();
    for (const [name, control] of [...connection, ...agent, ...picking, ...behaviour]) control.set(s[name]);
    const [word, level] = !s.enabled ? ["Off", "off"] : s.token === "" ? ["Not paired", "warn"] : ["Paired", "ok"];
    state.textContent = word;
    state.className = `state ${level}`;
    project.textContent = s.project;
    offerChoices();
    void showNotices();
    if (node.open) void learn();
  }

  async function showNotices() {
    const s = site();
    const allowed = isLoopback(origin) || (await chrome.permissions.contains({ origins: [permissionOf(origin)] }));
    fill(notices,
      s.enabled && !allowed && el("div", { class: "notice warn row" }, el("p", null, "Chrome does not let Slide Write work on this site."), button({ label: "Allow", class: "button" }, async () => {
        await allowOrigin(origin);
        await showNotices();
      })),
      s.token === "" && pairingNotice());
  }

  function pairingNotice() {
    return el("div", { class: "notice warn stack" },
      el("p", null, "Not paired with a shim. Run this in the project of this site, and open the link it prints:"),
      command("slidewrite pair"),
      settings.global.pairings.map((p) => el("div", { class: "row" },
        el("p", null, `Or use the shim that was paired before: ${p.project ? `${p.project}, ` : ""}${p.shimUrl}`),
        button({ label: "Use it", class: "button" }, async () => {
          await usePairing(origin, p);
          sayShortly("Saved");
        }))));
  }

  /** What the shim offers, for the choices; quiet when it does not answer. */
  async function learn() {
    const { shimUrl, token, enabled } = site();
    if (asked || !enabled || token === "") return;
    asked = true;
    const answer = await connect({ shimUrl, token }).meta().catch(() => null);
    if (site().shimUrl !== shimUrl || site().token !== token) return; // the settings have moved on
    meta = answer;
    offerChoices();
  }

  function offerChoices() {
    const s = site();
    const providers = meta?.providers ?? [];
    const usual = providers.find((p) => p.id === meta?.defaultProvider);
    const chosen = providers.find((p) => p.id === (s.provider || meta?.defaultProvider));
    const models = chosen?.models ?? [];
    const usualModel = models.find((m) => m.id === chosen?.defaultModel);
    const chosenModel = models.find((m) => m.id === s.model) ?? usualModel;
    const offered = providers.filter((p) => p.enabled || p.error || p.fix);
    provider.offer([byDefault(usual?.label), ...offered.map((p) => ({ value: p.id, label: p.enabled ? p.label : `${p.label} (not ready)` }))]);
    model.offer([byDefault(usualModel?.label), ...models.map((m) => ({ value: m.id, label: m.label }))]);
    effort.offer([byDefault(), ...(chosenModel?.efforts ?? []).filter((e) => e.id !== "default").map((e) => ({ value: e.id, label: e.label }))]);
  }

  async function runTest() {
    // The click may have ended the typing of a token: what is saved, not what is shown.
    settings = await load();
    const { shimUrl, token, provider: used } = site();
    const wrong = connection.find(([, control]) => control.node.querySelector("[aria-invalid=true]"));
    if (wrong) return wrong[1].node.querySelector("input")?.focus(); // its error stands beside it
    test.setAttribute("aria-disabled", "true");
    verdict.textContent = "Testing";
    fill(findings, el("li", null, el("p", { class: "muted" }, `Asking ${shimUrl}…`)));
    const found = await diagnose({ shimUrl, token, provider: used }, extensionVersion());
    test.removeAttribute("aria-disabled");
    const bad = found.findings.filter((f) => f.level === "warn" || f.level === "danger").length;
    verdict.textContent = bad === 0 ? "The connection works." : `${bad} of ${found.findings.length} need a look.`;
    fill(findings, found.findings.map(showFinding));
    if (found.meta === null) return;
    meta = found.meta;
    if (meta.project !== site().project) await save({ project: meta.project });
    offerChoices();
  }

  update(now);
  return { node, update };
}

/** @param {string} [name] what it comes to now */
const byDefault = (name = "") => ({ value: "", label: name === "" || /^default\b/i.test(name) ? "Default" : `Default (${name})` });

/** @param {import("./diagnose.js").Finding} finding */
function showFinding({ level, title, text, fix, reload }) {
  const cure = fixParts(fix ?? "");
  return el("li", { data: { level } },
    mark(level),
    el("div", null,
      el("p", null, el("strong", null, title), " ", text),
      cure.command ? command(cure.command) : null,
      cure.words ? el("p", null, cure.words) : null,
      reload ? button({ label: "Reload extension", icon: "retry", text: true, class: "button" }, () => chrome.runtime.reload()) : null));
}

/** Asks once more before it removes. @param {string} origin */
function remover(origin) {
  const node = el("div", { class: "actions remove" });
  const ask = () => {
    const keep = button({ label: "Keep", class: "button" }, rest);
    fill(node, el("p", null, `Remove ${origin} with its token and settings?`), button({ label: "Remove", class: "button danger" }, () => void removeOrigin(origin)), keep);
    keep.focus();
  };
  const first = button({ label: "Remove site", class: "button danger" }, ask);
  const rest = () => {
    fill(node, first);
    first.focus();
  };
  fill(node, first);
  return node;
}
