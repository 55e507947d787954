// Runs in: the page's own world, for one question. Build plugins of no
// particular framework note an element's source in an attribute:
// data-source="src/App.tsx:12:3", or data-vite-source-file beside
// data-vite-source-line.

(() => {
  const { all, read: get } = /** @type {SwBackends} */ (globalThis.slidewriteBackends);
  const sourceAttr = /^data-([a-z0-9]+-)*source(-[a-z0-9]+)*$/;

  /** @param {Element} el @returns {{file: string, line: number} | null} */
  function read(el) {
    let file = "";
    let line = 0;
    for (const { name, value } of get(el, "attributes")) {
      if (!sourceAttr.test(name)) continue;
      const whole = /^(.*?[\w\])-]\.\w+)(?::(\d+))?(?::\d+)?$/.exec(value);
      if (whole) {
        file ||= whole[1];
        line ||= Number(whole[2] ?? 0);
      } else if (/^\d+(:\d+)?$/.test(value) && /-(line|loc)$/.test(name)) {
        line ||= parseInt(value, 10);
      }
    }
    return file ? { file, line } : null;
  }

  /** @param {Element} el */
  function nearest(el) {
    for (let at = /** @type {Element | null} */ (el); at; at = get(at, "parentElement")) {
      const found = read(at);
      if (found) return found;
    }
    return null;
  }

  all.push({
    name: "attributes",
    detect: (el) => nearest(el) !== null,
    locate(el) {
      const found = nearest(el);
      return found && { file: found.file, ...(found.line > 0 && { line: found.line }) };
    },
  });
})();
