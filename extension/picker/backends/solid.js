// Runs in: the page's own world, for one question. The locator of Solid's
// developer tools notes on each element where it was written.

(() => {
  /** @param {Element} el */
  const noted = (el) => el.closest("[data-source-loc]");

  globalThis.slidewriteBackends?.all.push({
    name: "solid",
    detect: (el) => noted(el) !== null,
    locate(el) {
      const found = /^(.+?):(\d+)(?::\d+)?$/.exec(noted(el)?.getAttribute("data-source-loc") ?? "");
      return found && { framework: "solid", file: found[1], line: Number(found[2]) };
    },
  });
})();
