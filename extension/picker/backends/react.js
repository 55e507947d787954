// Runs in: the page's own world, for one question. React keeps a fiber on each
// element that it made. Before 19 it notes where an element was written
// (_debugSource); since 19 it keeps the stack of that moment (_debugStack), in
// the code as it is served.

(() => {
  const { all, parentOf } = /** @type {SwBackends} */ (globalThis.slidewriteBackends);

  /** @typedef {any} Fiber */

  /** @param {Element} el @returns {Fiber} */
  function fiberOf(el) {
    for (let at = /** @type {any} */ (el), n = 0; at && n < 12; at = parentOf(at), n++) {
      for (const key in at) if (key.startsWith("__reactFiber$") || key.startsWith("__reactInternalInstance$")) return at[key];
    }
    return null;
  }

  /** @param {any} type @returns {string} */
  function typeName(type) {
    if (typeof type === "function") return type.displayName || type.name || "";
    if (typeof type !== "object" || type === null) return "";
    return type.displayName || typeName(type.type ?? type.render);
  }

  /** An owner is a fiber; of a server component it is a note of its name. @param {any} owner */
  const ownerName = (owner) => (owner ? typeName(owner.type) || (typeof owner.name === "string" ? owner.name : "") : "");

  /** @param {any} stack @returns {SwFrame | null} where the element was written, of the stack of its making */
  function placeOf(stack) {
    const text = String(stack?.stack ?? stack ?? "");
    const end = text.search(/react[_-]stack[_-]bottom[_-]frame/);
    // The first line is the error's, the second that of the function that makes elements.
    const lines = (end < 0 ? text : text.slice(0, text.lastIndexOf("\n", end))).split("\n").filter((line) => /^\s*at |@/.test(line)).slice(1);
    for (const line of lines) {
      const found = /\(?((?:https?|file|webpack-internal|rsc):.*?):(\d+):(\d+)\)?\s*$/.exec(line);
      if (found) return { url: found[1], line: Number(found[2]), column: Number(found[3]) };
    }
    return null;
  }

  /** @param {Fiber} fiber */
  function parents(fiber) {
    const names = [];
    for (let at = fiber.return; at && names.length < 20; at = at.return) {
      const name = typeName(at.type);
      if (name) names.push(name);
    }
    return names;
  }

  /** The key of the list's item that it is in. @param {Fiber} fiber */
  function keyOf(fiber) {
    for (let at = fiber, n = 0; at && n < 10; at = at.return, n++) if (at.key !== null && at.key !== undefined) return { key: String(at.key), index: at.index + 1 };
    return null;
  }

  all.push({
    name: "react",
    detect: (el) => fiberOf(el) !== null,
    locate(el) {
      const fiber = fiberOf(el);
      /** @type {string[]} */
      const stack = [];
      const places = [];
      /** @type {{name: string, file: string, line: number} | null} */
      let source = null;
      for (let at = fiber, n = 0; at && n < 20; at = at._debugOwner ?? at.owner, n++) {
        const name = ownerName(at._debugOwner ?? at.owner);
        if (name) stack.push(name);
        const noted = at._debugSource;
        if (noted?.fileName && !source && !/[\\/]node_modules[\\/]/.test(noted.fileName)) source = { name, file: noted.fileName, line: noted.lineNumber };
        const place = placeOf(at._debugStack ?? at.debugStack);
        if (place) places.push({ name, at: place });
      }
      const names = stack.length > 0 ? stack : parents(fiber);
      return {
        framework: "react", stack: names, name: names[0], ...(keyOf(fiber) ?? {}),
        ...(source ?? {}), ...(!source && places.length > 0 && { places }),
      };
    },
  });
})();
