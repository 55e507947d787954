// Runs in: extension page, a small window. Talks to: the shim (its /pair), the
// pairing page (content script), settings. Asks the user whether to connect,
// and only then hands the code in.

import { command } from "../lib/command.js";
import { button, el, fill } from "../lib/dom.js";
import { addPairing, isLoopback, load, save } from "../lib/settings.js";
import { clearRequest, loadRequest, pairOutcome, PairError, planGrant, redeem } from "../lib/pairing.js";
import { allowOrigin } from "../lib/permission.js";
import { followTheme } from "../lib/theme.js";

const view = /** @type {HTMLElement} */ (document.getElementById("view"));

// A window that opens under the pointer must not take the click that was meant
// for something else.
const settleMs = 500;

/** @param {(Node | string | null)[]} children the first is the heading */
function show(...children) {
  fill(view, ...children);
  view.querySelector("h1")?.focus();
}

/** @param {string} text */
const heading = (text) => el("h1", { tabindex: "-1" }, text);

/** @param {import("../lib/pairing.js").PairRequest} request */
function ask(request) {
  const connect = button({ label: "Connect", class: "button primary", disabled: true }, () => void pair(request));
  const later = button({ label: "Not now", class: "button" }, () => window.close()); // the worker sees it, and tells the page
  show(
    heading("Connect to slidewrite?"),
    el("code", { class: "address" }, request.shimUrl),
    isLoopback(request.origin)
      ? el("p", { class: "muted" }, "Connect if you have just started slidewrite, or opened its pairing link. It will get what you type and pick, and edit files of your project.")
      : el("p", { class: "notice warn" }, "This address is not on your computer. Connect only if you or your team run it: it will get what you type and pick."),
    el("div", { class: "actions" }, connect, later),
  );
  // It does not take the focus: who types on must not connect.
  setTimeout(() => { connect.disabled = false; }, settleMs);
}

/** @param {import("../lib/pairing.js").PairRequest} request */
async function pair(request) {
  show(heading("Connecting"), el("p", { class: "muted", role: "status" }, `Asking ${request.shimUrl}`));
  try {
    const grant = await redeem(request);
    const plan = planGrant(await load(), request, grant);
    await save({ origins: plan.origins });
    if (plan.keep) await addPairing({ shimUrl: request.shimUrl, token: grant.token, project: grant.project });
    await clearRequest();
    await pairOutcome(request.tabId, "1");
    done(request, grant, plan);
  } catch (err) {
    await failed(request, err);
  }
}

/**
 * @param {import("../lib/pairing.js").PairRequest} request
 * @param {import("../lib/pairing.js").Grant} grant
 * @param {ReturnType<typeof planGrant>} plan
 */
function done(request, grant, plan) {
  const sites = [...plan.ready.map(ready), ...plan.toAllow.map(toAllow)];
  show(
    heading(grant.project ? `Connected to ${grant.project}` : "Connected"),
    sites.length > 0
      ? el("p", { class: "muted" }, "Open your app, then click the Slide Write button in the toolbar.")
      : el("p", { class: "muted" }, `Open your app and click the Slide Write button in the toolbar: the panel will offer to use ${grant.project || request.shimUrl} for it.`),
    sites.length > 0 ? el("ul", { class: "sites" }, sites) : null,
    plan.toAllow.length > 0 ? el("p", { class: "muted" }, "What is not on this computer works when you allow it.") : null,
    el("div", { class: "actions" }, button({ label: "Close", class: sites.length > 0 ? "button" : "button primary" }, () => window.close())),
  );
}

/** @param {string} origin */
const ready = (origin) =>
  el("li", null, el("span", null, origin), button({ label: `Open ${origin}`, text: false, class: "button quiet icon", icon: "external" }, async () => {
    await openApp(origin);
    window.close();
  }));

/** @param {string} origin */
function toAllow(origin) {
  const row = el("li", null, el("span", null, origin), button({ label: "Allow", class: "button" }, async () => {
    // First of all: the permission prompt needs the click.
    if (await allowOrigin(origin)) row.replaceWith(ready(origin));
  }));
  return row;
}

/** @param {string} origin */
async function openApp(origin) {
  const open = (await chrome.tabs.query({})).find((t) => t.url !== undefined && t.url.startsWith(origin + "/"));
  if (open?.id === undefined) {
    // Not in this window, which is only as big as the question.
    const window = await chrome.windows.getLastFocused({ windowTypes: ["normal"] }).catch(() => undefined);
    await chrome.tabs.create({ url: origin, ...(window?.id !== undefined && { windowId: window.id }) });
    return;
  }
  await chrome.tabs.update(open.id, { active: true });
  await chrome.windows.update(open.windowId, { focused: true });
}

/**
 * @param {import("../lib/pairing.js").PairRequest} request
 * @param {unknown} err
 */
async function failed(request, err) {
  const known = err instanceof PairError;
  const again = known && err.code === "unreachable";
  if (known && err.code === "refused") {
    await clearRequest();
    await pairOutcome(request.tabId, "refused");
  }
  show(
    heading(again ? "The shim does not answer" : "Not connected"),
    el("p", { class: "notice danger" }, err instanceof Error ? err.message : String(err)),
    known && err.fix ? el("p", { class: "muted" }, again ? "Start it in your project, then try again:" : "Run this in your project:") : null,
    known && err.fix ? command(err.fix) : null,
    el("div", { class: "actions" },
      again ? button({ label: "Try again", class: "button primary" }, () => void pair(request)) : null,
      button({ label: "Close", class: "button" }, () => window.close())),
  );
}

function stale() {
  show(
    heading("This question is over"),
    el("p", { class: "muted" }, "It was answered before, or the browser was started anew. For a fresh link, run this in your project:"),
    command("slidewrite pair"),
    el("div", { class: "actions" }, button({ label: "Close", class: "button" }, () => window.close())),
  );
}

void followTheme();
const request = await loadRequest();
if (request === null || location.hash !== "#" + request.id) stale();
else ask(request);
