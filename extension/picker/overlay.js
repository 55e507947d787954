// Runs in: content script, isolated world, the window of the picker. Draws the
// outline, its label and the tick: one element with a closed shadow root, in
// the top layer, that no gesture meets. Where things are is told by pick.js;
// nothing here reads the layout.

(() => {
  const sw = (globalThis.slidewrite ??= /** @type {SlideWrite} */ ({}));

  const mark = "data-slidewrite-ui";
  const css = `
    :host {
      all: initial !important; position: fixed !important; inset: 0 !important; display: block !important;
      width: auto !important; height: auto !important; margin: 0 !important; padding: 0 !important; border: 0 !important;
      background: none !important; overflow: clip !important; pointer-events: none !important; z-index: 2147483647 !important;
      contain: strict !important; color-scheme: light !important;
    }
    :host([hidden]), [hidden] { display: none !important; }
    * { box-sizing: border-box; pointer-events: none; }
    .box {
      position: absolute; left: 0; top: 0; border: 2px solid #2b4fc7; border-radius: 3px; background: rgb(43 79 199 / 12%);
      box-shadow: 0 0 0 1px rgb(255 255 255 / 75%), inset 0 0 0 1px rgb(255 255 255 / 55%);
    }
    .label {
      position: absolute; max-width: min(420px, 100%); padding: 3px 7px; border-radius: 4px; background: #14192b; color: #fff;
      box-shadow: 0 1px 4px rgb(0 0 0 / 35%); font: 12px/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
      white-space: nowrap; display: flex; gap: 8px; direction: ltr;
    }
    .label > * { overflow: hidden; text-overflow: ellipsis; flex: none; }
    .label > .what { flex: 0 1 auto; min-width: 3ch; }
    .tag { font-weight: 600; }
    .rest { color: #b9c6ff; }
    .size { color: #aeb4c6; }
    .component { color: #ffd68a; flex-shrink: 1; }
    .tick { position: absolute; width: 28px; height: 28px; margin: -14px 0 0 -14px; animation: tick 900ms ease-out forwards; }
    .flash { animation: flash 900ms ease-out forwards; }
    /* Painted, or it does not count as covering a frame of another process. */
    .shield { position: absolute; left: 0; top: 0; pointer-events: auto; cursor: crosshair; background: rgb(43 79 199 / 4%); }
    @keyframes tick { 0% { transform: scale(.4); opacity: 0; } 15% { transform: scale(1.1); opacity: 1; } 25%, 75% { transform: none; opacity: 1; } 100% { opacity: 0; } }
    @keyframes flash { 0%, 60% { opacity: 1; } 100% { opacity: 0; } }
    @media (prefers-reduced-motion: reduce) { .tick, .flash { animation-timing-function: step-end; } }
    @media (forced-colors: active) { .box { border-color: Highlight; } .label { border: 1px solid CanvasText; } }
  `;

  /**
   * @param {Document} doc
   * @returns {SwOverlay}
   */
  function makeOverlay(doc) {
    const win = /** @type {Window & typeof globalThis} */ (doc.defaultView);
    const host = ours(doc.createElement("div"));
    host.setAttribute("popover", "manual");
    host.setAttribute("aria-hidden", "true");
    const root = host.attachShadow({ mode: "closed" });
    const sheet = new win.CSSStyleSheet();
    sheet.replaceSync(css);
    root.adoptedStyleSheets = [sheet];

    const box = part("div", "box");
    const label = part("div", "label");
    const [what, tag, rest, component, size] = ["what", "tag", "rest", "component", "size"].map((name) => part("span", name));
    what.append(tag, rest);
    label.append(what, component, size);
    box.hidden = label.hidden = true;
    root.append(box, label);
    /** @type {HTMLElement[]} */
    const shieldNodes = [];

    /** @template {Element} E @param {E} el @returns {E} */
    function ours(el) {
      el.setAttribute(mark, ""); // the picker's style for elements that cannot be hit leaves these alone
      return el;
    }

    /** @param {string} name @param {string} className */
    function part(name, className) {
      const el = /** @type {HTMLElement} */ (ours(doc.createElement(name)));
      el.className = className;
      return el;
    }

    /** @param {HTMLElement} el @param {SwBox} at */
    function place(el, { x, y, w, h }) {
      el.style.transform = `translate(${x}px, ${y}px)`;
      el.style.width = `${Math.max(w, 1)}px`;
      el.style.height = `${Math.max(h, 1)}px`;
    }

    /** In the page, and before what else is in the top layer. */
    function raise() {
      if (host.parentNode !== doc.documentElement) doc.documentElement.append(host);
      if (host.matches(":popover-open")) host.hidePopover();
      host.showPopover();
    }

    function tickIcon() {
      const ns = "http://www.w3.org/2000/svg";
      const svg = ours(doc.createElementNS(ns, "svg"));
      svg.setAttribute("viewBox", "0 0 28 28");
      svg.setAttribute("class", "tick");
      const disc = ours(doc.createElementNS(ns, "circle"));
      for (const [name, value] of Object.entries({ cx: "14", cy: "14", r: "12", fill: "#17683a", stroke: "#fff", "stroke-width": "2" })) disc.setAttribute(name, value);
      const hook = ours(doc.createElementNS(ns, "path"));
      for (const [name, value] of Object.entries({ d: "M8.5 14.5l3.6 3.6 7.4-8", fill: "none", stroke: "#fff", "stroke-width": "2.4", "stroke-linecap": "round", "stroke-linejoin": "round" })) hook.setAttribute(name, value);
      svg.append(disc, hook);
      return svg;
    }

    let drawn = "";

    return {
      host,
      raise,
      show(at, words) {
        if (!host.isConnected || !host.matches(":popover-open")) raise();
        const now = JSON.stringify([at, words]);
        if (now === drawn) return;
        drawn = now;
        place(box, at);
        box.hidden = false;
        label.hidden = words === null;
        if (words === null) return;
        tag.textContent = words.tag;
        rest.textContent = words.rest;
        size.textContent = words.size;
        component.textContent = words.component;
        component.hidden = words.component === "";
        // Above it, else below, else within; from its left, or its right edge.
        const { style } = label;
        const room = win.innerHeight;
        const above = at.y >= 28;
        const below = !above && at.y + at.h + 28 <= room;
        style.top = above ? `${Math.min(at.y, room) - 27}px` : below ? `${at.y + at.h + 4}px` : "6px";
        const right = at.x + at.w / 2 > win.innerWidth / 2;
        style.left = right ? "auto" : `${Math.max(4, at.x)}px`;
        style.right = right ? `max(4px, calc(100% - ${at.x + at.w}px))` : "auto";
      },
      clear() {
        drawn = "";
        box.hidden = label.hidden = true;
      },
      tick(at) {
        const flash = part("div", "box flash");
        place(flash, at);
        const icon = tickIcon();
        icon.style.left = `${Math.min(Math.max(at.x + at.w, 16), win.innerWidth - 16)}px`;
        icon.style.top = `${Math.min(Math.max(at.y, 16), win.innerHeight - 16)}px`;
        icon.addEventListener("animationend", () => {
          flash.remove();
          icon.remove();
        });
        root.append(flash, icon);
      },
      shield(boxes) {
        while (shieldNodes.length > boxes.length) shieldNodes.pop()?.remove();
        boxes.forEach((at, i) => {
          if (!shieldNodes[i]) {
            shieldNodes[i] = part("div", "shield");
            root.prepend(shieldNodes[i]);
          }
          place(shieldNodes[i], at);
        });
      },
      hide(hidden) {
        host.hidden = hidden;
      },
      remove() {
        host.remove();
      },
    };
  }

  sw.makeOverlay = makeOverlay;
})();
