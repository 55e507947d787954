// Runs in: content script, isolated world, every frame. Role and name as
// assistive technology has them: Chromium's own where it tells a page, else
// the usual cases of the two specifications (HTML-AAM, accname), and nothing
// for the rest.

(() => {
  const sw = (globalThis.slidewrite ??= /** @type {SlideWrite} */ ({}));

  const { read } = sw.tree;

  /** @type {Record<string, string>} */
  const byTag = {
    a: "", article: "article", aside: "complementary", button: "button", datalist: "listbox", dd: "definition", details: "group",
    dialog: "dialog", dt: "term", fieldset: "group", figure: "figure", form: "form", h1: "heading", h2: "heading", h3: "heading",
    h4: "heading", h5: "heading", h6: "heading", hr: "separator", img: "img", li: "listitem", main: "main", math: "math", menu: "list",
    meter: "meter", nav: "navigation", ol: "list", optgroup: "group", option: "option", output: "status", p: "paragraph",
    progress: "progressbar", search: "search", summary: "button", svg: "img", table: "table", tbody: "rowgroup", td: "cell",
    textarea: "textbox", tfoot: "rowgroup", th: "columnheader", thead: "rowgroup", tr: "row", ul: "list",
  };
  /** @type {Record<string, string>} */
  const byType = {
    button: "button", checkbox: "checkbox", color: "", date: "", email: "textbox", file: "button", hidden: "", image: "button",
    number: "spinbutton", password: "", radio: "radio", range: "slider", reset: "button", search: "searchbox", submit: "button",
    tel: "textbox", text: "textbox", url: "textbox",
  };
  /** Roles whose name is their content, when nothing else names them. */
  const fromContent = new Set([
    "button", "cell", "checkbox", "columnheader", "gridcell", "heading", "link", "menuitem", "menuitemcheckbox", "menuitemradio",
    "option", "radio", "row", "rowheader", "switch", "tab", "tooltip", "treeitem",
  ]);
  /** In nodes, of one name: the text of a whole page is not read. */
  const budget = 3_000;
  let left = budget;
  const landmarkBreakers = "article, aside, main, nav, section";

  /** @param {Element} el @returns {string} */
  function roleOf(el) {
    const computed = /** @type {{computedRole?: string}} */ (read(el)).computedRole;
    if (typeof computed === "string") return computed === "generic" || computed === "none" ? "" : computed;
    const said = (read(el).getAttribute("role") ?? "").trim().toLowerCase().split(/\s+/)[0];
    if (said && said !== "none" && said !== "presentation") return said;
    if (said) return "";
    const tag = read(el).localName;
    if (tag === "a" || tag === "area") return el.hasAttribute("href") ? "link" : "";
    if (tag === "img" && el.getAttribute("alt") === "") return "";
    if (tag === "input") {
      const { type } = /** @type {HTMLInputElement} */ (el);
      return el.hasAttribute("list") && byType[type] === "textbox" ? "combobox" : (byType[type] ?? "textbox");
    }
    if (tag === "select") {
      const { multiple, size } = /** @type {HTMLSelectElement} */ (el);
      return multiple || size > 1 ? "listbox" : "combobox";
    }
    if (tag === "header") return el.closest(landmarkBreakers) ? "" : "banner";
    if (tag === "footer") return el.closest(landmarkBreakers) ? "" : "contentinfo";
    if (tag === "section") return nameOf(el) ? "region" : "";
    if (tag === "form") return nameOf(el) ? "form" : "";
    if (tag === "th") return el.getAttribute("scope") === "row" ? "rowheader" : "columnheader";
    return byTag[tag] ?? "";
  }

  /** @param {string | null | undefined} text */
  const fold = (text) => (text ?? "").replace(/\s+/g, " ").trim();

  /** @param {Element} el @returns {string} */
  function nameOf(el) {
    const computed = /** @type {{computedName?: string}} */ (read(el)).computedName;
    if (typeof computed === "string") return fold(computed);
    left = budget;
    return named(el, new Set());
  }

  /** @param {Element} el @param {Set<Element>} seen @returns {string} */
  function named(el, seen) {
    if (seen.has(el)) return "";
    seen.add(el);
    const scope = /** @type {Document | ShadowRoot} */ (read(el).getRootNode());
    const ids = (read(el).getAttribute("aria-labelledby") ?? "").split(/\s+/).filter(Boolean);
    const by = ids.map((id) => read(scope).getElementById?.(id)).filter((other) => other !== null && other !== undefined);
    if (by.length > 0) {
      const text = fold(by.map((other) => fold(read(other).getAttribute("aria-label")) || (other === el ? "" : contentOf(other, seen, true))).join(" "));
      if (text) return text;
    }
    return fold(read(el).getAttribute("aria-label")) || native(el, seen) || (nameFromContent(el) ? contentOf(el, seen, false) : "")
      || fold(read(el).getAttribute("title")) || fold(read(el).getAttribute("placeholder"));
  }

  /** @param {Element} el */
  function nameFromContent(el) {
    if (/^(section|form)$/.test(read(el).localName)) return false; // their role asks for the name
    return fromContent.has(roleOf(el));
  }

  /** What HTML itself has for a name. @param {Element} el @param {Set<Element>} seen @returns {string} */
  function native(el, seen) {
    /** @param {string} selector */
    const child = (selector) => {
      const found = [...read(el).children].find((c) => read(c).matches(selector));
      return found ? contentOf(found, seen, false) : "";
    };
    switch (read(el).localName) {
      case "img": case "area": return fold(el.getAttribute("alt"));
      case "fieldset": return child("legend");
      case "table": return child("caption");
      case "figure": return child("figcaption");
      case "svg": return child("title");
      case "input": {
        const { type, value } = /** @type {HTMLInputElement} */ (el);
        if (type === "image") return fold(el.getAttribute("alt"));
        if (["button", "submit", "reset"].includes(type)) return fold(value) || (type === "submit" ? "Submit" : type === "reset" ? "Reset" : "");
      }
    }
    const labels = /** @type {{labels?: NodeListOf<HTMLLabelElement> | null}} */ (read(el)).labels;
    return labels ? fold([...labels].map((label) => contentOf(label, new Set([el, ...seen]), false)).join(" ")) : "";
  }

  /**
   * The text of an element and of what is in it; what nobody sees is left out.
   * @param {Element} el @param {Set<Element>} seen @param {boolean} asLabel it is pointed at: it counts even when it is hidden itself
   * @returns {string}
   */
  function contentOf(el, seen, asLabel) {
    let text = "";
    for (const node of sw.tree.shadowOf(el)?.childNodes ?? read(el).childNodes) {
      if (text.length > 400 || left-- <= 0) break;
      const { nodeType } = read(node);
      if (nodeType === Node.TEXT_NODE) text += node.nodeValue;
      else if (nodeType === Node.ELEMENT_NODE) text += inner(/** @type {Element} */ (node), seen, asLabel);
    }
    return fold(text);
  }

  /** @param {Element} child @param {Set<Element>} seen @param {boolean} asLabel @returns {string} */
  function inner(child, seen, asLabel) {
    const { localName } = read(child);
    if (seen.has(child) || read(child).getAttribute("aria-hidden") === "true" || localName === "style" || localName === "script") return "";
    if (!asLabel && !read(child).checkVisibility({ visibilityProperty: true })) return "";
    if (localName === "slot") {
      const nodes = /** @type {HTMLSlotElement} */ (child).assignedNodes({ flatten: true });
      return nodes.map((n) => (left-- <= 0 ? "" : n.nodeType === Node.TEXT_NODE ? n.nodeValue : read(n).nodeType === Node.ELEMENT_NODE ? inner(/** @type {Element} */ (n), seen, asLabel) : "")).join("");
    }
    const text = fold(read(child).getAttribute("aria-label")) || native(child, seen) || contentOf(child, seen, asLabel);
    const apart = !getComputedStyle(child).display.startsWith("inline");
    return apart ? ` ${text} ` : text ? spaced(child, text) : "";
  }

  /** Folding at the edges of an inline element must not join words. @param {Element} child @param {string} text */
  function spaced(child, text) {
    const raw = read(child).textContent ?? "";
    return (/^\s/.test(raw) ? " " : "") + text + (/\s$/.test(raw) ? " " : "");
  }

  sw.aria = { roleOf, nameOf };
})();
