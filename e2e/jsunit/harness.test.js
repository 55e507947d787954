// The harness itself: a test that cannot fail proves nothing.
import { deepEqual, equal, handled, match, ok, test, throws, until } from "./harness.js";
import { fakeChrome } from "./chrome.js";

test("what is not the same fails, and says both", async () => {
  await throws(() => equal(1, 2), /got {2}1\nwant 2/);
  await throws(() => deepEqual({ a: [1, { b: 2 }] }, { a: [1, { b: 3 }] }), /differs at \.a\.1\.b/);
  await throws(() => deepEqual({ a: undefined }, {}), /differs at \.a/);
  await throws(() => ok(0, "a count"), /a count: 0 is not true/);
  await throws(() => match("abc", /x/), /does not match/);
  await throws(() => throws(() => 7), /did not throw, and gave 7/);
});

test("what is the same passes", () => {
  equal(NaN, NaN);
  deepEqual(new Map([["a", [1]]]), new Map([["a", [1]]]));
  deepEqual([{ a: null }, "x"], [{ a: null }, "x"]);
});

test("what is gone through is counted, and nothing is after that", () => {
  const list = Array(10).fill("x");
  equal(handled(() => {}), 0);
  equal(handled(() => void [...list.with(0, "y")]), 20);
  equal(handled(() => void "x".repeat(7).indexOf("y")), 7);
  void handled(() => void throws(() => handled(() => { throw new Error("x"); })));
  for (const name of ["with", Symbol.iterator]) ok(/native code/.test(String(/** @type {any} */ (Array.prototype)[name])));
});

test("until waits for a fact", async () => {
  let turns = 0;
  equal(await until(() => ++turns > 3 && "there"), "there");
});

test("the fake storage keeps copies and tells changes", async () => {
  const { chrome } = fakeChrome({ local: { kept: { a: 1 } } });
  /** @type {any[]} */
  const told = [];
  chrome.storage.onChanged.addListener((/** @type {any} */ changes, /** @type {string} */ area) => told.push([area, changes]));
  const value = { n: 1 };
  await chrome.storage.local.set({ value });
  value.n = 2;
  deepEqual(await chrome.storage.local.get(), { kept: { a: 1 }, value: { n: 1 } });
  deepEqual(await chrome.storage.local.get({ other: 3 }), { other: 3 });
  await chrome.storage.local.remove("kept");
  await until(() => told.length === 2);
  deepEqual(told[1], ["local", { kept: { oldValue: { a: 1 } } }]);
});
