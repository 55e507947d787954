import { ok, test } from "./harness.js";

// The promise on top of theme.css, kept by computing it.

const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: "/extension/lib/theme.css" });
await new Promise((done, failed) => {
  link.addEventListener("load", done);
  link.addEventListener("error", failed);
  document.head.append(link);
});
const canvas = /** @type {CanvasRenderingContext2D} */ (new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true }));

/**
 * The relative luminance of a variable of the theme, as WCAG defines it.
 * @param {string} name
 */
function luminance(name) {
  const probe = document.createElement("i");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  canvas.fillStyle = "#123456";
  canvas.fillStyle = getComputedStyle(probe).color;
  probe.remove();
  canvas.fillRect(0, 0, 1, 1);
  const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** @param {string} a @param {string} b */
function contrast(a, b) {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}

const surfaces = ["bg", "bg-raised", "bg-sunken", "bg-hover"];
const soft = ["accent-soft", "ok-soft", "warn-soft", "danger-soft", "add-bg", "del-bg"];
/** @type {[string, string[], number][]} the colour, what it is on, the least contrast */
const promises = [
  ["fg", [...surfaces, ...soft], 4.5],
  ["fg-muted", [...surfaces, ...soft], 4.5],
  ["accent-text", [...surfaces, "accent-soft"], 4.5],
  ["ok", [...surfaces, "ok-soft", "add-bg"], 4.5],
  ["warn", [...surfaces, "warn-soft"], 4.5],
  ["danger", [...surfaces, "danger-soft", "del-bg"], 4.5],
  ["accent-fg", ["accent", "accent-hover"], 4.5],
  ["border-strong", surfaces, 3],
  ["focus", surfaces, 3],
  ["accent", surfaces.slice(0, 3), 3],
];

for (const theme of ["light", "dark"]) {
  test(`every colour can be read on every surface: ${theme}`, () => {
    document.documentElement.dataset.theme = theme;
    try {
      const low = promises.flatMap(([front, backs, least]) => backs.filter((b) => contrast(front, b) < least).map((b) => `--${front} on --${b}: ${contrast(front, b).toFixed(2)} < ${least}`));
      ok(low.length === 0, low.join("\n"));
      ok(contrast("fg", "bg") > 10, "the probe sees the theme");
      ok(theme === "light" ? luminance("bg") > 0.5 : luminance("bg") < 0.1, "the theme is the one that is set");
    } finally {
      delete document.documentElement.dataset.theme;
    }
  });
}
