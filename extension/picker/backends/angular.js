// Runs in: the page's own world, for one question. A dev build of Angular
// answers through `ng`; since 17 it knows the file, too.

(() => {
  /** @param {Element} el @returns {any} */
  const ngOf = (el) => /** @type {any} */ (el.ownerDocument.defaultView)?.ng;

  /** @param {Element} el */
  function componentOf(el) {
    const ng = ngOf(el);
    return ng?.getComponent?.(el) ?? ng?.getOwningComponent?.(el) ?? null;
  }

  /** @param {any} component */
  const nameOf = (component) => String(component.constructor?.["ɵcmp"]?.debugInfo?.className ?? component.constructor?.name ?? "").replace(/^_+/, "");

  globalThis.slidewriteBackends?.all.push({
    name: "angular",
    detect: (el) => typeof ngOf(el)?.getComponent === "function" && componentOf(el) !== null,
    locate(el) {
      const ng = ngOf(el);
      const chain = [];
      for (let at = componentOf(el); at && chain.length < 20;) {
        chain.push(at);
        const host = ng.getHostElement?.(at);
        at = host ? ng.getOwningComponent(host) : null;
      }
      const info = chain.map((c) => c.constructor?.["ɵcmp"]?.debugInfo).find((d) => d?.filePath && !d.filePath.includes("node_modules"));
      return {
        framework: "angular", stack: chain.map(nameOf).filter(Boolean), name: info?.className?.replace(/^_+/, "") || nameOf(chain[0]),
        ...(info && { file: info.filePath, line: info.lineNumber }),
      };
    },
  });
})();
