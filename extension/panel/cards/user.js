// Runs in: side panel. The user's own words, with what they pointed at.

import { button, el, fill, icon } from "../../lib/dom.js";

/** Longer messages are folded. */
const long = { characters: 900, lines: 12 };

/** @param {import("./index.js").Desk} desk @returns {import("./index.js").View<import("../store.js").UserItem>} */
export function userCard(desk) {
  const words = el("div", { class: "bubble-text", dir: "auto" });
  const chips = el("div", { class: "bubble-chips" });
  const more = button({ label: "Show all", class: "link more", hidden: true, "aria-expanded": "false" }, () => {
    const open = words.classList.toggle("folded") === false;
    more.textContent = open ? "Show less" : "Show all";
    more.setAttribute("aria-expanded", String(open));
  });
  const again = button({ label: "Edit and send again", icon: "edit", class: "button quiet icon small again" }, () => item && desk.editAgain(item));
  const node = el("div", { class: "user" }, el("h2", { class: "visually-hidden" }, "You asked"), again, el("div", { class: "bubble" }, words, more, chips));
  /** @type {import("../store.js").UserItem | undefined} */
  let item;
  return {
    node,
    update(now, { last, idle }) {
      again.hidden = !(last && idle);
      if (now === item) return;
      item = now;
      words.textContent = now.text;
      words.hidden = now.text === "";
      const folds = now.text.length > long.characters || now.text.split("\n", long.lines + 1).length > long.lines;
      words.classList.toggle("folded", folds);
      more.hidden = !folds;
      fill(chips, now.chips.map((chip) => el("span", { class: "chip small", on: chip.pasted ? {} : {
        pointerenter: () => desk.highlight({ selector: chip.path, pick: chip.pick }), pointerleave: () => desk.highlight(null),
      } },
        chip.thumb ? el("img", { src: chip.thumb, alt: "" }) : icon(chip.pasted ? "image" : "pick"),
        el("span", { class: "cut" }, chip.label))));
      chips.hidden = now.chips.length === 0;
    },
  };
}
