// Runs in: worker, panel, options, confirm page. What the user has set: the
// defaults, how older settings become today's, and where they are kept.
//
// They hold tokens: the worker closes chrome.storage.local to content scripts.

/**
 * @typedef {object} OriginSettings
 * @property {boolean} enabled
 * @property {string} shimUrl where the shim of this site's project listens
 * @property {string} token of that shim; "" is "not paired"
 * @property {string} provider "" leaves it to the shim
 * @property {string} model "" leaves it to the provider
 * @property {string} effort "" leaves it to the model
 * @property {boolean} autoCommit a commit for each run
 * @property {boolean} autoReload reload the tab when a run changed files
 * @property {boolean} debuggerPicker pick through chrome.debugger
 * @property {boolean} screenshots a picture goes along with each pick
 * @property {boolean} imageSteps offer image generation
 * @property {string} project its name, as the shim last told it; for display
 */

/**
 * A shim that was paired without an origin to use it for: offered on the next
 * loopback tab that has no settings.
 * @typedef {{shimUrl: string, token: string, project: string}} Pairing
 */

/**
 * @typedef {object} GlobalSettings
 * @property {string} geminiKey
 * @property {boolean} copyPathOnShiftClick
 * @property {string} editorUrl with {path} and {line}
 * @property {"system" | "light" | "dark"} theme
 * @property {boolean} notify say when a run has ended and its tab is not in front
 * @property {Pairing[]} pairings newest first
 */

/** @typedef {{version: number, origins: {[origin: string]: OriginSettings}, global: GlobalSettings}} Settings */

/**
 * What `save` takes: only what changes. An origin that is null is deleted.
 * @typedef {{origins?: {[origin: string]: Partial<OriginSettings> | null}, global?: Partial<GlobalSettings>}} Patch
 */

/** The key in chrome.storage.local. */
export const storageKey = "settings";

/** @type {{version: number, origin: OriginSettings, global: GlobalSettings}} */
export const defaults = {
  version: 1,
  origin: {
    enabled: true,
    shimUrl: "http://127.0.0.1:4040",
    token: "",
    provider: "",
    model: "",
    effort: "",
    autoCommit: true,
    autoReload: false,
    debuggerPicker: false,
    screenshots: true,
    imageSteps: false,
    project: "",
  },
  global: {
    geminiKey: "",
    copyPathOnShiftClick: true,
    editorUrl: "vscode://file/{path}:{line}",
    theme: "system",
    notify: false,
    pairings: [],
  },
};

/** What is never exported; a permission of this browser goes with `notify`. */
const secrets = { origin: ["token"], global: ["geminiKey", "pairings", "notify"] };

const maxPairings = 5;

// Pure.

/**
 * The origin that settings are kept under, or null for a page that an
 * extension cannot work on.
 * @param {string | undefined} url
 * @returns {string | null}
 */
export function originKey(url) {
  const u = parse(url);
  if (u === null || (u.protocol !== "http:" && u.protocol !== "https:")) return null;
  // Chrome keeps every extension out of its store.
  if (u.hostname === "chromewebstore.google.com") return null;
  if (u.hostname === "chrome.google.com" && /^\/webstore(\/|$)/.test(u.pathname)) return null;
  return u.origin;
}

/**
 * Whether the manifest's own content scripts run there. Every other origin
 * has to be granted by the user and gets its scripts at run time.
 * @param {string} origin
 */
export function isLoopback(origin) {
  const host = parse(origin)?.hostname ?? "";
  return host === "localhost" || host.endsWith(".localhost") || host === "127.0.0.1" || host === "[::1]";
}

/**
 * The address of a shim as it is kept: http or https, no query, no slash at
 * the end. null when it is no such address.
 * @param {string} url
 * @returns {string | null}
 */
export function shimAddress(url) {
  const trimmed = url.trim();
  const u = parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed) ? trimmed : "http://" + trimmed);
  // Chrome takes a space in a host for a part of its name.
  if (u === null || /\s/.test(trimmed) || (u.protocol !== "http:" && u.protocol !== "https:") || u.username !== "" || u.password !== "") return null;
  return u.origin + u.pathname.replace(/\/+$/, "");
}

