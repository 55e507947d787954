// Runs in: the page's own world, for one question, the first of its files. The
// frameworks' readers register here; hints.js asks them and takes it all away.

(() => {
  /**
   * A property as the DOM has it: what a page names like one, <input name="id">
   * in a form, hides it.
   * @template {object} N @template {keyof N} K @param {N} node @param {K} name @returns {N[K]}
   */
  const read = (node, name) => Reflect.get(Object.getPrototypeOf(node), name, node);

  /** @param {Element} el @returns {Element | null} through shadow roots */
  const parentOf = (el) => read(el, "parentElement") ?? /** @type {Partial<ShadowRoot>} */ (read(el, "getRootNode").call(el)).host ?? null;

  /** Closed shadow roots cannot be entered from here: their host is the answer. @param {SwPath} path */
  function at(path) {
    /** @type {Node & ParentNode} */
    let scope = document;
    /** @type {Element | null} */
    let el = null;
    for (const step of path) {
      if (typeof step === "number") {
        el = read(scope, "children")[step] ?? null;
        if (!el) return null;
        scope = el;
      } else {
        const inner = /** @type {(Node & ParentNode) | null | undefined} */ (step === "shadow" ? el && read(el, "shadowRoot") : /** @type {HTMLIFrameElement | null} */ (el)?.contentDocument);
        if (!inner) return el;
        scope = inner;
      }
    }
    return el;
  }

  Object.defineProperty(globalThis, "slidewriteBackends", { value: { all: [], at, read, parentOf }, configurable: true, enumerable: false });
})();
