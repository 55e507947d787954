// Runs in: service worker. A page of a shim offers its one-time code; whether
// it is used is for the user to say, on our own page (pairing/confirm.html).

import { loadRequest, pairOutcome, readOffer, saveRequest } from "../lib/pairing.js";

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
  if (before !== null && before.tabId !== offer.tabId) await pairOutcome(before.tabId, "later");
  await closeConfirmPages();

  const id = crypto.randomUUID();
  await saveRequest({ ...offer, id });
  await openConfirmPage(`${chrome.runtime.getURL(page)}#${id}`);
  return "asking";
}

async function closeConfirmPages() {
  const tabs = await chrome.tabs.query({});
  const ours = tabs.filter((t) => t.url?.startsWith(chrome.runtime.getURL(page)));
  await chrome.tabs.remove(ours.flatMap((t) => t.id ?? [])).catch(() => {});
}

/** @param {string} url */
async function openConfirmPage(url) {
  try {
    await chrome.windows.create({ url, type: "popup", width: 460, height: 440, focused: true });
  } catch {
    await chrome.tabs.create({ url }); // a browser without windows of that type
  }
}
