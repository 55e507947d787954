// Runs in: service worker. Chrome ends it after half a minute of quiet and
// starts it again for the next event: it keeps nothing in variables, and every
// listener is registered here, before the first await.

import { forgetKept, moveKept } from "../lib/kept.js";
import { listen } from "../lib/messages.js";
import { forOrigin, load, saveOrigin, storageKey } from "../lib/settings.js";
import { showBadge } from "./badge.js";
import { clearNotice, hearNotices, runEnded } from "./notify.js";
import { picksSettled } from "./outstanding.js";
import { askToPair, confirmClosed } from "./pair.js";
import { actionOpensPanel, openPanel } from "./panel.js";
import { onDebuggerEvent, onDebuggerGone } from "./cdppicker.js";
import { forgetPicker, panelWatches, pickByCommand, pickEnded, pickerShift, pickFailed, pickHint, pickMade, pickShift, settingsChanged, startPicker, stopPicker, takePicks, takePicture } from "./picker.js";
import { removedOrigins, syncScripts, wakeOpenPages } from "./scripts.js";

// At each start of the worker: tokens are nothing for content scripts.
chrome.storage.local.setAccessLevel({ accessLevel: "TRUSTED_CONTEXTS" }).catch(report);
actionOpensPanel().catch(report);

listen({
  "sw-config-get": async ({ origin }) => forOrigin(await load(), origin),
  "sw-config-set": async ({ origin, patch }) => forOrigin(await saveOrigin(origin, patch), origin),
  "sw-pair": askToPair,
  "sw-badge": async (badge) => {
    await showBadge(badge);
    if (badge.state === "") await clearNotice(badge.tabId);
  },
  "sw-run-ended": runEnded,
  "sw-picker-start": startPicker,
  "sw-picker-stop": stopPicker,
  "sw-picker-shift": pickerShift,
  "sw-picks-take": takePicks,
  "sw-picks-settled": picksSettled,
  "sw-pick-made": pickMade,
  "sw-pick-ended": pickEnded,
  "sw-pick-failed": pickFailed,
  "sw-pick-shift": pickShift,
  "sw-pick-hint": pickHint,
  "sw-capture-tab": takePicture,
});

// Only where the action does not open the side panel by itself.
chrome.action.onClicked.addListener(openPanel);

chrome.commands?.onCommand.addListener(pickByCommand);

hearNotices();

chrome.runtime.onConnect.addListener(panelWatches);
chrome.debugger.onEvent.addListener((...event) => void onDebuggerEvent(...event).catch(report));
chrome.debugger.onDetach.addListener((...event) => void onDebuggerGone(...event).catch(report));

chrome.tabs.onRemoved.addListener((tabId) => {
  confirmClosed(tabId).catch(report);
  forgetPicker(tabId).catch(report);
  forgetKept(tabId).catch(report); // where no panel is open to do it
});

chrome.tabs.onReplaced.addListener((now, before) => {
  forgetPicker(before).catch(report);
  moveKept(before, now).catch(report);
});

chrome.runtime.onInstalled.addListener(({ reason }) => {
  syncScripts().catch(report); // an update drops the scripts registered before
  if (reason === "install") wakeOpenPages().catch(report);
});
chrome.runtime.onStartup.addListener(() => void syncScripts().catch(report));
chrome.permissions.onAdded.addListener(() => {
  hearNotices();
  syncScripts().catch(report);
});
chrome.permissions.onRemoved.addListener(() => void syncScripts().catch(report));
chrome.storage.onChanged.addListener((changes, area) => {
  if (area !== "local" || !Object.hasOwn(changes, storageKey)) return;
  settingsChanged().catch(report);
  const { oldValue, newValue } = changes[storageKey];
  syncScripts(removedOrigins(oldValue, newValue)).catch(report);
});

/** @param {unknown} err */
function report(err) {
  console.warn("slidewrite:", err);
}
