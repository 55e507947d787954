// Runs in: service worker. The toolbar button, and the command for it, open
// the panel: Chrome's side panel, or a window where a browser has none.

const path = "panel/panel.html";

/** Lets Chrome open and close the side panel itself. */
export async function actionOpensPanel() {
  await chrome.sidePanel?.setPanelBehavior({ openPanelOnActionClick: true });
}

/**
 * Not async: an await before sidePanel.open loses the user's gesture.
 * @param {chrome.tabs.Tab} tab
 */
export function openPanel(tab) {
  // Here with a side panel only for a click in the moment before
  // actionOpensPanel was heard.
  const opened = chrome.sidePanel ? chrome.sidePanel.open({ windowId: tab.windowId }) : openWindow(tab);
  opened.catch((err) => console.warn("slidewrite: open the panel:", err));
}

/**
 * The panel of a tab in a window of its own; the one that there is, or a new one.
 * @param {chrome.tabs.Tab} tab
 */
async function openWindow(tab) {
  const url = `${chrome.runtime.getURL(path)}?tabId=${tab.id}`;
  const open = (await chrome.tabs.query({})).find((t) => t.url === url);
  if (open) {
    await chrome.windows.update(open.windowId, { focused: true });
    return;
  }
  await chrome.windows.create({ url, type: "popup", width: 400, height: 800 });
}
