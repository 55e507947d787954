// Runs in: the jsunit page. Numbers and times as people read them, and tool
// calls as sentences.
import { deepEqual, equal, test } from "./harness.js";
import { bytes, clock, cost, count, day, duration, oneLine, pathParts, plural, until } from "../../extension/lib/format.js";
import { plain, sentence, summary } from "../../extension/panel/steps.js";

/** @param {(x: any) => string} fn @param {[any, string][]} table */
const all = (fn, table) => table.forEach(([value, want]) => equal(fn(value), want, `of ${value}`));

test("counts", () => all(count, [[0, "0"], [999, "999"], [1000, "1k"], [1049, "1k"], [12_345, "12.3k"], [99_949, "99.9k"], [99_950, "100k"], [999_499, "999k"], [999_999, "1M"], [2_500_000, "2.5M"], [NaN, "0"], [-1, "0"]]));

test("durations and clocks", () => {
  all(duration, [[0, "0 s"], [400, "0.4 s"], [9_949, "9.9 s"], [9_999, "10 s"], [59_400, "59 s"], [59_600, "1 min 00 s"], [185_000, "3 min 05 s"], [3_725_000, "1 h 02 min"]]);
  all(clock, [[0, "0:00"], [7_900, "0:07"], [750_000, "12:30"], [3_723_000, "1:02:03"]]);
});

test("money, sizes, numbers of things", () => {
  all(cost, [[0, "$0"], [0.00001, "< $0.0001"], [0.0042, "$0.0042"], [0.05, "$0.05"], [0.312, "$0.31"], [12.5, "$12.50"]]);
  all(bytes, [[1, "1 byte"], [812, "812 bytes"], [120_000, "117 KB"], [5_000_000, "4.8 MB"]]);
  equal(plural(1, "file"), "1 file");
  equal(plural(2, "match", "matches"), "2 matches");
});

test("paths and lines", () => {
  deepEqual(pathParts("src/a/b.css"), { folder: "src/a/", name: "b.css" });
  deepEqual(pathParts("b.css"), { folder: "", name: "b.css" });
  equal(oneLine("a\n  b\tc", 10), "a b c");
  equal(oneLine("abcdefghij", 5), "abcd…");
  equal(oneLine("🟢🟢🟢🟢", 3), "🟢🟢…");
  equal(oneLine("x".repeat(100_000), 20).length, 20);
});

test("days and limits", () => {
  const now = new Date(2026, 11, 1, 12, 0);
  equal(day(new Date(2026, 11, 1, 0, 1), now), "Today");
  equal(day(new Date(2026, 10, 30, 23, 59), now), "Yesterday");
  equal(day(new Date(2026, 10, 28), now), "Saturday");
  equal(day(new Date(2026, 10, 1), now), "November 1");
  equal(day(new Date(2025, 10, 1), now), "November 1, 2025");
  equal(until(new Date(2026, 11, 1, 14, 5).toISOString(), now), "at 14:05");
  equal(until(new Date(2026, 11, 3, 9, 0).toISOString(), now), "on Thursday at 09:00");
  equal(until("soon", now), "");
});

/** @param {string} tool @param {string} detail @param {Partial<import("../../extension/panel/store.js").Step>} [more] */
const step = (tool, detail, more) => ({ id: "1", parentId: "", tool, detail, edit: false, result: null, ...more });

test("a call is a sentence, done or being done", () => {
  /** @param {any} one @param {boolean} [doing] */
  const say = (one, doing) => plain(sentence(one, doing));
  equal(say(step("Edit", "src/Button.css", { edit: true })), "Edited Button.css");
  equal(say(step("Edit", "src/Button.css", { edit: true }), true), "Editing Button.css");
  equal(say(step("Bash", "npm test\n&& true")), "Ran npm test …");
  equal(say(step("Bash", "src/old.css", { edit: true })), "Edited old.css");
  equal(say(step("shell", "")), "Ran a command");
  equal(say(step("Read", "src/")), "Read src");
  equal(say(step("Grep", "btn-primary")), "Searched for btn-primary");
  equal(say(step("Agent", "look for tests")), "Asked a helper: look for tests");
  equal(say(step("echo: say", "hi")), "Used echo: say hi");
  equal(say(step("TodoWrite", "3 items")), "Updated the plan");
  const failed = { result: { text: "no such text", isError: true, truncated: false } };
  equal(say(step("Edit", "src/Button.css", { edit: true, ...failed })), "Could not edit Button.css");
  equal(say(step("Bash", "npm test", failed)), "Ran npm test");
});

test("calls in a row are one sentence", () => {
  const read = ["a", "b", "b", "c"].map((name) => step("Read", `src/${name}.js`));
  equal(plain(summary(read)), "Read 3 files");
  equal(plain(summary([...read, step("Edit", "src/Button.css", { edit: true }), step("Bash", "npm test"), step("Bash", "npm run lint")])), "Read 3 files, edited Button.css, ran 2 commands");
  equal(plain(summary([step("Read", "a.js"), step("Read", "a.js")])), "Read a.js");
  equal(plain(summary([step("Read", "a.js", { result: { text: "", isError: true, truncated: false } }), step("Read", "a.js")])), "Read a.js"); // the second time it worked
});
