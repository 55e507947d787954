// Runs in: options page. Talks to: settings; the shim for "Test connection".
// Every change is saved at once, and shown here when it comes from elsewhere.

import { button, el, fill } from "../lib/dom.js";
import { allowNotices, forgoNotices, permissionOf } from "../lib/permission.js";
import { exportSettings, importSettings, isLoopback, load, mergeImported, onChange, originKey, save, saveOrigin } from "../lib/settings.js";
import { followTheme } from "../lib/theme.js";
import { extensionVersion } from "../lib/version.js";
import { checkField, sayShortly, selectField, textField } from "./controls.js";
import { siteCard } from "./site.js";

/** @typedef {import("../lib/settings.js").Settings} Settings */
/** @typedef {import("../lib/settings.js").GlobalSettings} GlobalSettings */

/** @param {string} id */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

// Sites.

/** @type {Map<string, ReturnType<typeof siteCard>>} */
const cards = new Map();

/** @param {Settings} settings */
function showSites(settings) {
  const origins = Object.keys(settings.origins).sort();
  const list = byId("sites");
  for (const [origin, card] of cards) {
    if (origins.includes(origin)) continue;
    const focused = card.node.contains(document.activeElement);
    card.node.remove();
    cards.delete(origin);
    if (focused) byId("sites-heading").focus();
  }
  for (const [i, origin] of origins.entries()) {
    const known = cards.get(origin);
    if (known) known.update(settings);
    else {
      const card = siteCard(origin, settings);
      cards.set(origin, card);
      list.insertBefore(card.node, list.children[i] ?? null);
    }
  }
  byId("no-sites").hidden = origins.length > 0;
  const pending = settings.global.pairings;
  byId("pairings").hidden = pending.length === 0;
  fill(byId("pairing-list"), pending.map((p) => el("li", { class: "row" },
    el("span", null, `${p.project ? `${p.project}, ` : ""}${p.shimUrl}`),
    button({ label: "Forget", class: "button quiet", "aria-label": `Forget ${p.shimUrl}` }, () => void save({ global: { pairings: pending.filter((q) => q.shimUrl !== p.shimUrl) } })))));
}

const addInput = /** @type {HTMLInputElement} */ (byId("add-origin"));
const addError = byId("add-error");

byId("add").addEventListener("submit", async (event) => {
  event.preventDefault();
  const origin = typedOrigin(addInput.value);
  if (origin === null) return refuse("Not the address of a site. It looks like http://localhost:5173.");
  // First of all: Chrome asks for permission only while the click is fresh.
  const allowed = isLoopback(origin) || (await chrome.permissions.request({ origins: [permissionOf(origin)] }));
  if (!allowed) return refuse(`Chrome did not give access to ${origin}. Add it again, and choose Allow.`);
  await saveOrigin(origin, {});
  refuse("");
  addInput.value = "";
  sayShortly(`Added ${origin}`);
  const card = cards.get(origin)?.node ?? null;
  if (card === null) return;
  card.open = true;
  card.querySelector("summary")?.focus();
});

/** @param {string} text */
function refuse(text) {
  addError.textContent = text;
  addInput.setAttribute("aria-invalid", String(text !== ""));
}

/** @param {string} text what people type or paste: a host, or a whole address */
function typedOrigin(text) {
  const typed = text.trim();
  if (typed === "" || /\s/.test(typed)) return null;
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(typed)) return originKey(typed);
  const local = originKey("http://" + typed);
  return local !== null && isLoopback(local) ? local : originKey("https://" + typed);
}

// Everything else.

/** @param {Partial<GlobalSettings>} global */
const saveGlobal = (global) => save({ global });

/** @type {[keyof GlobalSettings, import("./controls.js").Control][]} */
const general = [
  ["theme", selectField({ label: "Theme", choices: [{ value: "system", label: "As the system" }, { value: "light", label: "Light" }, { value: "dark", label: "Dark" }] }, (v) => saveGlobal({ theme: v }))],
  ["editorUrl", textField({ label: "Open files with", hint: "An address with {path} and {line}, like vscode://file/{path}:{line}.", code: true }, async (v) => {
    const url = v.trim();
    if (!/^[a-z][a-z0-9+.-]*:/i.test(url) || !url.includes("{path}")) throw new Error("It needs a scheme and {path}, like vscode://file/{path}:{line}.");
    if (/^(javascript|data|blob|file|about|chrome):/i.test(url)) throw new Error("That scheme does not open an editor. It looks like vscode://file/{path}:{line}.");
    await saveGlobal({ editorUrl: url });
  })],
  ["copyPathOnShiftClick", checkField({ label: "Shift+click copies the selector, too", hint: "While picking." }, (v) => saveGlobal({ copyPathOnShiftClick: v }))],
  ["notify", checkField({ label: "Notify me when a run has ended", hint: "When its tab is not in front. Chrome asks for your permission." }, (v) => (v ? allowNotices() : forgoNotices()))],
];
fill(byId("general"), general.map(([, c]) => c.node));

/** @param {Settings} settings */
function show(settings) {
  showSites(settings);
  for (const [name, control] of general) control.set(settings.global[name]);
}

byId("export").addEventListener("click", async () => {
  const url = URL.createObjectURL(new Blob([exportSettings(await load())], { type: "application/json" }));
  el("a", { href: url, download: "slidewrite-settings.json" }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
});

const file = /** @type {HTMLInputElement} */ (byId("import-file"));
byId("import").addEventListener("click", () => file.click());
file.addEventListener("change", async () => {
  const chosen = file.files?.[0];
  file.value = "";
  if (!chosen) return;
  const said = byId("import-said");
  try {
    const imported = importSettings(await chosen.text());
    await save((settings) => mergeImported(settings, imported));
    const count = Object.keys(imported.origins).length;
    said.className = "notice ok";
    said.textContent = `Imported ${count === 1 ? "1 site" : `${count} sites`} from ${chosen.name}. Tokens are not in such a file: sites that are new here have to be paired.`;
  } catch (err) {
    said.className = "notice danger";
    said.textContent = err instanceof Error ? err.message : String(err);
  }
});

/** The user may have changed or removed it. */
async function showShortcut() {
  const keys = (await chrome.commands.getAll()).find((c) => c.name === "_execute_action")?.shortcut ?? "";
  byId("shortcut").textContent = keys === "" ? "No shortcut opens the panel." : `${keys} opens and closes the panel.`;
}

byId("shortcuts").addEventListener("click", () => void chrome.tabs.create({ url: "chrome://extensions/shortcuts" }));
byId("version").textContent = extensionVersion();

void followTheme();
void showShortcut();
addEventListener("focus", () => void showShortcut());
onChange(show);
show(await load());
// The panel's "settings" may name the site that it is about.
const wanted = cards.get(decodeURIComponent(location.hash.slice(1)))?.node;
if (wanted) {
  wanted.open = true;
  wanted.scrollIntoView();
} else if (cards.size === 1) for (const { node } of cards.values()) node.open = true;
