// Runs in: side panel, options page. Elements are made here and nowhere else:
// text enters as text, icons are drawn, nothing is ever parsed as HTML.

/** @typedef {Node | string | number | null | undefined | false} Child */
/**
 * What `el` takes: attributes by name (true = present, false or null = absent),
 * and these.
 * @typedef {object} Special
 * @property {Record<string, (event: any) => void>} [on] listeners by event
 * @property {Record<string, string>} [data] data-* attributes
 */
/** @typedef {Special & Record<string, any>} Props */

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Props | null} [props]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function el(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (name === "on") for (const [type, listener] of Object.entries(value)) node.addEventListener(type, /** @type {EventListener} */ (listener));
    else if (name === "data") Object.assign(node.dataset, value);
    else if (name === "value") Reflect.set(node, "value", value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, String(value));
  }
  append(node, children);
  return node;
}

/**
 * @param {ParentNode} parent
 * @param {(Child | Child[])[]} children
 */
export function append(parent, children) {
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) parent.append(typeof child === "number" ? String(child) : child);
  }
}

/**
 * Shows these children and no others.
 * @param {Element} parent
 * @param {...(Child | Child[])} children
 */
export function fill(parent, ...children) {
  parent.replaceChildren();
  append(parent, children);
}

/**
 * A button of text, of an icon with a name for those who do not see it, or both.
 * @param {{label: string, icon?: string, text?: boolean, class?: string, title?: string} & Props} props
 * @param {(event: MouseEvent) => void} press
 * @returns {HTMLButtonElement}
 */
export function button({ label, icon: name, text = !name, title, ...rest }, press) {
  const node = el("button", { type: "button", ...rest, "aria-label": text ? null : label, title: title ?? (text ? null : label) });
  if (name) node.append(icon(name));
  if (text) node.append(el("span", null, label));
  node.addEventListener("click", press);
  return node;
}

const svg = "http://www.w3.org/2000/svg";

/**
 * Paths on a grid of 16, drawn with a stroke of 1.5.
 * @type {Record<string, string>}
 */
const drawings = {
  plus: "M8 3v10M3 8h10",
  close: "M4 4l8 8M12 4l-8 8",
  check: "M3 8.5l3.2 3.2L13 5",
  chevron: "M6 3.5 10.5 8 6 12.5",
  down: "M8 3v10M3.8 8.8 8 13l4.2-4.2",
  up: "M8 13V3M3.8 7.2 8 3l4.2 4.2",
  send: "M8 13V3M3.8 7.2 8 3l4.2 4.2",
  stop: "M4.5 4.5h7v7h-7z",
  history: "M2.5 8a5.5 5.5 0 1 0 1.7-4M2.5 2.5V5H5M8 5v3.2l2.2 1.4",
  compose: "M7.5 3H4a1.5 1.5 0 0 0-1.5 1.5V12A1.5 1.5 0 0 0 4 13.5h7.5A1.5 1.5 0 0 0 13 12V8.5M6 10l.5-2.2 5.6-5.6 1.7 1.7-5.6 5.6z",
  settings: "M2.5 4.5h6M12 4.5h1.5M2.5 11.5H4M7.5 11.5h6M8.5 4.5a1.75 1.75 0 1 0 3.5 0 1.75 1.75 0 1 0-3.5 0M4 11.5a1.75 1.75 0 1 0 3.5 0 1.75 1.75 0 1 0-3.5 0",
  copy: "M5.5 5.5V4A1.5 1.5 0 0 1 7 2.5h5A1.5 1.5 0 0 1 13.5 4v5a1.5 1.5 0 0 1-1.5 1.5h-1.5M4 5.5h5A1.5 1.5 0 0 1 10.5 7v5A1.5 1.5 0 0 1 9 13.5H4A1.5 1.5 0 0 1 2.5 12V7A1.5 1.5 0 0 1 4 5.5z",
  undo: "M3 6.5h6.5a3.5 3.5 0 0 1 0 7H6M3 6.5 6 3.5M3 6.5l3 3",
  redo: "M13 6.5H6.5a3.5 3.5 0 0 0 0 7H10M13 6.5l-3-3M13 6.5l-3 3",
  edit: "M3 13l.7-3L10.9 2.8l2.3 2.3L6 12.3z",
  external: "M6.5 3H4a1.5 1.5 0 0 0-1.5 1.5V12A1.5 1.5 0 0 0 4 13.5h7.5A1.5 1.5 0 0 0 13 12V9.5M9.5 2.5h4v4M13.2 2.8 7.5 8.5",
  retry: "M13.5 8a5.5 5.5 0 1 1-1.7-4M13.5 2.5V5H11",
  warn: "M8 2.5 14 13H2zM8 6.5v3M8 11.2v.1",
  info: "M2.5 8a5.5 5.5 0 1 0 11 0 5.5 5.5 0 1 0-11 0M8 7.5v3.2M8 5.3v.1",
  error: "M2.5 8a5.5 5.5 0 1 0 11 0 5.5 5.5 0 1 0-11 0M8 5v3.7M8 10.8v.1",
  search: "M2.8 7a4.2 4.2 0 1 0 8.4 0 4.2 4.2 0 1 0-8.4 0M10.2 10.2l3.3 3.3",
  back: "M10 3.5 5.5 8 10 12.5",
  file: "M4.5 2.5h4.5l3 3v8h-7.5zM9 2.5v3h3",
  eye: "M1.8 8C3.2 5.3 5.4 4 8 4s4.8 1.3 6.2 4c-1.4 2.7-3.6 4-6.2 4S3.2 10.7 1.8 8zM6.2 8a1.8 1.8 0 1 0 3.6 0 1.8 1.8 0 1 0-3.6 0",
  commit: "M5.2 8a2.8 2.8 0 1 0 5.6 0 2.8 2.8 0 1 0-5.6 0M1.5 8h3.7M10.8 8h3.7",
  list: "M5.5 4.5h8M5.5 8h8M5.5 11.5h8M2.5 4.5h.1M2.5 8h.1M2.5 11.5h.1",
  image: "M2.5 3.5h11v9h-11zM2.5 10.5l3-3 3 3 2-2 3 3M10 6.2v.1",
  pick: "M3 3l4.2 10 1.5-4.3L13 7.2zM8.9 8.9l4 4",
  plug: "M5.5 2.5v3M10.5 2.5v3M3.5 5.5h9v2.3a4.5 4.5 0 0 1-9 0zM8 12.3v1.7",
};

/**
 * One of our icons; a name that is not drawn is a mistake of ours.
 * @param {string} name
 * @returns {SVGSVGElement}
 */
export function icon(name) {
  const path = drawings[name];
  if (!path) throw new Error(`no icon is called ${name}`);
  const node = document.createElementNS(svg, "svg");
  for (const [key, value] of Object.entries({
    viewBox: "0 0 16 16", width: "16", height: "16", fill: "none", stroke: "currentColor", "stroke-width": "1.5",
    "stroke-linecap": "round", "stroke-linejoin": "round", "aria-hidden": "true", focusable: "false", class: `icon icon-${name}`,
  })) node.setAttribute(key, value);
  const line = document.createElementNS(svg, "path");
  line.setAttribute("d", path);
  node.append(line);
  return node;
}
