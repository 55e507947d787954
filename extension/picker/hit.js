// Runs in: content script, isolated world, every frame. Which element is meant
// by a point: the one that is seen there. While the picker is armed, a style
// of the extension lets elements with pointer-events: none be hit, too.

(() => {
  const sw = (globalThis.slidewrite ??= /** @type {SlideWrite} */ ({}));

  const { read } = sw.tree;

  const drawn = new Set(["img", "canvas", "video", "iframe", "frame", "object", "embed", "input", "textarea", "select", "button", "hr", "progress", "meter", "picture", "audio"]);
  const svg = "http://www.w3.org/2000/svg";
  const clear = /^rgba\(.*, 0\)$|^transparent$/;

  /**
   * @param {{target: Element, x: number, y: number}} event target: what the browser found; x, y in its window
   * @param {boolean} through look through it, to what is behind
   * @returns {Element | null} null: the bare page
   */
  function hit({ target, x, y }, through) {
    const top = into(target, x, y);
    if (!through && paints(top)) return top;
    const layers = stack(read(top).ownerDocument, x, y);
    const first = seen(layers);
    if (!through || first === null) return first;
    const behind = layers.slice(layers.indexOf(first) + 1).filter((el) => !sw.tree.encloses(el, first));
    return seen(behind) ?? first;
  }

  /**
   * The topmost layer, but for those that show nothing and lie before what
   * does: the sheet that catches clicks beside a menu, the box for messages.
   * @param {Element[]} layers
   * @returns {Element | null}
   */
  function seen(layers) {
    const painted = layers.map(() => /** @type {boolean | undefined} */ (undefined));
    /** @param {number} i */
    const isPainted = (i) => (painted[i] ??= paints(layers[i]));
    for (let i = 0; i < layers.length; i++) {
      let next = i;
      while (next < layers.length && !isPainted(next)) next++;
      if (isPage(layers[i])) return null;
      if (next < layers.length ? next === i || sw.tree.encloses(layers[next], layers[i]) : !floats(layers[i])) return layers[i];
    }
    return null;
  }

  /** @param {Element} el */
  const isPage = (el) => /^(html|body)$/.test(read(el).localName);

  /** Out of the flow, it may lie over what it has nothing to do with. @param {Element} el */
  const floats = (el) => /^(fixed|absolute)$/.test(getComputedStyle(el).position);

  /** Into closed shadow roots, where events do not tell. @param {Element} el @param {number} x @param {number} y */
  function into(el, x, y) {
    for (;;) {
      const shadow = sw.tree.shadowOf(el);
      const inner = shadow?.elementFromPoint(x, y);
      if (!shadow || !inner || inner === el || read(inner).getRootNode() !== shadow) return el;
      el = inner;
    }
  }

  /** All elements at a point, the topmost first. @param {Document} doc @param {number} x @param {number} y */
  function stack(doc, x, y) {
    /** @type {Element[]} */
    const found = [];
    layersOf(doc, x, y, found);
    return found;
  }

  /** @param {Document | ShadowRoot} scope @param {number} x @param {number} y @param {Element[]} found */
  function layersOf(scope, x, y, found) {
    for (const el of scope.elementsFromPoint(x, y)) {
      if (read(el).getRootNode() !== scope || sw.tree.isOurs(el)) continue;
      const shadow = sw.tree.shadowOf(el);
      if (shadow) layersOf(shadow, x, y, found);
      found.push(el);
    }
  }

  /** @param {Element} el */
  function paints(el) {
    if (isPage(el)) return false;
    const { localName, namespaceURI, firstChild } = read(el);
    if (drawn.has(localName) || (namespaceURI === svg && localName !== "svg")) return true;
    const style = getComputedStyle(el);
    if (style.opacity === "0") return false;
    if (!clear.test(style.backgroundColor) || style.backgroundImage !== "none" || style.boxShadow !== "none") return true;
    if (style.borderTopWidth !== "0px" || style.borderBottomWidth !== "0px" || style.borderLeftWidth !== "0px" || style.borderRightWidth !== "0px") return true;
    for (let node = /** @type {Node | null} */ (firstChild); node; node = read(node).nextSibling) {
      if (read(node).nodeType === Node.TEXT_NODE && /\S/.test(node.nodeValue ?? "")) return true;
    }
    return ["::before", "::after"].some((pseudo) => !/^(none|normal)$/.test(getComputedStyle(el, pseudo).content));
  }

  sw.hits = { hit, stack };
})();
