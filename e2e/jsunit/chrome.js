// Runs in: tests of jsunit. A chrome for modules that read or write settings
// and send messages; a test calls fakeChrome() before it imports them, or
// before each test to start anew.

/**
 * @typedef {object} FakeChrome
 * @property {any} chrome what was put in globalThis.chrome
 * @property {any[]} sent messages of runtime.sendMessage, oldest first
 * @property {(message: any, sender?: object) => Promise<any>} deliver a message to the listeners; resolves to their answer
 */

/**
 * Puts a fresh chrome into globalThis.
 * @param {object} [options]
 * @param {Record<string, any>} [options.local] what chrome.storage.local holds
 * @param {Record<string, any>} [options.session] what chrome.storage.session holds
 * @param {(message: any) => any} [options.answer] what runtime.sendMessage resolves to
 * @returns {FakeChrome}
 */
export function fakeChrome({ local = {}, session = {}, answer = () => undefined } = {}) {
  const onChanged = signal();
  const onMessage = signal();
  const id = "elanelkehaghjbhimimjfoeliennfieh";
  /** @type {any[]} */
  const sent = [];
  const chrome = {
    runtime: {
      id,
      onMessage,
      onConnect: signal(),
      onInstalled: signal(),
      onStartup: signal(),
      getURL: (/** @type {string} */ path) => `chrome-extension://${id}/${path.replace(/^\//, "")}`,
      getManifest: () => ({ manifest_version: 3, name: "Slide Write", version: "0.1.0" }),
      async sendMessage(/** @type {any} */ message) {
        sent.push(structuredClone(message));
        return answer(message);
      },
    },
    storage: {
      onChanged,
      local: area("local", local, onChanged),
      session: area("session", session, onChanged),
    },
    debugger: { onEvent: signal(), onDetach: signal() },
    tabs: { onUpdated: signal(), onActivated: signal(), onRemoved: signal(), onReplaced: signal(), onDetached: signal(), async query() { return []; } },
  };
  Object.defineProperty(globalThis, "chrome", { value: chrome, configurable: true, writable: true });
  return {
    chrome,
    sent,
    deliver(message, sender = { id }) {
      return new Promise((resolve) => {
        for (const listener of onMessage.listeners) {
          const kept = listener(message, sender, resolve);
          if (kept === true) return;
          if (kept instanceof Promise) return void kept.then(resolve);
        }
        resolve(undefined);
      });
    },
  };
}

/** An event of the chrome API; call(…) tells its listeners. */
function signal() {
  /** @type {Set<Function>} */
  const listeners = new Set();
  return {
    listeners,
    addListener: (/** @type {Function} */ fn) => void listeners.add(fn),
    removeListener: (/** @type {Function} */ fn) => void listeners.delete(fn),
    hasListener: (/** @type {Function} */ fn) => listeners.has(fn),
    call: (/** @type {any[]} */ ...args) => [...listeners].map((fn) => fn(...args)),
  };
}

/**
 * A storage area: values are copied in and out, changes are told.
 * @param {string} name @param {Record<string, any>} seed @param {ReturnType<typeof signal>} onChanged
 */
function area(name, seed, onChanged) {
  /** @type {Map<string, any>} */
  const values = new Map(Object.entries(structuredClone(seed)));
  const own = signal();
  /** @param {Record<string, any>} changes */
  const tell = (changes) => {
    if (Object.keys(changes).length === 0) return;
    queueMicrotask(() => {
      onChanged.call(changes, name);
      own.call(changes);
    });
  };
  return {
    onChanged: own,
    accessLevel: "TRUSTED_AND_UNTRUSTED_CONTEXTS",
    async setAccessLevel(/** @type {{accessLevel: string}} */ { accessLevel }) {
      this.accessLevel = accessLevel;
    },
    async get(/** @type {any} */ keys = null) {
      const wanted = keys === null ? [...values.keys()] : typeof keys === "string" ? [keys] : Array.isArray(keys) ? keys : Object.keys(keys);
      /** @type {Record<string, any>} */
      const found = keys && typeof keys === "object" && !Array.isArray(keys) ? structuredClone(keys) : {};
      for (const key of wanted) if (values.has(key)) found[key] = structuredClone(values.get(key));
      return found;
    },
    async set(/** @type {Record<string, any>} */ items) {
      /** @type {Record<string, any>} */
      const changes = {};
      for (const [key, value] of Object.entries(items)) {
        const newValue = JSON.parse(JSON.stringify(value)); // as Chromium stores it
        if (JSON.stringify(values.get(key)) === JSON.stringify(newValue)) continue;
        changes[key] = { oldValue: structuredClone(values.get(key)), newValue };
        values.set(key, structuredClone(newValue));
      }
      tell(changes);
    },
    async remove(/** @type {string | string[]} */ keys) {
      /** @type {Record<string, any>} */
      const changes = {};
      for (const key of [keys].flat()) {
        if (!values.has(key)) continue;
        changes[key] = { oldValue: values.get(key) };
        values.delete(key);
      }
      tell(changes);
    },
    async clear() {
      await this.remove([...values.keys()]);
    },
  };
}
