// Runs in: the page's own world, for one question. Astro's dev server notes on
// each element where it was written.

(() => {
  const { all, read } = /** @type {SwBackends} */ (globalThis.slidewriteBackends);

  /** @param {Element} el */
  const noted = (el) => read(el, "closest").call(el, "[data-astro-source-file]");

  all.push({
    name: "astro",
    detect: (el) => noted(el) !== null,
    locate(el) {
      const at = noted(el);
      const file = at?.getAttribute("data-astro-source-file") ?? "";
      const line = parseInt(at?.getAttribute("data-astro-source-loc") ?? "", 10);
      const name = /([^\\/]+)\.astro$/.exec(file)?.[1];
      return file ? { framework: "astro", file, ...(line > 0 && { line }), ...(name && { name, stack: [name] }) } : null;
    },
  });
})();
