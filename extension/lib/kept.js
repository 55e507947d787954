// Runs in: side panel, worker. Where in chrome.storage.session a tab's panel is
// kept. It outlives the panel, and must end with the tab.

/** The chat, and apart from it the captures that go with messages. @param {number} tabId */
export const keptKeys = (tabId) => ({ chat: `panel:${tabId}`, captures: `captures:${tabId}` });

/** @param {number} tabId */
export async function forgetKept(tabId) {
  await chrome.storage.session.remove(Object.values(keptKeys(tabId)));
}

/**
 * Chrome gives a tab another id when it is discarded.
 * @param {number} from
 * @param {number} to
 */
export async function moveKept(from, to) {
  const [old, now] = [keptKeys(from), keptKeys(to)];
  const kept = await chrome.storage.session.get(Object.values(old));
  if (!(old.chat in kept)) return;
  await chrome.storage.session.set({ [now.chat]: kept[old.chat], ...(old.captures in kept && { [now.captures]: kept[old.captures] }) });
  await forgetKept(from);
}
