// Runs in: content script, isolated world, every frame. Text to the clipboard,
// unseen by the page.

(() => {
  const sw = (globalThis.slidewrite ??= /** @type {SlideWrite} */ ({}));

  /** @param {string} text */
  async function copyText(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // A page that is not secure, or keeps the clipboard from its frames.
      const once = new AbortController();
      const options = { capture: true, signal: once.signal };
      addEventListener("beforecopy", own, options);
      addEventListener("copy", (event) => {
        event.clipboardData?.setData("text/plain", text);
        own(event);
      }, options);
      document.execCommand("copy");
      once.abort();
    }
  }

  /** @param {Event} event */
  function own(event) {
    event.stopImmediatePropagation();
    event.preventDefault();
  }

  sw.copyText = copyText;
})();
