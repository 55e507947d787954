// Runs in: the page's own world, for one question. Vue 3 keeps the component
// on each element of its own, Vue 2 on the root element of each.

(() => {
  const { all, parentOf } = /** @type {SwBackends} */ (globalThis.slidewriteBackends);

  /** @param {Element} el @returns {any} */
  function instanceOf(el) {
    for (let at = /** @type {any} */ (el); at; at = parentOf(at)) {
      const found = at.__vueParentComponent ?? at.__vue__;
      if (found) return found;
    }
    return null;
  }

  /** @param {any} instance */
  const optionsOf = (instance) => instance.type ?? instance.$options ?? {};
  /** @param {any} instance */
  const parentInstance = (instance) => instance.parent ?? instance.$parent ?? null;

  /** @param {any} options */
  function nameOf({ name, __name, _componentTag, __file }) {
    return name || __name || _componentTag || /([^\\/]+)\.\w+$/.exec(__file ?? "")?.[1] || "";
  }

  all.push({
    name: "vue",
    detect: (el) => instanceOf(el) !== null,
    locate(el) {
      const chain = [];
      for (let at = instanceOf(el); at && chain.length < 20; at = parentInstance(at)) chain.push(optionsOf(at));
      const own = chain.find((o) => typeof o.__file === "string" && !o.__file.includes("node_modules"));
      const stack = chain.map(nameOf).filter(Boolean);
      return { framework: "vue", stack, name: own ? nameOf(own) : stack[0], ...(own && { file: own.__file }) };
    },
  });
})();