/**
 * Whatever was stored, as today's settings: nothing, an older version, a newer
 * one's fields beside ours, values of the wrong type.
 * @param {unknown} stored
 * @returns {Settings}
 */
export function migrate(stored) {
  const s = record(stored);
  /** @type {Settings["origins"]} */
  const origins = {};
  for (const [key, value] of Object.entries(record(s.origins))) {
    const origin = originKey(key);
    if (origin !== null) origins[origin] = fill(defaults.origin, value);
  }
  const global = fill(defaults.global, s.global);
  if (!["system", "light", "dark"].includes(global.theme)) global.theme = defaults.global.theme;
  global.pairings = global.pairings.map((p) => fill({ shimUrl: "", token: "", project: "" }, p)).filter((p) => p.shimUrl !== "" && p.token !== "");
  return { version: defaults.version, origins, global };
}

/**
 * The settings of an origin, with the defaults where it has none.
 * @param {Settings} settings
 * @param {string} origin
 * @returns {OriginSettings}
 */
export function forOrigin(settings, origin) {
  return { ...defaults.origin, ...(Object.hasOwn(settings.origins, origin) ? settings.origins[origin] : {}) };
}

/**
 * The settings with a patch put on.
 * @param {Settings} settings
 * @param {Patch} patch
 * @returns {Settings}
 */
export function apply(settings, patch) {
  const origins = { ...settings.origins };
  for (const [key, change] of Object.entries(patch.origins ?? {})) {
    const origin = originKey(key);
    if (origin === null) throw new Error(`${key} is not an origin that settings can be kept for: http and https only`);
    if (change === null) delete origins[origin];
    else origins[origin] = { ...forOrigin(settings, origin), ...change };
  }
  return migrate({ version: settings.version, origins, global: { ...settings.global, ...patch.global } });
}

/**
 * The settings as text for a file, without tokens and keys.
 * @param {Settings} settings
 */
export function exportSettings(settings) {
  /** @type {{[origin: string]: Record<string, unknown>}} */
  const origins = {};
  for (const [origin, value] of Object.entries(settings.origins)) origins[origin] = without(value, secrets.origin);
  const file = { slidewrite: "settings", version: settings.version, origins, global: without(settings.global, secrets.global) };
  return JSON.stringify(file, null, 2) + "\n";
}

/**
 * The patch that an exported file stands for. Secrets in a file are not taken
 * over. Throws a sentence for people when the text is no such file.
 * @param {string} text
 * @returns {Patch & {origins: {[origin: string]: Partial<OriginSettings>}, global: Partial<GlobalSettings>}}
 */
export function importSettings(text) {
  let file;
  try {
    file = record(JSON.parse(text));
  } catch {
    throw new Error("This file is not JSON. Choose a file that “Export” has made.");
  }
  if (file.slidewrite !== "settings") throw new Error("This file holds no Slide Write settings. Choose a file that “Export” has made.");
  if (typeof file.version !== "number" || file.version > defaults.version) {
    throw new Error(`This file was made by a newer extension (settings version ${String(file.version)}, this one knows ${defaults.version}). Update the extension first: slidewrite extension`);
  }
  /** @type {{[origin: string]: Partial<OriginSettings>}} */
  const origins = {};
  for (const [key, value] of Object.entries(record(file.origins))) {
    const origin = originKey(key);
    if (origin !== null) origins[origin] = without(present(defaults.origin, value), secrets.origin);
  }
  return { origins, global: without(present(defaults.global, file.global), secrets.global) };
}

/**
 * An imported patch, made safe to put on these settings: a token stays with
 * the shim it was made for and does not follow an origin to another address.
 * @param {Settings} settings
 * @param {Patch} imported
 * @returns {Patch}
 */
export function mergeImported(settings, imported) {
  /** @type {NonNullable<Patch["origins"]>} */
  const origins = {};
  for (const [origin, change] of Object.entries(imported.origins ?? {})) {
    const moved = change?.shimUrl !== undefined && change.shimUrl !== forOrigin(settings, origin).shimUrl;
    origins[origin] = moved ? { ...change, token: "" } : change;
  }
  return { ...imported, origins };
}

