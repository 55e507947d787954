// Runs in: side panel. How a run ended, in one line for outside of the browser:
// a notification may be seen by others. Pure.

import { oneLine } from "../lib/format.js";

/** In characters. */
const most = 120;

/** What may be a key or a token: long, of letters and digits. */
const secret = /(?=[\w+=-]*\d)(?=[\w+=-]*[A-Za-z])[\w+=-]{20,}/g;

/**
 * The first line of the reply, or of the error.
 * @param {import("./store.js").Chat} chat
 * @returns {string}
 */
export function lastWords({ items, outcome }) {
  const said = items.slice(items.findLastIndex((item) => item.kind === "user") + 1)
    .findLast((item) => item.kind === (outcome === "failed" ? "error" : "text"));
  const words = said?.kind === "error" ? said.message : said?.kind === "text" ? said.text : "";
  const line = words.split("\n").map((one) => one.replace(/^[\s#>*+-]+/, "").replace(/[*`]+/g, "").trim()).find((one) => /\p{L}|\p{N}/u.test(one)) ?? "";
  return oneLine(line.slice(0, 4 * most).replace(secret, "…"), most);
}
