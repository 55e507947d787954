// Runs in: the jsunit page. What a tab's panel keeps for the next one.
import { fakeChrome } from "./chrome.js";
import { deepEqual, equal, test } from "./harness.js";

const { chrome } = fakeChrome();
const { keep, recover } = await import("../../extension/panel/persist.js");
const { forgetKept } = await import("../../extension/lib/kept.js");
const { emptyChat, reduce } = await import("../../extension/panel/store.js");

/** @param {string} pick @param {number} size @returns {any} */
const chip = (pick, size) => ({ id: 1, thumb: "data:,t", capture: { tag: "p", pick, ...(size > 0 && { screenshotDataUrl: "x".repeat(size) }) } });
/** @param {Record<string, any>} more @returns {any} */
const kept = (more) => ({ origin: "http://localhost", chat: emptyChat(), queue: [], draft: "", chips: [], sent: null, recall: [], ...more });
const whole = chrome.storage.session.set;

test("draft, queue and the last message come back with their captures", async () => {
  const all = kept({ draft: "d", chips: [chip("a", 10)], queue: [{ id: 1, text: "q", chips: [chip("b", 10)] }], sent: { key: 3, chips: [chip("c", 10)] }, recall: ["r"] });
  await keep(1, all);
  deepEqual(await recover(1), all);
  equal(await recover(2), null);
  await forgetKept(1);
  deepEqual([await recover(1), await chrome.storage.session.get(null)], [null, {}]);
});

test("pictures that do not fit are left out, and the chips say so; what is written now comes first", async () => {
  const all = kept({ chips: [chip("a", 2_000_000), chip("b", 0)], queue: [{ id: 1, text: "q", chips: [chip("c", 1_500_000)] }], sent: { key: 1, chips: [chip("d", 900_000)] } });
  await keep(1, all);
  const got = /** @type {any} */ (await recover(1));
  deepEqual(got.chips, all.chips);
  deepEqual(got.queue[0].chips, [{ id: 1, thumb: "data:,t", capture: { tag: "p", pick: "c" }, lost: true }]);
  deepEqual(got.sent, all.sent);
});

test("captures are written when they change, not with each event of a run", async () => {
  /** @type {string[][]} */
  const sets = [];
  chrome.storage.session.set = async (/** @type {any} */ items) => {
    sets.push(Object.keys(items));
    return whole.call(chrome.storage.session, items);
  };
  const chips = [chip("a", 10)];
  const first = kept({ chips });
  await keep(4, first);
  await keep(4, { ...first, chat: reduce(first.chat, { type: "delta", text: "more", messageId: "1" }) });
  await keep(4, { ...first, chips: [...chips] });
  chrome.storage.session.set = whole;
  deepEqual(sets, [["panel:4", "captures:4"], ["panel:4"], ["panel:4", "captures:4"]]);
  equal(/** @type {any} */ (await recover(4)).chat.items.length, 0, "the last one counts");
});

test("a full area costs the pictures before the words", async () => {
  chrome.storage.session.set = async (/** @type {any} */ items) => {
    if (JSON.stringify(items).length > 1_000) throw new Error("Session storage quota bytes exceeded.");
    return whole.call(chrome.storage.session, items);
  };
  await keep(5, kept({ draft: "words", chips: [chip("a", 5_000)], sent: { key: 1, chips: [chip("b", 5_000)] } }));
  chrome.storage.session.set = async () => {
    throw new Error("Session storage quota bytes exceeded.");
  };
  await keep(5, kept({ draft: "lost" })); // nothing can be done, and nothing breaks
  chrome.storage.session.set = whole;
  const got = /** @type {any} */ (await recover(5));
  deepEqual([got.draft, got.chips[0].lost, got.chips[0].capture.pick, got.sent.chips[0].lost], ["words", true, "a", true]);
});