// Storage.

const lock = "slidewrite-settings";

/** @returns {Promise<Settings>} */
async function read() {
  const stored = await chrome.storage.local.get(storageKey);
  return migrate(stored[storageKey]);
}

/**
 * The stored settings, with every change that was saved before the call, in
 * whatever context.
 * @returns {Promise<Settings>}
 */
export const load = () => navigator.locks.request(lock, { mode: "shared" }, read);

/**
 * Puts a patch on the stored settings. Panel, options and worker may do so at
 * the same time: one waits for the other.
 * @param {Patch | ((settings: Settings) => Patch)} patch
 * @returns {Promise<Settings>} what is stored now
 */
export function save(patch) {
  return navigator.locks.request(lock, async () => {
    const before = await read();
    const after = apply(before, typeof patch === "function" ? patch(before) : patch);
    await chrome.storage.local.set({ [storageKey]: after });
    return after;
  });
}

/**
 * @param {string} origin
 * @param {Partial<OriginSettings>} patch
 */
export const saveOrigin = (origin, patch) => save({ origins: { [origin]: patch } });

/** @param {string} origin */
export const removeOrigin = (origin) => save({ origins: { [origin]: null } });

/**
 * Keeps a shim that named no origin, for the next tab.
 * @param {Pairing} pairing
 */
export const addPairing = (pairing) =>
  save(({ global }) => ({
    global: { pairings: [pairing, ...global.pairings.filter((p) => p.shimUrl !== pairing.shimUrl)].slice(0, maxPairings) },
  }));

/**
 * The user said yes: that shim is the one for this origin.
 * @param {string} origin
 * @param {Pairing} pairing
 */
export const usePairing = (origin, pairing) =>
  save(({ global }) => ({
    origins: { [origin]: { ...pairing, enabled: true } },
    global: { pairings: global.pairings.filter((p) => p.shimUrl !== pairing.shimUrl) },
  }));

/**
 * Calls fn with the settings whenever they change, in whatever context.
 * @param {(settings: Settings) => void} fn
 * @returns {() => void} ends it
 */
export function onChange(fn) {
  /** @param {{[key: string]: chrome.storage.StorageChange}} changes @param {string} area */
  const listener = (changes, area) => {
    if (area === "local" && Object.hasOwn(changes, storageKey)) fn(migrate(changes[storageKey].newValue));
  };
  chrome.storage.onChanged.addListener(listener);
  return () => chrome.storage.onChanged.removeListener(listener);
}

// Helpers.

/** @param {string | undefined} url */
function parse(url) {
  try {
    return new URL(url ?? "");
  } catch {
    return null;
  }
}

/** @param {unknown} value @returns {Record<string, unknown>} */
const record = (value) => (typeof value === "object" && value !== null && !Array.isArray(value) ? /** @type {any} */ (value) : {});

/** @param {unknown} a @param {unknown} b */
const sameType = (a, b) => typeof a === typeof b && Array.isArray(a) === Array.isArray(b);

/**
 * The fields of base that value has with the right type.
 * @template {object} T
 * @param {T} base
 * @param {unknown} value
 * @returns {Partial<T>}
 */
function present(base, value) {
  const given = record(value);
  const fields = Object.entries(base).filter(([k, v]) => Object.hasOwn(given, k) && sameType(v, given[k]));
  return /** @type {Partial<T>} */ (Object.fromEntries(fields.map(([k]) => [k, given[k]])));
}

/**
 * Base, with the fields that value has of the right type.
 * @template {object} T
 * @param {T} base
 * @param {unknown} value
 * @returns {T}
 */
const fill = (base, value) => ({ ...base, ...present(base, value) });

/**
 * @template {object} T
 * @param {T} value
 * @param {string[]} names
 * @returns {Partial<T>}
 */
const without = (value, names) => /** @type {Partial<T>} */ (Object.fromEntries(Object.entries(value).filter(([k]) => !names.includes(k))));
