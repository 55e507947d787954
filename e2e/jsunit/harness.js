// Runs in: the page of jsunit/index.html, which the test TestJS opens. What a
// file of tests imports; run.js runs what was registered.

/** @typedef {{ name: string, run: (stage: HTMLElement) => unknown }} Test */

/** @type {Test[]} */
export const tests = [];

/**
 * Registers a test. It passes when it returns, or when the promise it returns
 * is kept. It gets an empty element of the page to draw in.
 * @param {string} name a sentence of what holds
 * @param {(stage: HTMLElement) => unknown} run
 */
export function test(name, run) {
  if (tests.some((t) => t.name === name)) throw new Error(`there are two tests "${name}"`);
  tests.push({ name, run });
}

/** @param {unknown} value @param {string} [why] */
export function ok(value, why = "") {
  if (!value) fail(`${show(value)} is not true`, why);
}

/** The same by Object.is. @param {unknown} got @param {unknown} want @param {string} [why] */
export function equal(got, want, why = "") {
  if (!Object.is(got, want)) fail(`got  ${show(got)}\nwant ${show(want)}`, why);
}

/** The same by value, key by key. @param {unknown} got @param {unknown} want @param {string} [why] */
export function deepEqual(got, want, why = "") {
  const where = difference(got, want, "");
  if (where !== null) fail(`differs at ${where || "the top"}\ngot  ${show(got)}\nwant ${show(want)}`, why);
}

/** @param {string} got @param {RegExp} pattern @param {string} [why] */
export function match(got, pattern, why = "") {
  if (!pattern.test(got)) fail(`${show(got)} does not match ${pattern}`, why);
}

/**
 * Calls fn, which must throw or return a promise that is rejected, and returns
 * a promise of the error.
 * @param {() => unknown} fn
 * @param {RegExp} [pattern] of the error's message
 * @returns {Promise<any>}
 */
export async function throws(fn, pattern = /(?:)/) {
  let value;
  try {
    value = await fn();
  } catch (error) {
    match(String(error?.message ?? error), pattern);
    return error;
  }
  fail(`it did not throw, and gave ${show(value)}`, "");
}

/**
 * Waits until a fact is true, five seconds at most; for what happens by itself.
 * @template T
 * @param {() => T} fact
 * @param {string} [what]
 * @returns {Promise<T>}
 */
export async function until(fact, what = String(fact)) {
  const end = performance.now() + 5000;
  for (;;) {
    const value = await fact();
    if (value) return value;
    if (performance.now() > end) fail(`this did not come true: ${what}`, "");
    await new Promise((next) => setTimeout(next, 5));
  }
}

/** What goes through an array, or through a string. */
const through = new Map([
  [Array.prototype, ["with", "toSpliced", "toReversed", "map", "filter", "slice", "concat", "findLast", "findLastIndex", Symbol.iterator]],
  [String.prototype, ["indexOf", "slice", "split", "replace", "match", "startsWith"]],
]);

/**
 * How much is gone through: the lengths of the arrays that are copied or
 * searched and of the strings that are cut or searched, added up. Unlike a
 * time, it is the same on every machine.
 * @param {() => void} run
 * @returns {number}
 */
export function handled(run) {
  let sum = 0;
  /** @type {(() => void)[]} */
  const restore = [];
  for (const [prototype, names] of /** @type {Map<any, (string | symbol)[]>} */ (through)) {
    for (const name of names) {
      const real = prototype[name];
      prototype[name] = function (/** @type {any[]} */ ...args) {
        sum += this.length;
        return Reflect.apply(real, this, args);
      };
      restore.push(() => { prototype[name] = real; });
    }
  }
  sum = 0; // without the loops above
  try {
    run();
  } finally {
    for (let i = 0; i < restore.length; i++) restore[i]();
  }
  return sum;
}

/** @param {string} text @param {string} why @returns {never} */
function fail(text, why) {
  throw new Error(why ? `${why}: ${text}` : text);
}

/**
 * Where two values differ first; null when they do not.
 * @param {any} a @param {any} b @param {string} path
 * @returns {string | null}
 */
function difference(a, b, path) {
  if (Object.is(a, b)) return null;
  if (typeof a !== "object" || typeof b !== "object" || !a || !b) return path;
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return path;
  if (a instanceof Map || a instanceof Set) return difference([...a], [...b], path);
  if (a instanceof Date || a instanceof RegExp || a instanceof URL) return String(a) === String(b) ? null : path;
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const at = `${path}.${key}`;
    if (!Object.hasOwn(a, key) || !Object.hasOwn(b, key)) return at;
    const inner = difference(a[key], b[key], at);
    if (inner !== null) return inner;
  }
  return null;
}

/** @param {unknown} value */
function show(value) {
  if (value instanceof Node) return value instanceof Element ? value.outerHTML : `text ${JSON.stringify(value.textContent)}`;
  if (value instanceof Map || value instanceof Set) return `${value.constructor.name} ${show([...value])}`;
  if (value instanceof Error) return String(value);
  if (typeof value === "function") return String(value);
  try {
    return JSON.stringify(value, (_, v) => (v === undefined ? "(undefined)" : typeof v === "bigint" ? `${v}n` : v)) ?? String(value);
  } catch {
    return String(value);
  }
}
