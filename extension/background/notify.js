// Runs in: service worker. Says that a run has ended, where its tab is not in
// front. Off until the user switches it on: Chrome gives the permission then,
// and without it there is no chrome.notifications.

import { load } from "../lib/settings.js";

const prefix = "run:";

/**
 * @param {import("../lib/messages.js").RunEnded} ended
 * @returns {Promise<boolean>} whether it was said
 */
export async function runEnded({ tabId, state, project, text }) {
  const { global } = await load();
  if (!global.notify || !chrome.notifications || (await inFront(tabId))) return false;
  await chrome.notifications.create(prefix + tabId, {
    type: "basic", iconUrl: chrome.runtime.getURL("icons/128.png"),
    title: `${project || "Slide Write"}: ${state}`, message: text || (state === "done" ? "The run has ended." : "The run has failed."),
  });
  return true;
}

/** @param {number} tabId */
async function inFront(tabId) {
  const tab = await chrome.tabs.get(tabId);
  return tab.active && (await chrome.windows.get(tab.windowId)).focused;
}

/** Its tab is looked at. @param {number} tabId */
export async function clearNotice(tabId) {
  await chrome.notifications?.clear(prefix + tabId);
}

/** Hears clicks, from when there is a permission; twice is once. */
export function hearNotices() {
  chrome.notifications?.onClicked.addListener(clicked);
}

/** @param {string} id */
function clicked(id) {
  if (id.startsWith(prefix)) open(Number(id.slice(prefix.length))).catch((err) => console.warn("slidewrite: open the tab of a run:", err));
}

/** @param {number} tabId */
async function open(tabId) {
  await clearNotice(tabId);
  const tab = await chrome.tabs.update(tabId, { active: true }).catch(() => undefined);
  if (tab) await chrome.windows.update(tab.windowId, { focused: true }); // else it was closed meanwhile
}
