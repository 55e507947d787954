// Runs in: content script, isolated world, every frame. An element, as the
// shim is told of it. Reads the page, writes nothing; what cannot be known is
// left out.

(() => {
  const sw = (globalThis.slidewrite ??= /** @type {SlideWrite} */ ({}));

  const { read } = sw.tree;

  /** In characters; the shim cuts there, too. */
  const most = { className: 500, text: 120, path: 1_000, attr: 120, id: 200 };
  /** In nodes, of a picked element: the text of a whole page is not read. */
  const budget = { text: 3_000 };
  const ancestors = 5;

  const plainAttrs = ["data-testid", "aria-label", "href", "name", "type", "placeholder"];
  const sourceAttr = /^data-([a-z0-9]+-)*source(-[a-z0-9]+)*$/;
  const mostAttrs = 20;

  /** @param {string | null | undefined} text @param {number} n */
  const cut = (text, n) => [...(text ?? "").slice(0, 2 * n + 2)].slice(0, n).join("");
  /** @param {string} text */
  const fold = (text) => text.replace(/\s+/g, " ").trim();
  /** @param {number} n */
  const round = (n) => Math.round(n * 100) / 100 + 0;

  /**
   * @param {Element} el
   * @param {{x: number, y: number} | null} at where it was clicked, in the root window
   * @param {Window} root
   * @param {SwAround | null} [around] where the root window lies, if it is no window of a tab and that is known
   * @returns {SwCapture}
   */
  function capture(el, at, root, around = null) {
    const own = sw.tree.boxOf(el, root);
    const box = around ? sw.tree.moved(own, around.place) : own;
    const seen = seenOf(el, root, around);
    const { text, hidden } = textOf(el);
    const role = cut(sw.aria.roleOf(el), 100);
    const name = cut(sw.aria.nameOf(el), most.text);
    const attrs = attrsOf(el);
    const repeat = repeatOf(el);
    const frame = frameChain(el, root, around);
    const { localName, id } = read(el);
    // In a frame of a page of another origin no script can say where the top page is.
    const known = root.top === root || around !== null;
    return {
      tag: localName,
      id: id ? cut(id, most.id) : null,
      className: cut(fold(read(el).getAttribute("class") ?? ""), most.className),
      text,
      domPath: cut(domPath(el), most.path),
      ...(known && { rect: { x: round(box.x), y: round(box.y), w: round(box.w), h: round(box.h) } }),
      ...(role && { role }),
      ...(name && { name }),
      ...(Object.keys(attrs).length > 0 && { attrs }),
      ...(frame && { frame: cut(frame, most.path) }),
      ...(hidden && { hiddenText: true }),
      ...(isDisabled(el) && { disabled: true }),
      ...(inClosedShadow(el) && { closedShadow: true }),
      ...(isClipped(box, seen) && { clipped: true }),
      ...(repeat && { repeat }),
      ...(localName === "canvas" && at && known && { click: { x: round(at.x - box.x), y: round(at.y - box.y) } }),
    };
  }

  /** What can be seen of it in the window of the tab. @param {Element} el @param {Window} root @param {SwAround | null} around */
  function seenOf(el, root, around) {
    const seen = sw.tree.visibleBox(el, root);
    return around ? sw.tree.common(sw.tree.moved(seen, around.place), around.seen) : seen;
  }

  /**
   * A frame that no script can look into, for what is picked in it.
   * @param {Element} frame @param {Window} root @param {SwAround | null} around
   * @returns {SwAround}
   */
  function aroundOf(frame, root, around) {
    const { place, seen } = sw.tree.frameIn(frame, root);
    const chain = [frameChain(frame, root, around), step(frame)].filter(Boolean).join(" > ");
    if (!around) return { place, seen, chain };
    const { x, y, w, h } = sw.tree.moved({ x: place.x, y: place.y, w: place.sx, h: place.sy }, around.place);
    return { place: { x, y, sx: w, sy: h }, seen: sw.tree.common(sw.tree.moved(seen, around.place), around.seen), chain };
  }

  /** @param {SwBox} box @param {SwBox} seen */
  const isClipped = (box, seen) =>
    seen.x - box.x > 1 || seen.y - box.y > 1 || box.x + box.w - (seen.x + seen.w) > 1 || box.y + box.h - (seen.y + seen.h) > 1;

  /** @param {Element} el */
  function isDisabled(el) {
    return read(el).matches("fieldset:disabled") || read(el).closest(":disabled:not(fieldset), [aria-disabled=true]") !== null;
  }

  /** Links have a host, too. @param {Node} node */
  const isShadow = (node) => read(node).nodeType === Node.DOCUMENT_FRAGMENT_NODE && "host" in node;

  /** @param {Element} el */
  function inClosedShadow(el) {
    for (let scope = read(el).getRootNode(); isShadow(scope); scope = read(/** @type {ShadowRoot} */ (scope).host).getRootNode()) {
      if (/** @type {ShadowRoot} */ (scope).mode === "closed") return true;
    }
    return false;
  }

  /** @param {Element} el @returns {Record<string, string>} */
  function attrsOf(el) {
    /** @type {Record<string, string>} */
    const found = {};
    for (const { name, value } of read(el).attributes) {
      if (!plainAttrs.includes(name) && !sourceAttr.test(name)) continue;
      if (Object.keys(found).length === mostAttrs) break;
      found[name] = cut(fold(value), most.attr);
    }
    return found;
  }

  /**
   * The frames that an element is in, the outermost first: what they are in
   * their page, and their address.
   * @param {Element} el @param {Window} root @param {SwAround | null} around
   */
  function frameChain(el, root, around) {
    const chain = [];
    for (let win = /** @type {Window | null} */ (read(el).ownerDocument.defaultView); win && win !== root; win = win.parent) {
      const frame = win.frameElement;
      if (!frame) break;
      const address = win.location.origin === root.location.origin ? win.location.pathname + win.location.search : win.location.href;
      chain.unshift(`${step(frame)} ${win.location.protocol === "about:" ? win.location.href : address}`);
    }
    if (root.top !== root) chain.unshift(around ? `${around.chain} ${root.location.href}` : root.location.href);
    return chain.join(" > ");
  }

  // Text.

  /**
   * What of an element's text can be seen. Text for nobody's eyes may be
   * anything, and is not told.
   * @param {Element} el
   */
  function textOf(el) {
    const state = { text: "", hidden: false, left: budget.text };
    collect(el, state, shows(el));
    return { text: cut(fold(state.text), most.text).trim(), hidden: state.hidden };
  }

  /** @typedef {{text: string, hidden: boolean, left: number}} Collected */

  /** @param {Element} el @param {Collected} state @param {boolean} shown */
  function collect(el, state, shown) {
    if (read(el).matches("input[type=submit], input[type=reset], input[type=button]")) state.text += /** @type {HTMLInputElement} */ (el).value;
    for (const node of contentOf(el)) {
      if (state.left-- <= 0) return;
      const { nodeType } = read(node);
      if (nodeType === Node.TEXT_NODE) {
        addText(/** @type {Text} */ (node), state, shown);
      } else if (nodeType === Node.ELEMENT_NODE) {
        const child = /** @type {Element} */ (node);
        const { localName } = read(child);
        if (/^(script|style|template|noscript|textarea|select|title|desc|iframe|object)$/.test(localName) || sw.tree.isOurs(child)) continue;
        const inline = shown && /^(inline|contents|ruby)/.test(getComputedStyle(child).display) && localName !== "br";
        if (!inline) state.text += " ";
        collect(child, state, shows(child));
        if (!inline) state.text += " ";
      }
    }
  }

  /** As it is laid out: the shadow tree, and into its slots what is put there. @param {Element} el @returns {Iterable<Node>} */
  function contentOf(el) {
    if (read(el).localName === "slot") {
      const assigned = /** @type {HTMLSlotElement} */ (el).assignedNodes({ flatten: true });
      if (assigned.length > 0) return assigned;
    }
    return sw.tree.shadowOf(el)?.childNodes ?? read(el).childNodes;
  }

  /** @param {Text} node @param {Collected} state @param {boolean} shown */
  function addText(node, state, shown) {
    const text = node.nodeValue ?? "";
    const empty = text.trim() === "";
    if (empty) {
      if (shown) state.text += " ";
    } else if (!shown || !isDrawn(node)) {
      state.hidden = true;
    } else if (state.text.length < 8 * most.text) {
      state.text += text;
    }
  }

  /** @param {Element} el @returns {boolean} */
  function shows(el) {
    const { parentElement } = read(el);
    if (!read(el).checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: false })) {
      return getComputedStyle(el).display === "contents" && (parentElement === null || shows(parentElement));
    }
    const style = getComputedStyle(el);
    const transparent = /^rgba\(.*, 0\)$|^transparent$/;
    const fill = style.getPropertyValue("-webkit-text-fill-color") || style.color;
    if (transparent.test(fill) && !/text/.test(style.backgroundClip)) return false;
    return !clippedAway(el);
  }

  /** The ways to keep text for screen readers only. @param {Element} el */
  function clippedAway(el) {
    for (let up = /** @type {Element | null} */ (el), n = 0; up && n < 8; up = read(up).parentElement, n++) {
      const style = getComputedStyle(up);
      if (/^inset\((50|100)%/.test(style.clipPath) || /^circle\(0/.test(style.clipPath)) return true;
      const rect = /^rect\(([^)]*)\)$/.exec(style.clip)?.[1].split(/[, ]+/).map(parseFloat);
      if (style.position === "absolute" && rect && (rect[2] - rect[0] <= 1 || rect[1] - rect[3] <= 1)) return true;
      if (style.overflowX !== "visible" && style.display !== "inline" && style.display !== "contents") {
        const { width, height } = read(up).getBoundingClientRect();
        if (width <= 1 || height <= 1) return true;
      }
    }
    return false;
  }

  /** @param {Text} node */
  function isDrawn(node) {
    const range = node.ownerDocument.createRange();
    range.selectNodeContents(node);
    const { width, height, right, bottom } = range.getBoundingClientRect();
    const win = node.ownerDocument.defaultView;
    if (width <= 1 || height <= 1) return false;
    return right + (win?.scrollX ?? 0) > 0 && bottom + (win?.scrollY ?? 0) > 0; // what lies before the page's start can never be scrolled to
  }

  // Repetition.

  /**
   * Which of several alike an element is, or the nearest element around it.
   * @param {Element} el
   * @returns {{index: number, of: number, key?: string} | null}
   */
  function repeatOf(el) {
    let at = /** @type {Element | null} */ (el);
    for (let n = 0; at && n <= ancestors; n++) {
      const self = /** @type {Element} */ (at);
      const { parentElement, ownerDocument } = read(self);
      if (parentElement === null || self === ownerDocument.body) return null;
      at = parentElement;
      if (!canRepeat(self)) continue;
      const alike = [...read(parentElement).children].filter((other) => isAlike(other, self));
      if (alike.length < 2) continue;
      const key = ["data-key", "data-id", "data-testid", "id"].map((name) => read(self).getAttribute(name)).find(Boolean);
      return { index: alike.indexOf(self) + 1, of: alike.length, ...(key && { key: cut(fold(key), most.attr) }) };
    }
    return null;
  }

  /** The cells of a row are no list; its rows are. @param {Element} el */
  function canRepeat(el) {
    const { localName, childElementCount } = read(el);
    return !/^(td|th|col|br|path|g|rect|circle|line|source|head|body)$/.test(localName)
      && (/^(li|tr|option|article)$/.test(localName) || read(el).hasAttribute("class") || childElementCount > 0);
  }

  /** @param {Element} a @param {Element} b */
  const isAlike = (a, b) => a === b || (read(a).localName === read(b).localName && shape(a) === shape(b)
    && (read(a).getAttribute("class") ?? "").trim() === (read(b).getAttribute("class") ?? "").trim());

  /** @param {Element} el */
  const shape = (el) => [...read(el).children].slice(0, 6).map((c) => read(c).localName).join(" ");

  // Paths and selectors.

  /** @param {Element} el */
  const classesOf = (el) => (read(el).getAttribute("class") ?? "").slice(0, 4 * most.className).split(/\s+/).filter((name) => name !== "" && name.length <= most.id);

  /** An id that one can write. @param {Element} el */
  function idOf(el) {
    const { id } = read(el);
    return id.length <= most.id ? id : "";
  }

  /** @param {Element} el */
  function nth(el) {
    const { parentNode, localName } = read(el);
    const same = [...(parentNode ? read(parentNode).children : [])].filter((other) => read(other).localName === localName);
    return same.length > 1 ? `:nth-of-type(${same.indexOf(el) + 1})` : "";
  }

  /** @param {Element} el */
  function step(el) {
    const tag = CSS.escape(read(el).localName);
    if (idOf(el)) return `${tag}#${CSS.escape(idOf(el))}`;
    return tag + classesOf(el).slice(0, 3).map((name) => "." + CSS.escape(name)).join("") + nth(el);
  }

  /**
   * Up to five ancestors, or to the first with an id; ">>>" goes into a shadow
   * root.
   * @param {Element} el
   */
  function domPath(el) {
    let path = step(el);
    let at = el;
    for (let n = 0; n < ancestors && !idOf(at); n++) {
      const { parentElement, parentNode } = read(at);
      if (parentElement) {
        if (read(parentElement).localName === "html") break;
        at = parentElement;
        path = `${step(at)} > ${path}`;
      } else if (parentNode && "host" in parentNode) {
        at = /** @type {ShadowRoot} */ (parentNode).host;
        path = `${step(at)} >>> ${path}`;
      } else {
        break;
      }
    }
    return path;
  }

  /**
   * A selector that finds this element and no other; in a shadow root, the
   * selectors from the document to it.
   * @param {Element} el
   * @returns {string}
   */
  function fullSelector(el) {
    const scope = /** @type {Document | ShadowRoot} */ (read(el).getRootNode());
    const steps = [];
    for (let at = /** @type {Element | null} */ (el); at; at = read(at).parentElement) {
      const { id, localName } = read(at);
      if (id && read(scope).querySelectorAll("#" + CSS.escape(id)).length === 1) {
        steps.unshift("#" + CSS.escape(id));
        break;
      }
      steps.unshift(CSS.escape(localName) + nth(at));
    }
    const selector = steps.join(" > ");
    return isShadow(scope) ? `${fullSelector(/** @type {ShadowRoot} */ (scope).host)} >>> ${selector}` : selector;
  }

  /**
   * The element that a path leads to now.
   * @param {string} path @param {Document} doc
   * @returns {Element | null}
   */
  function resolve(path, doc) {
    const [first, ...rest] = path.split(" >>> ");
    let found = query(doc, first);
    for (const part of rest) {
      const shadow = found && sw.tree.shadowOf(found);
      found = shadow ? query(shadow, part) : null;
    }
    return found;
  }

  /** @param {ParentNode} scope @param {string} selector */
  function query(scope, selector) {
    try {
      return scope.querySelector(selector);
    } catch {
      return null; // cut in the middle, say
    }
  }

  sw.captures = { capture, seen: seenOf, around: aroundOf, domPath, fullSelector, resolve, textOf };
})();
