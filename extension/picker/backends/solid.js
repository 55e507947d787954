// Runs in: the page's own world, for one question. The locator of Solid's
// developer tools notes on each element where it was written.

(() => {
  const { all, read } = /** @type {SwBackends} */ (globalThis.slidewriteBackends);

  /** @param {Element} el */
  const noted = (el) => read(el, "closest").call(el, "[data-source-loc]");

  all.push({
    name: "solid",
    detect: (el) => noted(el) !== null,
    locate(el) {
      const found = /^(.+?):(\d+)(?::\d+)?$/.exec(noted(el)?.getAttribute("data-source-loc") ?? "");
      return found && { framework: "solid", file: found[1], line: Number(found[2]) };
    },
  });
})();
