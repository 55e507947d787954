// Runs in: content script, isolated world, every frame. The page as one tree,
// through shadow roots and frames of the same origin, and where its elements
// are in the window of the picker.

(() => {
  const sw = (globalThis.slidewrite ??= /** @type {SlideWrite} */ ({}));

  const skipped = new Set(["SCRIPT", "STYLE", "TEMPLATE", "HEAD", "LINK", "META", "TITLE", "NOSCRIPT"]);

  /** Whether it is that of forms: each frame has one. @type {WeakMap<object, boolean>} */
  const ofForms = new WeakMap();

  /**
   * The fields of a form hide its own properties, <input name="id"> its id, in
   * our world as well: all that is read of a node which may be a form is read
   * through this. It is no node: it can be neither compared nor handed on.
   * @template {object} N @param {N} node @returns {N}
   */
  function read(node) {
    const proto = Object.getPrototypeOf(node);
    let form = ofForms.get(proto);
    if (form === undefined) ofForms.set(proto, (form = proto[Symbol.toStringTag] === "HTMLFormElement"));
    if (!form) return node;
    return new Proxy(proto, {
      get(_, name) {
        const value = Reflect.get(proto, name, node);
        return typeof value === "function" ? value.bind(node) : value;
      },
    });
  }

  /**
   * The shadow root of an element, a closed one, too; not the browser's own.
   * @param {Element} el
   * @returns {ShadowRoot | null}
   */
  function shadowOf(el) {
    const { shadowRoot } = read(el);
    if (shadowRoot) return shadowRoot;
    const open = globalThis.chrome?.dom?.openOrClosedShadowRoot;
    if (!open || !("offsetWidth" in read(el))) return null;
    try {
      return /** @type {ShadowRoot | null} */ (open(/** @type {HTMLElement} */ (el)));
    } catch {
      return null; // not an element that can have one
    }
  }

  /** @param {Element} el @returns {Document | null} of a frame, if it is of our origin */
  function innerDocument(el) {
    if (!/^(IFRAME|FRAME|OBJECT|EMBED)$/.test(read(el).tagName)) return null;
    try {
      return /** @type {HTMLIFrameElement} */ (el).contentDocument ?? null;
    } catch {
      return null;
    }
  }

  /** @param {Window} win @returns {Element | null} */
  function frameOf(win) {
    try {
      return win.frameElement;
    } catch {
      return null; // of another origin
    }
  }

  /** @param {Element} el @returns {Element | null} */
  function parentOf(el) {
    const { parentElement, parentNode, ownerDocument } = read(el);
    if (parentElement) return parentElement;
    if (parentNode && "host" in parentNode) return /** @type {ShadowRoot} */ (parentNode).host;
    const win = ownerDocument.defaultView;
    return parentNode === ownerDocument && win ? frameOf(win) : null;
  }

  /** Those one may pick. @param {Element} el @returns {Element[]} */
  function childrenOf(el) {
    const inner = innerDocument(el);
    if (inner) return inner.body ? [inner.body] : [];
    const shadow = shadowOf(el);
    const all = [...(shadow?.children ?? []), ...read(el).children];
    return all.filter((child) => !skipped.has(read(child).tagName) && !isOurs(child) && isDrawn(child));
  }

  /** @param {Element} el */
  function isDrawn(el) {
    const { w, h } = rectOf(el);
    return w > 0 || h > 0;
  }

  /** @param {Element} outer @param {Element} inner */
  function encloses(outer, inner) {
    for (let el = parentOf(inner); el; el = parentOf(el)) if (el === outer) return true;
    return false;
  }

  /** @param {unknown} node */
  const isOurs = (node) => !!node && /** @type {Partial<Element>} */ (read(node)).hasAttribute?.("data-slidewrite-ui") === true;

  /**
   * In CSS pixels of the element's own window. An element without a box of its
   * own (display: contents) is where its content is.
   * @param {Element} el
   * @returns {SwBox}
   */
  function rectOf(el) {
    const at = read(el);
    let r = at.getBoundingClientRect();
    if (r.width === 0 && r.height === 0 && at.firstChild && getComputedStyle(el).display === "contents") {
      const range = at.ownerDocument.createRange();
      range.selectNodeContents(el);
      r = range.getBoundingClientRect();
    }
    return { x: r.x, y: r.y, w: r.width, h: r.height };
  }

  /**
   * How the content of a frame lies in the window around it.
   * @param {Element} frame
   */
  function placeOf(frame) {
    const outer = frame.getBoundingClientRect();
    const { offsetWidth, offsetHeight, clientLeft, clientTop, clientWidth, clientHeight } = /** @type {HTMLElement} */ (frame);
    const style = getComputedStyle(frame);
    const [left, top] = [parseFloat(style.paddingLeft) || 0, parseFloat(style.paddingTop) || 0];
    const sx = offsetWidth > 0 ? outer.width / offsetWidth : 1;
    const sy = offsetHeight > 0 ? outer.height / offsetHeight : 1;
    const content = {
      w: clientWidth - left - (parseFloat(style.paddingRight) || 0),
      h: clientHeight - top - (parseFloat(style.paddingBottom) || 0),
    };
    return { x: outer.x + (clientLeft + left) * sx, y: outer.y + (clientTop + top) * sy, sx, sy, content };
  }

  /** @param {SwBox} box @param {SwPlace} place @returns {SwBox} */
  const moved = (box, { x, y, sx, sy }) => ({ x: x + box.x * sx, y: y + box.y * sy, w: box.w * sx, h: box.h * sy });

  /** @param {SwBox} a @param {SwBox} b @returns {SwBox} */
  function common(a, b) {
    const x = Math.max(a.x, b.x);
    const y = Math.max(a.y, b.y);
    return { x, y, w: Math.max(0, Math.min(a.x + a.w, b.x + b.w) - x), h: Math.max(0, Math.min(a.y + a.h, b.y + b.h) - y) };
  }

  /** In CSS pixels of the root window. @param {Element} el @param {Window} root @returns {SwBox} */
  const boxOf = (el, root) => inRoot(rectOf(el), el, root);

  /** A box of an element's own window, in the root window. @param {SwBox} box @param {Element} el @param {Window} root @returns {SwBox} */
  function inRoot(box, el, root) {
    for (let win = /** @type {Window | null} */ (read(el).ownerDocument.defaultView); win && win !== root; win = win.parent) {
      const frame = frameOf(win);
      if (!frame) break;
      box = moved(box, placeOf(frame));
    }
    return box;
  }

  /**
   * What of it can be seen: not scrolled out of a box, a frame or the window.
   * @param {Element} el @param {Window} root @returns {SwBox}
   */
  const visibleBox = (el, root) => seenIn(clippedByBoxes(el, rectOf(el)), el, root);

  /** What is seen of a box of an element's own window, in the root window. @param {SwBox} box @param {Element} el @param {Window} root @returns {SwBox} */
  function seenIn(box, el, root) {
    for (let win = /** @type {Window | null} */ (read(el).ownerDocument.defaultView); win && win !== root; win = win.parent) {
      const frame = frameOf(win);
      if (!frame) break;
      const place = placeOf(frame);
      box = common(box, { x: 0, y: 0, ...place.content });
      box = clippedByBoxes(frame, moved(box, place));
    }
    const view = root.visualViewport;
    return common(box, view
      ? { x: view.offsetLeft, y: view.offsetTop, w: view.width, h: view.height }
      : { x: 0, y: 0, w: root.innerWidth, h: root.innerHeight });
  }

  /** A frame that cannot be looked into: how its content lies in the root window, and what is seen of it. @param {Element} frame @param {Window} root */
  function frameIn(frame, root) {
    const place = placeOf(frame);
    const { x, y, w: sx, h: sy } = inRoot(moved({ x: 0, y: 0, w: 1, h: 1 }, place), frame, root);
    return { place: { x, y, sx, sy }, seen: seenIn(clippedByBoxes(frame, moved({ x: 0, y: 0, ...place.content }, place)), frame, root) };
  }

  /** @param {Element} el @param {SwBox} box */
  function clippedByBoxes(el, box) {
    let { position } = getComputedStyle(el);
    const { documentElement, body } = read(el).ownerDocument;
    for (let up = flatParent(el); up && up !== documentElement && position !== "fixed"; up = flatParent(up)) {
      const style = getComputedStyle(up);
      if (position === "absolute" && style.position === "static" && style.transform === "none") continue;
      if (up !== body && /hidden|clip|scroll|auto/.test(style.overflowX + style.overflowY)) {
        const r = read(up).getBoundingClientRect();
        box = common(box, { x: r.x, y: r.y, w: r.width, h: r.height });
      }
      position = style.position;
    }
    return box;
  }

  /** The parent by which it is laid out, in its own document. @param {Element} el @returns {Element | null} */
  function flatParent(el) {
    const { assignedSlot, parentElement, parentNode } = read(el);
    if (assignedSlot ?? parentElement) return assignedSlot ?? parentElement;
    return parentNode && "host" in parentNode ? /** @type {ShadowRoot} */ (parentNode).host : null;
  }

  /** A point of a frame's window, in the root window. @param {Window} win @param {Window} root @param {number} x @param {number} y */
  function pointIn(win, root, x, y) {
    let box = { x, y, w: 0, h: 0 };
    for (; win !== root; win = win.parent) {
      const frame = frameOf(win);
      if (!frame) break;
      box = moved(box, placeOf(frame));
    }
    return { x: box.x, y: box.y };
  }

  /** The outermost window that this one's script can look into; its picker serves them all. @returns {Window} */
  function rootWindow() {
    /** @type {Window} */
    let win = window;
    try {
      while (win.parent !== win && win.parent.document && win.parent.slidewrite?.picker) win = win.parent;
    } catch {
      // The next one is of another origin.
    }
    return win;
  }

  /** @param {Element} el @param {Window} root @returns {SwPath} */
  function pathOf(el, root) {
    /** @type {SwPath} */
    const path = [];
    /** @type {Element | null} */
    let at = el;
    while (at) {
      const parent = /** @type {(Node & ParentNode) | null} */ (read(at).parentNode);
      if (!parent) break;
      const { children, nodeType } = read(parent);
      path.unshift([...children].indexOf(at));
      if (nodeType === Node.DOCUMENT_FRAGMENT_NODE) {
        path.unshift("shadow");
        at = /** @type {ShadowRoot} */ (parent).host ?? null;
      } else if (nodeType === Node.DOCUMENT_NODE) {
        const win = read(at).ownerDocument.defaultView;
        if (!win || win === root) break;
        path.unshift("frame");
        at = frameOf(win);
      } else {
        at = /** @type {Element} */ (parent);
      }
    }
    return path;
  }

  /** The element that a path leads to, if it leads to one. @param {SwPath} path @param {Document} doc @returns {Element | null} */
  function elementAt(path, doc) {
    let at = /** @type {Document | Element | ShadowRoot | null} */ (doc);
    for (const step of path) {
      if (at === null) return null;
      if (step === "shadow") at = shadowOf(/** @type {Element} */ (at));
      else if (step === "frame") at = innerDocument(/** @type {Element} */ (at));
      else at = read(at).children[step] ?? null;
    }
    return at && read(at).nodeType === Node.ELEMENT_NODE ? /** @type {Element} */ (at) : null;
  }

  sw.tree = { read, shadowOf, parentOf, childrenOf, encloses, rectOf, boxOf, visibleBox, frameIn, moved, common, pointIn, rootWindow, isOurs, pathOf, elementAt };
})();
