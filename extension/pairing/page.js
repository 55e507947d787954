// Runs in: content script, isolated world, every loopback page. Talks to:
// worker. A page of the shim holds a one-time code behind the # of its
// address: take it out of sight and hand it to the worker. The token that it
// stands for never comes here.

(() => {
  const isPairingPage = () => document.querySelector('meta[name="slidewrite-pair"][content="1"]') !== null;

  /** @param {string} outcome */
  function show(outcome) {
    document.documentElement.dataset.slidewritePaired = outcome;
  }

  async function offer() {
    const code = location.hash.slice(1);
    if (code === "") {
      // Reloaded, after the code was taken.
      if (document.documentElement.dataset.slidewritePaired === undefined) show("none");
      return;
    }
    show("asking");
    history.replaceState(history.state, "", location.pathname + location.search);
    /** @type {import("../lib/messages.js").Pair} */
    const message = { type: "sw-pair", code, origin: location.origin };
    const reply = await chrome.runtime.sendMessage(message).catch(() => undefined);
    show(reply?.value ?? "refused");
  }

  function start() {
    if (!isPairingPage()) return;
    chrome.runtime.onMessage.addListener((/** @type {import("../lib/messages.js").Paired} */ message, sender) => {
      const known = ["asking", "1", "later", "refused"].includes(message?.outcome);
      if (sender.id === chrome.runtime.id && message.type === "sw-paired" && known) show(message.outcome);
    });
    addEventListener("hashchange", offer); // a fresh link, pasted into the same tab
    void offer();
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start, { once: true });
  else start();
})();
