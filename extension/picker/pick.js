// Runs in: content script, isolated world, every frame, from the start of its
// document. Talks to: worker.
//
// Each frame listens, before anything of the page does, and hands what happens
// to the picker of the outermost window that it can look into. That one sleeps
// until it is armed by a message. While it is armed, the page sees no gesture.

(() => {
  const sw = (globalThis.slidewrite ??= /** @type {SlideWrite} */ ({}));
  // Injected a second time: the first one ends, but for its ears, which were
  // there before the page's.
  sw.release?.();
  const { read } = sw.tree;

  const gestures = [
    "pointerdown", "pointerup", "pointermove", "pointerover", "pointerout", "pointerenter", "pointerleave", "pointercancel",
    "mousedown", "mouseup", "mousemove", "mouseover", "mouseout", "mouseenter", "mouseleave",
    "click", "dblclick", "auxclick", "contextmenu", "keydown", "keyup", "keypress",
    "touchstart", "touchmove", "touchend", "touchcancel", "dragstart",
  ];
  const around = ["scroll", "resize", "beforetoggle", "toggle", "fullscreenchange"];
  /** Of a gesture that ended the picker, what may still come. In ms. */
  const tailTime = 600;
  /** The longest that the overlay makes way for a picture. In ms. */
  const hiddenTime = 2_000;
  /** Of the sign that something was picked. In ms. */
  const tickTime = 1_000;
  /** A press that moved farther than this is no click. In CSS pixels. */
  const dragged = 10;
  /** So long the pointer rests before the page's framework is asked. In ms. */
  const restTime = 150;

  /** Of an id or a class, in characters. */
  const mostName = 60;

  /** Those of touches are passive, and it is the mouse events after them that do something. */
  const passive = /^(touch|scroll)/;

  /** @param {Event} event */
  function swallow(event) {
    event.stopImmediatePropagation();
    if (event.cancelable && !event.type.startsWith("pointer") && !passive.test(event.type)) event.preventDefault();
  }

  /** @type {Picker | null} */
  let picker = null;
  const root = () => sw.tree.rootWindow();

  sw.listen ??= ears();
  sw.listen();

  /** What makes this window listen, again as well: document.open() takes all listeners of a page away, and says nothing. */
  function ears() {
    /** @param {Event} event */
    const onGesture = (event) => root().slidewrite?.picker?.handle(event, window);
    /** @param {PageTransitionEvent} event */
    const onPageHide = (event) => (event.isTrusted ? sw.picker?.leave() : sw.picker?.disarm());
    const listen = () => {
      for (const type of [...gestures, ...around]) addEventListener(type, onGesture, { capture: true, passive: passive.test(type) });
      addEventListener("pagehide", onPageHide);
    };
    // It takes the root element away, too, and leaves who watches for that.
    new MutationObserver(listen).observe(document, { childList: true });
    return listen;
  }

  /** @typedef {{target: Element, win: Window, x: number, y: number, through: boolean}} At */

  class Picker {
    armed = false;
    /** The debugger finds what is pointed at: of gestures, only keys come here. */
    #keysOnly = false;
    /** @type {SwOverlay | null} */
    #overlay = null;
    #max = 5;
    #picks = 0;
    #copies = false;
    /** Where the pointer was last. @type {At | null} */
    #at = null;
    /** What is outlined. @type {Element | null} */
    #current = null;
    /** The element was chosen by keys: the pointer must move to choose again. */
    #byKeys = false;
    #frame = 0;
    /** The gesture that is going on was begun on the bare page, and is its own. */
    #passes = false;
    #down = { x: 0, y: 0 };
    /** Always those that there are. */
    #frames = document.getElementsByTagName("iframe");
    /** @type {Set<string>} keys that are down, and not the page's */
    #keys = new Set();
    #tailUntil = 0;
    /** @type {Map<string, WeakRef<Element>>} */
    #picked = new Map();
    /** @type {WeakMap<Element, string>} */
    #components = new WeakMap();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    #resting;
    /** @type {Element | null} the top layer element that we were before last */
    #layer = null;
    /** Highlighted from the panel. @type {Element | null} */
    #lit = null;

    /** @param {{max: number, copyPath: boolean, by: "page" | "debugger"}} order */
    arm({ max, copyPath, by }) {
      this.#keysOnly = by === "debugger";
      this.#max = max;
      this.#copies = copyPath;
      if (this.armed) return;
      this.armed = true;
      this.#picks = 0;
      this.#passes = false;
      this.#byKeys = false;
      if (this.#keysOnly) return;
      this.#overlay ??= sw.makeOverlay(document);
      this.#overlay.hide(false);
      if (document.documentElement) this.#overlay.raise();
      this.#soon();
    }

    /** It says what is pointed at. */
    get #points() {
      return this.armed && !this.#keysOnly;
    }

    /** The page goes: what was armed here ends. The debugger stays, and hears of it itself. */
    leave() {
      if (this.#points) void tell({ type: "sw-pick-ended", picks: 0 });
      this.disarm();
    }

    /** The debugger picked that. @param {string} pick @param {SwPath} path */
    keep(pick, path) {
      const el = sw.tree.elementAt(path, document);
      if (el) this.#picked.set(pick, new WeakRef(el));
    }

    /** No gesture is ours from now on, but for the end of this one. */
    disarm() {
      if (!this.armed) return;
      this.armed = false;
      this.#tailUntil = performance.now() + tailTime;
      clearTimeout(this.#resting);
      this.#current = this.#at = null;
      this.#overlay?.clear();
      this.#overlay?.shield([]);
      this.#restSoon();
    }

    /** Nothing of ours stays in the page, once the last tick has been seen. */
    #restSoon() {
      setTimeout(() => {
        if (!this.armed && !this.#lit) this.#overlay?.remove();
      }, tickTime);
    }

    /** The last of this picker: another one takes its place. */
    stop() {
      this.disarm();
      cancelAnimationFrame(this.#frame);
      this.#overlay?.remove();
      this.#overlay = null;
    }

    /**
     * Every event of every frame. It must cost nothing while it sleeps.
     * @param {Event} event @param {Window} win
     */
    handle(event, win) {
      if (!this.armed) {
        if (this.#tailUntil > 0) this.#tail(event);
        if (this.#lit && (event.type === "scroll" || event.type === "resize")) this.#soon();
        if (sw.tree.isOurs(event.target)) event.stopImmediatePropagation();
        return;
      }
      try {
        this.#hear(event, win);
      } catch (err) {
        console.warn("slidewrite: picker:", err);
        // Whatever it was: it is not the page's.
        if (event.isTrusted && gestures.includes(event.type)) swallow(event);
        if (/^(pointerup|keydown)$/.test(event.type)) this.#failed(err);
      }
    }

    /** @param {Event} event @param {Window} win */
    #hear(event, win) {
      const { type } = event;
      if (sw.tree.isOurs(event.target) && /toggle/.test(type)) return event.stopImmediatePropagation();
      if (this.#keysOnly) {
        if (!event.isTrusted || !gestures.includes(type)) return;
        // The debugger takes the gestures before the page, but rests while a picture is taken.
        return type.startsWith("key") ? this.#key(/** @type {KeyboardEvent} */ (event)) : swallow(event);
      }
      if (type === "scroll" || type === "resize") return this.#again();
      if (type === "toggle" || type === "fullscreenchange") return this.#overlay?.raise();
      if (type === "beforetoggle") return;
      if (!event.isTrusted) return; // what the page does by itself is its own
      if (type.startsWith("key")) return this.#key(/** @type {KeyboardEvent} */ (event));

      const target = this.#target(event);
      if (type === "pointerdown") this.#begin(/** @type {PointerEvent} */ (event), target);
      if (this.#passes && !/^(pointer|mouse)(move|over|out|enter|leave)$/.test(type)) return;
      swallow(event);
      if (type === "pointermove" || type === "pointerover" || type === "pointerdown") this.#move(/** @type {PointerEvent} */ (event), target, win);
      else if (type === "pointerout" && /** @type {PointerEvent} */ (event).relatedTarget === null && win === window) this.#leave();
      else if (type === "pointerup") this.#up(/** @type {PointerEvent} */ (event), target, win);
    }

    /** @param {PointerEvent} event @param {Element | null} target */
    #begin({ clientX: x, clientY: y, altKey }, target) {
      this.#passes = false;
      this.#passes = target === null || sw.hits.hit({ target, x, y }, altKey) === null;
      this.#down = { x, y };
    }

    /** What an event is about; null on the bare page. @param {Event} event @returns {Element | null} */
    #target(event) {
      let node = /** @type {any} */ (event.composedPath()[0] ?? event.target);
      if (node && read(node).nodeType === Node.TEXT_NODE) node = node.parentElement;
      if (!node || read(node).nodeType !== Node.ELEMENT_NODE) return null;
      if (node === this.#overlay?.host) {
        const { clientX, clientY } = /** @type {PointerEvent} */ (event);
        node = sw.hits.stack(document, clientX, clientY)[0] ?? null;
      }
      return node === null || /^(html|body)$/.test(read(node).localName) ? null : node;
    }

    /** Events of the gesture that ended the picker. @param {Event} event */
    #tail(event) {
      const { type } = event;
      if (performance.now() > this.#tailUntil || type === "pointerdown" || (type === "keydown" && !/** @type {KeyboardEvent} */ (event).repeat)) {
        this.#tailUntil = 0;
        if (type !== "keyup") return;
      }
      if (type === "keyup" || type === "keypress" || type === "keydown") {
        const { code } = /** @type {KeyboardEvent} */ (event);
        if (this.#keys.has(code)) swallow(event);
        if (type === "keyup") this.#keys.delete(code);
      } else if (/^(pointerup|mouseup|click|auxclick|contextmenu|touchend)$/.test(type) && event.isTrusted) {
        swallow(event);
      }
    }

    // The pointer.

    /** @param {PointerEvent} event @param {Element | null} target @param {Window} win */
    #move(event, target, win) {
      if (target === null) return this.#leave();
      this.#byKeys = false;
      this.#at = { target, win, x: event.clientX, y: event.clientY, through: event.altKey };
      this.#soon();
    }

    #leave() {
      this.#at = null;
      if (!this.#byKeys) this.#soon();
    }

    /** The page moved under the pointer. */
    #again() {
      if (this.#at && !this.#byKeys) {
        const { win, x, y } = this.#at;
        let inner = /** @type {Element | null} */ (null);
        try {
          inner = win.document.elementFromPoint(x, y);
        } catch {
          // The frame is gone.
        }
        if (inner && !sw.tree.isOurs(inner)) this.#at = { ...this.#at, target: inner };
      }
      this.#soon();
    }

    #soon() {
      this.#frame ||= requestAnimationFrame(() => {
        this.#frame = 0;
        try {
          if (this.#points) this.#draw();
          else if (this.#lit) this.#outline(this.#lit);
        } catch (err) {
          // The next move has another try; a click on it says why.
          console.warn("slidewrite: picker:", err);
          this.#current = null;
          this.#overlay?.clear();
        }
      });
    }

    /** Reads first, then writes: the page is laid out once at most. */
    #draw() {
      if (!this.#byKeys) {
        const el = this.#at ? this.#hit() : null;
        if (el !== this.#current) this.#choose(el);
      }
      const el = this.#current;
      const foreign = [...this.#frames].filter(isForeign).map((frame) => sw.tree.boxOf(frame, window));
      if (!el || !isThere(el)) {
        this.#overlay?.shield(foreign);
        return this.#overlay?.clear();
      }
      const box = sw.tree.boxOf(el, window);
      const layer = read(el).closest("dialog, [popover]");
      if (layer !== this.#layer) this.#overlay?.raise();
      this.#layer = layer;
      this.#overlay?.shield(foreign);
      this.#overlay?.show(box, wordsOf(el, box, this.#components.get(el) ?? ""));
    }

    #hit() {
      const { target, x, y, through } = /** @type {At} */ (this.#at);
      return isThere(target) ? sw.hits.hit({ target, x, y }, through) : null;
    }

    /** @param {Element | null} el */
    #choose(el) {
      this.#current = el;
      clearTimeout(this.#resting);
      if (el && !this.#components.has(el)) this.#resting = setTimeout(() => void this.#askComponent(el), restTime);
    }

    /** @param {Element} el */
    async #askComponent(el) {
      this.#components.set(el, "");
      /** @type {import("../lib/messages.js").PickHint} */
      const message = { type: "sw-pick-hint", path: sw.tree.pathOf(el, window) };
      const reply = await tell(message);
      const name = typeof reply === "string" ? reply : "";
      this.#components.set(el, name);
      if (name && this.armed && this.#current === el) this.#soon();
    }

    /** @param {PointerEvent} event @param {Element | null} target @param {Window} win */
    #up(event, target, win) {
      const { clientX: x, clientY: y } = event;
      if (event.button !== 0 || target === null || Math.hypot(x - this.#down.x, y - this.#down.y) > dragged) return;
      if (!this.#byKeys || target !== this.#at?.target) this.#move(event, target, win);
      const el = this.#byKeys ? this.#current : this.#hit();
      if (el) this.#pick(el, sw.tree.pointIn(win, window, x, y), event.shiftKey);
    }

    // Keys.

    /** @param {KeyboardEvent} event */
    #key(event) {
      if (event.isComposing) return;
      const { type, key, code } = event;
      if (this.#keysOnly && key === "Shift") {
        swallow(event);
        return void tell({ type: "sw-pick-shift", held: type === "keydown" });
      }
      if (type !== "keydown") {
        if (!this.#keys.has(code)) return;
        swallow(event);
        if (type === "keyup") this.#keys.delete(code);
        if (type === "keyup" && key === "Alt") this.#look(false);
        return;
      }
      if (event.ctrlKey || event.metaKey) return; // the browser's
      const act = this.#actions[key];
      if (!act || (this.#keysOnly && key !== "Escape")) return;
      this.#keys.add(code);
      swallow(event);
      act(event);
    }

    /** @type {Record<string, (event: KeyboardEvent) => void>} */
    #actions = {
      Escape: () => this.#end(),
      Enter: (event) => {
        if (!event.repeat && isThere(this.#current)) this.#pick(this.#current, null, event.shiftKey);
      },
      Alt: () => this.#look(true),
      Shift: () => {}, // of Shift+click
      ArrowUp: () => this.#step((el) => {
        const up = sw.tree.parentOf(el);
        return up && read(up).localName !== "html" ? up : null;
      }),
      ArrowDown: () => this.#step((el) => sw.tree.childrenOf(el)[0]),
      ArrowLeft: () => this.#step((el) => sibling(el, -1)),
      ArrowRight: () => this.#step((el) => sibling(el, 1)),
    };

    /** @param {boolean} through */
    #look(through) {
      if (!this.#at || this.#at.through === through) return;
      this.#at = { ...this.#at, through };
      this.#byKeys = false;
      this.#soon();
    }

    /** @param {(el: Element) => Element | null | undefined} next */
    #step(next) {
      const from = isThere(this.#current) ? this.#current : null;
      const to = from ? next(from) : (document.activeElement ?? document.body);
      if (!to) return;
      this.#byKeys = true;
      this.#choose(to);
      this.#soon();
    }

    // Picks.

    /**
     * @param {Element} el @param {{x: number, y: number} | null} at @param {boolean} copy
     */
    #pick(el, at, copy) {
      const pick = newName();
      const capture = sw.captures.capture(el, at, window);
      const box = sw.tree.boxOf(el, window);
      this.#picked.set(pick, new WeakRef(el));
      this.#picks++;
      if (copy && this.#copies) void sw.copyText(sw.captures.fullSelector(el));
      const path = sw.tree.pathOf(el, window);
      const ends = this.#picks >= this.#max;
      void (async () => {
        await tell({ type: "sw-pick-made", pick, capture, path });
        await tell({ type: "sw-capture-tab", pick });
      })();
      if (ends) this.#end();
      this.#overlay?.tick(box);
    }

    /** What was pressed could not be read: the worker says so, and ends picking. @param {unknown} err */
    #failed(err) {
      this.disarm();
      void tell({ type: "sw-pick-failed", reason: err instanceof Error ? err.message : String(err) });
    }

    #end() {
      this.disarm();
      void tell({ type: "sw-pick-ended", picks: this.#picks });
    }

    // What the worker and the panel ask for.

    /**
     * Makes way for a picture, and says where a picked element is by now.
     * @param {string} pick
     * @returns {Promise<{box: SwBox, width: number, dpr: number, scale: number, x: number, y: number} | null>}
     */
    async place(pick) {
      const el = this.#picked.get(pick)?.deref();
      if (!isThere(el) || window.top !== window) return null;
      this.#overlay?.hide(true);
      setTimeout(() => this.placed(), hiddenTime); // should the worker end meanwhile
      // Two frames: the first draws, with the second it is on the screen.
      await new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
      const box = sw.tree.visibleBox(el, window);
      const view = window.visualViewport;
      if (box.w < 1 || box.h < 1) return null;
      return { box, width: window.innerWidth, dpr: window.devicePixelRatio, scale: view?.scale ?? 1, x: view?.offsetLeft ?? 0, y: view?.offsetTop ?? 0 };
    }

    placed() {
      this.#overlay?.hide(false);
    }

    /**
     * Outlines an element for the panel.
     * @param {string} selector @param {string} pick @param {boolean} reveal
     * @returns {boolean} whether it is there
     */
    light(selector, pick, reveal) {
      this.#lit = selector === "" ? null : this.#find(selector, pick);
      if (reveal && this.#lit) read(this.#lit).scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
      if (!this.#lit) {
        if (this.#points) this.#soon();
        else {
          this.#overlay?.clear();
          this.#restSoon();
        }
        return false;
      }
      if (this.#points) {
        this.#overlay?.show(sw.tree.boxOf(this.#lit, window), null);
        return true;
      }
      this.#overlay ??= sw.makeOverlay(document);
      this.#overlay.hide(false);
      this.#overlay.raise();
      this.#outline(this.#lit);
      return true;
    }

    /** @param {Element} el */
    #outline(el) {
      const box = sw.tree.boxOf(el, window);
      this.#overlay?.show(box, wordsOf(el, box, ""));
    }

    /**
     * The very element, or the one that has taken its place.
     * @param {string} selector @param {string} pick @returns {Element | null}
     */
    #find(selector, pick) {
      const el = this.#picked.get(pick)?.deref();
      if (isThere(el)) return el;
      for (const doc of documents(document)) {
        const found = sw.captures.resolve(selector, doc);
        if (found) return found;
      }
      return null;
    }
  }

  /** @param {Element | null | undefined} el @returns {el is Element} */
  const isThere = (el) => !!el && read(el).isConnected;

  /** crypto.randomUUID is only there where a page is secure. */
  const newName = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

  /** A frame whose page has no picker of ours. @param {HTMLIFrameElement} el */
  function isForeign(el) {
    try {
      if (el.contentDocument) return false;
    } catch {
      // Of another origin.
    }
    // Those of this machine have a picker of their own; those without an address, too.
    return /^https?:/.test(el.src)
      && !/^https?:\/{2}(localhost|[\w.-]+\.localhost|127\.0\.0\.1|\[::1\])([:/]|$)/.test(el.src);
  }

  /** @param {Document} doc @returns {Generator<Document>} */
  function* documents(doc) {
    yield doc;
    for (const frame of doc.querySelectorAll("iframe, frame")) {
      let inner = null;
      try {
        inner = /** @type {HTMLIFrameElement} */ (frame).contentDocument;
      } catch {
        // Of another origin.
      }
      if (inner) yield* documents(inner);
    }
  }

  /** @param {Element} el @param {number} by */
  function sibling(el, by) {
    const up = sw.tree.parentOf(el);
    if (!up) return null;
    const all = sw.tree.childrenOf(up);
    return all[all.indexOf(el) + by] ?? null;
  }

  /** @param {Element} el @param {SwBox} box @param {string} component */
  function wordsOf(el, box, component) {
    const short = (/** @type {string} */ text) => (text.length > mostName ? text.slice(0, mostName) + "…" : text);
    const { localName, id } = read(el);
    const classes = (read(el).getAttribute("class") ?? "").slice(0, 4 * mostName).split(/\s+/).filter(Boolean).slice(0, 3).map(short);
    return {
      tag: localName, rest: (id ? "#" + short(id) : "") + classes.map((name) => "." + name).join(""),
      size: `${Math.round(box.w)} × ${Math.round(box.h)}`, component: component && `<${component}>`,
    };
  }

  /**
   * @param {import("../lib/messages.js").Message} message
   * @returns {Promise<any>} what the worker answers; undefined when it does not
   */
  async function tell(message) {
    try {
      return (await chrome.runtime.sendMessage(message))?.value;
    } catch {
      return undefined; // the extension was loaded anew: this script is of the old one
    }
  }

  /** @type {Record<string, (message: any, picker: Picker) => unknown>} */
  const orders = {
    "sw-arm-picker": ({ max, copyPath, by }, p) => {
      p.arm({ max, copyPath, by });
      return true;
    },
    "sw-disarm-picker": (_, p) => p.disarm(),
    "sw-pick-keep": ({ pick, path }, p) => p.keep(pick, path),
    "sw-shot-place": ({ pick }, p) => p.place(pick),
    "sw-shot-done": (_, p) => p.placed(),
    "sw-highlight": ({ selector, pick, reveal }, p) => p.light(selector, pick, reveal),
  };

  /** @param {any} message @param {chrome.runtime.MessageSender} sender @param {(answer: unknown) => void} answer */
  function onMessage(message, sender, answer) {
    const own = sender.id === chrome.runtime.id && (sender.url === undefined || sender.url.startsWith(chrome.runtime.getURL("")));
    if (own && message?.type === "sw-arm-picker") sw.listen(); // each frame for itself
    if (!own || !Object.hasOwn(orders, message?.type) || root() !== window || !picker) return false;
    Promise.resolve(orders[message.type](message, picker)).then((value) => answer({ value }), () => answer({ value: null }));
    return true;
  }

  picker = new Picker();
  sw.picker = picker;
  chrome.runtime.onMessage.addListener(onMessage);

  sw.release = () => {
    picker?.stop();
    try {
      chrome.runtime.onMessage.removeListener(onMessage);
    } catch {
      // Of an extension that is gone.
    }
  };
})();
