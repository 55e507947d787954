// Runs in: the page's own world, for one question, the first of its files. The
// frameworks' readers register here; hints.js asks them and takes it all away.

(() => {
  /** Closed shadow roots cannot be entered from here: their host is the answer. @param {SwPath} path */
  function at(path) {
    /** @type {ParentNode} */
    let scope = document;
    /** @type {Element | null} */
    let el = null;
    for (const step of path) {
      if (typeof step === "number") {
        el = scope.children[step] ?? null;
        if (!el) return null;
        scope = el;
      } else {
        const inner = /** @type {ParentNode | null | undefined} */ (step === "shadow" ? el?.shadowRoot : /** @type {HTMLIFrameElement | null} */ (el)?.contentDocument);
        if (!inner) return el;
        scope = inner;
      }
    }
    return el;
  }

  Object.defineProperty(globalThis, "slidewriteBackends", { value: { all: [], at }, configurable: true, enumerable: false });
})();
