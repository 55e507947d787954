// Runs in: service worker. A page of a shim offers its one-time code; whether
// it is used is for the user to say, on our own page (pairing/confirm.html).

import { clearRequest, loadRequest, pairOutcome, readOffer, saveRequest } from "../lib/pairing.js";

const page = "pairing/confirm.html";

/** In chrome.storage.session: the tab whose question was closed unanswered last, and when. */
const declinedKey = "pairDeclined";
/** So long that tab gets no other window, in ms: a page must not fill the screen with questions. */
const restTime = 10_000;

/**
 * @param {import("../lib/messages.js").Pair} message
 * @param {chrome.runtime.MessageSender} sender
 * @returns {Promise<import("../lib/messages.js").Paired["outcome"]>}
 */
export async function askToPair(message, sender) {
  const offer = readOffer(message, sender);
  if (offer === null) throw new Error("This page is no pairing page of a shim.");
  return navigator.locks.request("pair", () => ask(offer));
}

/**
 * @param {import("../lib/pairing.js").Offer} offer
 * @returns {Promise<import("../lib/messages.js").Paired["outcome"]>}
 */
async function ask(offer) {
  /** @type {Record<string, any>} */
  const { [declinedKey]: declined } = await chrome.storage.session.get(declinedKey);
  if (declined?.tabId === offer.tabId && Date.now() - declined.at < restTime) return "later";
  // One question at a time: the last link that was opened is the one meant.
  const before = await loadRequest();
  const id = crypto.randomUUID();
  if (before !== null && before.tabId === offer.tabId) {
    // Another link in the same tab: its window asks about that one, and stays where it is.
    const open = await chrome.tabs.update(before.confirmTab, { url: `${chrome.runtime.getURL(page)}#${id}` }).catch(() => undefined);
    if (open) {
      await saveRequest({ ...offer, id, confirmTab: before.confirmTab });
      return "asking";
    }
  }
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
  await chrome.storage.session.set({ [declinedKey]: { tabId: request.tabId, at: Date.now() } });
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
