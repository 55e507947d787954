// Runs in: service worker. The mark on the toolbar icon of a tab.

/** @typedef {import("../lib/messages.js").Badge} Badge */

/** @type {{[state in Badge["state"]]: {text: string, color: string, title: string}}} */
const marks = {
  "": { text: "", color: "#2b4fc7", title: "Slide Write" },
  running: { text: "…", color: "#2b4fc7", title: "Slide Write: working" },
  done: { text: "✓", color: "#17683a", title: "Slide Write: done" },
  failed: { text: "!", color: "#a8221b", title: "Slide Write: failed" },
};

/** @param {Badge} message */
export async function showBadge({ tabId, state }) {
  const { text, color, title } = marks[state];
  try {
    await Promise.all([
      chrome.action.setBadgeBackgroundColor({ tabId, color }),
      chrome.action.setBadgeTextColor({ tabId, color: "#ffffff" }),
      chrome.action.setBadgeText({ tabId, text }),
      chrome.action.setTitle({ tabId, title }),
    ]);
  } catch (err) {
    if (!/No tab with id/.test(String(err))) throw err; // the run outlived its tab
  }
}
