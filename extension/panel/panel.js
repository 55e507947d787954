// Runs in: side panel. Wiring: which tab is shown, and one view for each tab
// that was. With ?tabId=N the panel belongs to that tab alone; without, it
// follows the active tab of its window.

import { moveKept } from "../lib/kept.js";
import { listen } from "../lib/messages.js";
import { load, onChange } from "../lib/settings.js";
import { followTheme } from "../lib/theme.js";
import { pickHandlers } from "./picking.js";
import { TabView } from "./tab.js";

/** @type {Map<number, TabView>} */
const views = new Map();
const bound = Number(new URLSearchParams(location.search).get("tabId")) || null;
let shown = -1;

/**
 * Shows a tab's view; what it held before is as it was.
 * @param {chrome.tabs.Tab} tab
 */
function show(tab) {
  if (tab.id === undefined) return;
  shown = tab.id;
  viewOf(tab).visit(tab.url ?? tab.pendingUrl ?? "", tab.title ?? "");
  document.getElementById("boot")?.remove();
  for (const [id, view] of views) view.setShown(id === shown && document.visibilityState === "visible", id === shown);
}

/** @param {chrome.tabs.Tab} tab */
function viewOf(tab) {
  const id = /** @type {number} */ (tab.id);
  let view = views.get(id);
  if (!view) {
    view = new TabView(id, settings);
    views.set(id, view);
    document.body.append(view.node);
  }
  return view;
}

/** @param {number} tabId */
async function showById(tabId) {
  const tab = await chrome.tabs.get(tabId).catch(() => null);
  if (tab) show(tab);
}

let settings = await load();
await followTheme();
onChange((changed) => {
  settings = changed;
  for (const view of views.values()) view.configure(changed);
});

listen(pickHandlers((tabId) => views.get(tabId)?.picking));

if (bound !== null) {
  await showById(bound);
} else {
  const { id: windowId } = await chrome.windows.getCurrent();
  const [active] = await chrome.tabs.query({ active: true, windowId });
  if (active) show(active);
  chrome.tabs.onActivated.addListener((info) => {
    if (info.windowId === windowId) void showById(info.tabId);
  });
}

chrome.tabs.onUpdated.addListener((tabId, change, tab) => {
  const view = views.get(tabId);
  if (!view || (change.url === undefined && change.title === undefined && change.status !== "complete")) return;
  view.visit(tab.url ?? "", tab.title ?? "");
});

chrome.tabs.onRemoved.addListener((tabId) => {
  views.get(tabId)?.close();
  views.delete(tabId);
});

// Chrome discards tabs that were not looked at for long; they come back with another id.
chrome.tabs.onReplaced.addListener((now, before) => {
  const view = views.get(before);
  if (!view) return;
  view.close();
  views.delete(before);
  views.get(now)?.close();
  views.delete(now);
  void moveKept(before, now).then(() => now === shown || before === shown ? showById(now) : undefined);
});

// A tab that was dragged into another window belongs to the panel there.
chrome.tabs.onDetached.addListener((tabId) => {
  if (bound !== null) return;
  const view = views.get(tabId);
  view?.keep();
  view?.close();
  views.delete(tabId);
});

document.addEventListener("visibilitychange", () => {
  for (const [id, view] of views) view.setShown(id === shown && document.visibilityState === "visible", id === shown);
});
for (const type of ["keydown", "keyup"]) {
  addEventListener(type, (event) => {
    if (/** @type {KeyboardEvent} */ (event).key === "Shift") views.get(shown)?.picking.shift(type === "keydown");
  }, true);
}
addEventListener("pagehide", () => {
  for (const view of views.values()) view.keep();
});
