// Runs in: the page's own world, for one question. A dev build of Svelte notes
// on each element where it was written.

(() => {
  const { all, parentOf } = /** @type {SwBackends} */ (globalThis.slidewriteBackends);

  /** @param {Element} el @returns {any} */
  function metaOf(el) {
    for (let at = /** @type {any} */ (el); at; at = parentOf(at)) if (at.__svelte_meta?.loc?.file) return at.__svelte_meta;
    return null;
  }

  /** @param {string} file */
  const nameOf = (file) => /([^\\/]+)\.svelte$/.exec(file)?.[1] ?? "";

  all.push({
    name: "svelte",
    detect: (el) => metaOf(el) !== null,
    locate(el) {
      const meta = metaOf(el);
      const { file, line } = meta.loc;
      const stack = [nameOf(file)];
      for (let at = meta.parent; at && stack.length < 20; at = at.parent) {
        const name = typeof at.componentTag === "string" ? at.componentTag : nameOf(at.file ?? "");
        if (name && name !== stack.at(-1)) stack.push(name);
      }
      // Svelte 4 counts lines from 0, and has the place in characters, too.
      return { framework: "svelte", name: stack[0], stack: stack.filter(Boolean), file, line: "char" in meta.loc ? line + 1 : line };
    },
  });
})();
