// Runs in: service worker. A page of a shim offers its one-time code; whether
// it is used is for the user to say, on our own page (pairing/confirm.html).

import { clearRequest, loadRequest, pairOutcome, readOffer, saveRequest } from "../lib/pairing.js";

const page = "pairing/confirm.html";

/**
 * @param {import("../lib/messages.js").Pair} message
 * @param {chrome.runtime.MessageSender} sender
 * @returns {Promise<import("../lib/messages.js").Paired["outcome"]>}
 */
export async function askToPair(message, sender) {
  const offer = readOffer(message, sender);
  if (offer === null) throw new Error("This page is no pairing page of a shim.");

  // One question at a time: the last link that was opened is the one meant.
  const before = await loadRequest();
  const id = crypto.randomUUID();
  await saveRequest({ ...offer, id, confirmTab: -1 });
  await closeConfirmPages();
  if (before !== null && before.tabId !== offer.tabId) await pairOutcome(before.tabId, "later");
  const confirmTab = await openConfirmPage(`${chrome.runtime.getURL(page)}#${id}`);
  await saveRequest({ ...offer, id, confirmTab });
  return "asking";
}

/** Also one that still shows what became of an earlier link. */
async function closeConfirmPages() {
  const tabs = await chrome.tabs.query({});
  const ours = tabs.filter((t) => t.url?.startsWith(chrome.runtime.getURL(page)));
  await chrome.tabs.remove(ours.flatMap((t) => t.id ?? [])).catch(() => {});
}

/**
 * The window with the question was closed without an answer.
 * @param {number} tabId
 */
export async function confirmClosed(tabId) {
  const request = await loadRequest();
  if (request?.confirmTab !== tabId) return;
  await clearRequest();
  await pairOutcome(request.tabId, "later");
}

/**
 * @param {string} url
 * @returns {Promise<number>} the tab
 */
async function openConfirmPage(url) {
  try {
    const window = await chrome.windows.create({ url, type: "popup", width: 460, height: 440, focused: true });
    const id = window?.tabs?.[0]?.id;
    if (id !== undefined) return id;
  } catch {
    // A browser without windows of that type.
  }
  return (await chrome.tabs.create({ url })).id ?? -1;
}
