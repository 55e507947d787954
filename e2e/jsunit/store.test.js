// Runs in: the jsunit page. A chat, event by event.
import { deepEqual, equal, handled, ok, test } from "./harness.js";
import { ask, begun, committed, corrected, divide, emptyChat, fail, receive, reduce, sizeOf, stopping, together, undone, waiting } from "../../extension/panel/store.js";

/** @typedef {import("../../extension/panel/store.js").Chat} Chat */
/** @typedef {import("../../extension/lib/events.js").WireEvent} WireEvent */

const start = { type: "start", sessionId: "s1", model: "opus", runId: "r1", provider: "anthropic" };
const asked = () => ask(emptyChat(), { text: "make it green", provider: "anthropic", now: 1_000 });

/** A run of these events, numbered. @param {any[]} events @param {Chat} [chat] */
const play = (events, chat = asked()) => events.reduce((c, event, i) => receive(c, { id: i + 1, event }), chat);

/** Freezes all of a value. @param {any} value @returns {any} */
function frozen(value) {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) Object.values(Object.freeze(value)).forEach(frozen);
  return value;
}

/** @param {Chat} chat */
const kinds = (chat) => chat.items.map((item) => item.kind).join(" ");
/** @param {Chat} chat @param {string} kind */
const last = (chat, kind) => /** @type {any} */ (chat.items.findLast((item) => item.kind === kind));

test("a whole run: words, thinking, steps, change, commit, stats", () => {
  const chat = play([
    start,
    { type: "thinking_delta", text: "hm", messageId: "m1" },
    { type: "delta", text: "I look", messageId: "m1" },
    { type: "delta", text: " around.", messageId: "m1" },
    { type: "tool", tool: "Read", detail: "src/a.css", id: "t1" },
    { type: "tool_result", tool: "Read", id: "t1", text: "…", isError: false, truncated: true },
    { type: "file_edit", tool: "Edit", path: "src/a.css", id: "t2" },
    { type: "usage", inputTokens: 10, outputTokens: 5, cacheReadTokens: 0, cacheCreationTokens: 0, thinkingTokens: 2 },
    { type: "tool_result", tool: "Edit", id: "t2", text: "ok", isError: false, truncated: false },
    { type: "delta", text: "Done.", messageId: "m2" },
    { type: "result", isError: false, numTurns: 2, durationMs: 900, totalCostUsd: 0.01, usage: null, result: null, subtype: "success" },
    { type: "change", files: [{ path: "src/a.css", status: "modified", added: 1, removed: 1, binary: false, yours: false }], added: 1, removed: 1 },
    { type: "commit", sha: "abc1234", count: 1, hooksSkipped: false },
    { type: "done" },
  ]);
  equal(kinds(chat), "user thinking text steps text change stats");
  equal(chat.run, null);
  equal(chat.outcome, "done");
  deepEqual(chat.session, { id: "s1", provider: "anthropic" });
  equal(chat.items[2].text, "I look around.");
  const { steps } = last(chat, "steps");
  deepEqual(steps.map((/** @type {any} */ s) => [s.tool, s.detail, s.edit, s.result.truncated]), [["Read", "src/a.css", false, true], ["Edit", "src/a.css", true, false]]);
  deepEqual(last(chat, "change").commit, { sha: "abc1234", count: 1, hooksSkipped: false });
  equal(last(chat, "change").runId, "r1");
  equal(new Set(chat.items.map((item) => item.key)).size, chat.items.length);
});

test("the old chat stays as it was", () => {
  const events = [start, { type: "delta", text: "a", messageId: "m" }, { type: "tool", tool: "Bash", detail: "ls", id: "t" },
    { type: "tool_result", tool: "Bash", id: "t", text: "x", isError: true, truncated: false }, { type: "result", result: "said", isError: false },
    { type: "change", files: [], added: 0, removed: 0 }, { type: "commit_error", message: "no" }, { type: "image_status", state: "generating" },
    { type: "image_generated", tmpPath: "/x", mimeType: "image/png", bytes: 9 }, { type: "note", message: "n", level: "warning" }, { type: "delta_reset", messageId: "m" },
    { type: "stopped", by: "user" }, { type: "error", message: "e", code: "crashed" }, { type: "usage" }, { type: "done" }];
  let chat = frozen(asked());
  events.forEach((event, i) => { chat = frozen(receive(chat, { id: i + 1, event: /** @type {any} */ (event) })); });
  equal(kinds(chat), "user steps text change stats image note stopped error");
});

test("an unknown event changes nothing, nor does one of Object's names", () => {
  const chat = play([start]);
  ok(reduce(chat, /** @type {any} */ ({ type: "hologram", text: "x" })) === chat);
  ok(reduce(chat, /** @type {any} */ ({ type: "toString" })) === chat);
  ok(reduce(chat, /** @type {any} */ ({ type: "__proto__" })) === chat);
});

test("a frame that was received before changes nothing", () => {
  const chat = play([start, { type: "delta", text: "a", messageId: "m" }]);
  ok(receive(chat, { id: 2, event: { type: "delta", text: "a", messageId: "m" } }) === chat);
  equal(receive(chat, { id: 3, event: { type: "delta", text: "b", messageId: "m" } }).items[1].text, "ab");
  equal(chat.run?.lastId, 2);
});

test("withdrawn text goes, in this run only", () => {
  const before = play([start, { type: "delta", text: "kept", messageId: "m1" }, { type: "done" }]);
  const again = ask(before, { text: "again", provider: "anthropic", now: 2 });
  const chat = play([start, { type: "delta", text: "x", messageId: "m1" }, { type: "note", message: "retry", level: "info" }, { type: "delta_reset", messageId: "m1" }], again);
  equal(kinds(chat), "user text user note");
});

test("text of another message, or behind a call, begins anew", () => {
  const chat = play([start, { type: "delta", text: "a", messageId: "1" }, { type: "delta", text: "b", messageId: "2" }, { type: "tool", tool: "Bash", detail: "", id: "t" }, { type: "delta", text: "c", messageId: "2" }]);
  equal(kinds(chat), "user text text steps text");
});

test("a result that no call is known of changes nothing; one call on many files shows its output once", () => {
  const chat = play([start, ...["a", "b"].map((path) => ({ type: "file_edit", tool: "apply_patch", path, id: "t" }))]);
  ok(reduce(chat, { type: "tool_result", tool: "x", id: "?", text: "", isError: false, truncated: false }) === chat);
  const { steps } = last(reduce(chat, { type: "tool_result", tool: "x", id: "t", text: "out", isError: false, truncated: false }), "steps");
  deepEqual(steps.map((/** @type {any} */ s) => s.result.text), ["", "out"]);
});

test("the result's text is said when nothing streamed", () => {
  const chat = play([start, { type: "result", isError: false, numTurns: 1, durationMs: 1, totalCostUsd: 0, usage: null, result: "All of it.", subtype: "success" }]);
  equal(kinds(chat), "user text stats");
});

test("failed and stopped runs say so, and still show their change", () => {
  const failed = play([start, { type: "error", message: "limit", code: "rate_limited", resetsAt: "2026-12-01T10:00:00Z" }, { type: "change", files: [], added: 0, removed: 0 }, { type: "done" }]);
  equal(kinds(failed), "user error change");
  equal(failed.outcome, "failed");
  const stopped = play([start, { type: "stopped", by: "user" }, { type: "done" }]);
  equal(stopped.outcome, "stopped");
  equal(stopping(play([start])).run?.stopping, true);
});

test("a run is known by its id before any event", () => {
  equal(begun(asked(), "r9").run?.id, "r9");
  equal(begun(emptyChat(), "r9").run, null);
});

test("a refused run ends with its error", () => {
  const chat = fail(asked(), { message: "busy", code: "busy", busy: { id: "r0", prompt: "p", startedAt: "" } });
  equal(chat.run, null);
  equal(chat.outcome, "failed");
  equal(last(chat, "error").busy.id, "r0");
});

test("a commit without a change has a card; one error of it stands on the card", () => {
  const chat = play([start, { type: "result", result: null }, { type: "commit_error", message: "the index is locked", fix: "rm" }]);
  equal(kinds(chat), "user change stats");
  deepEqual(last(chat, "change").commitError, { message: "the index is locked", fix: "rm" });
});

test("an undo is told on its card", () => {
  const chat = play([start, { type: "change", files: [], added: 0, removed: 0 }, { type: "done" }]);
  const undo = { state: /** @type {"undone"} */ ("undone"), by: "u1", sha: "", message: "", fix: "", files: [] };
  equal(last(undone(chat, "r1", undo), "change").undo.by, "u1");
  equal(last(undone(chat, "other", undo), "change").undo, null);
});

test("a divider ends the session; an empty chat needs none, two are one", () => {
  equal(kinds(divide(emptyChat(), "New chat")), "");
  const chat = divide(play([start, { type: "done" }]), "New chat");
  equal(kinds(chat), "user divider");
  equal(chat.session, null);
  equal(kinds(divide(chat, "Now with Codex")), "user divider");
});

test("a session of the history", () => {
  const events = [{ type: "user", text: "one" }, { type: "delta", text: "A", messageId: "1" }, { type: "user", text: "two" }, { type: "tool", tool: "Read", detail: "x", id: "t" }];
  equal(kinds(events.reduce((c, e) => reduce(c, /** @type {WireEvent} */ (e)), emptyChat())), "user text user steps");
});

test("20,000 events cost little more than twice what 10,000 do", () => {
  const cost = (/** @type {number} */ n) => handled(() => {
    let chat = receive(asked(), { id: 1, event: /** @type {any} */ (start) });
    for (let i = 2; i <= n; i += 2) {
      chat = receive(chat, { id: i, event: { type: "tool", tool: "Bash", detail: "ls", id: `t${i}` } });
      chat = receive(chat, { id: i + 1, event: { type: "tool_result", tool: "Bash", id: `t${i}`, text: "x", isError: false, truncated: false } });
    }
    deepEqual(chat.items.slice(1).map((/** @type {any} */ item) => item.steps.length), Array(n / 400).fill(200));
  });
  const ratio = cost(20_000) / cost(10_000);
  ok(ratio > 1 && ratio < 2.5, `twice as many cost ${ratio} times as much`);
});

test("however long its runs, a chat stays bounded: the newest is whole, what the user said and could undo is there", () => {
  const at = (/** @type {number} */ turns) => {
    /** @type {any[]} */
    const events = [{ type: "change", files: [{ path: "a.css", status: "modified", added: 1, removed: 0, binary: false, yours: false }], added: 1, removed: 0 }];
    for (let i = 0; i < turns; i++) {
      events.push({ type: "delta", text: `Part ${i}. `.repeat(20), messageId: `m${i}` }, { type: "tool", tool: "Bash", detail: "ls", id: `t${i}` },
        { type: "tool_result", tool: "Bash", id: `t${i}`, text: "x".repeat(4_000), isError: false, truncated: false });
    }
    const chat = play(events);
    return chat;
  };
  const [chat, longer] = [at(2_000), at(4_000)];
  const size = (/** @type {Chat} */ c) => c.items.reduce((sum, item) => sum + sizeOf(item), 0);
  ok(size(longer) < 1.1 * size(chat) && size(longer) < 2_500_000, `${size(chat)} and ${size(longer)} characters`);
  ok(longer.items.length <= 2_200, `${longer.items.length} items`);
  deepEqual(longer.items.slice(0, 4).map((item) => item.kind), ["user", "change", "note", longer.items[3].kind]);
  equal(last(longer, "steps").steps[0].result.text.length, 4_000);
  const old = /** @type {any} */ (longer.items.find((item) => item.kind === "steps"));
  deepEqual([old.steps[0].result.text.length, old.steps[0].result.truncated], [200, true]);
  equal(new Set(longer.items.map((item) => item.key)).size, longer.items.length);
});

/** A chat of runs, each of which changed a file; `sha` "" is not committed. @param {Chat} chat @param {[string, string][]} runs */
const ran = (chat, runs) => runs.reduce((c, [runId, sha]) => play([{ ...start, runId }, { type: "result" },
  { type: "change", files: [{ path: `${runId}.css`, status: "modified", added: 1, removed: 0, binary: false, yours: false }], added: 1, removed: 0 },
  ...(sha ? [{ type: "commit", sha, count: 1, hooksSkipped: false }] : []), { type: "done" }], ask(c, { text: runId, provider: "anthropic", now: 1 })), chat);

test("what waits to be committed is what this chat changed and nobody committed", () => {
  let chat = divide(ran(emptyChat(), [["r0", ""]]), "New chat");
  chat = ran(chat, [["r1", ""], ["r2", "aaa"], ["r3", ""], ["r4", ""]]);
  chat = undone(chat, "r3", { state: "undone", by: "u3", sha: "", message: "", fix: "", files: [] });
  deepEqual(waiting(chat).map((item) => item.runId), ["r1", "r4"]);
  deepEqual(committed(chat), { runs: ["r2"], commits: ["aaa"] });
  const yours = play([{ ...start, runId: "r5" }, { type: "change", files: [{ path: "b.css", status: "modified", added: 1, removed: 0, binary: false, yours: true }] }, { type: "done" }], ask(chat, { text: "x", provider: "anthropic", now: 1 }));
  const refused = play([{ ...start, runId: "r6" }, { type: "change", files: [{ path: "b.css", status: "modified" }] }, { type: "commit_error", message: "no" }, { type: "done" }], ask(yours, { text: "x", provider: "anthropic", now: 1 }));
  deepEqual(waiting(refused).map((item) => item.runId), ["r1", "r4"]);
});

test("runs have one commit together, and so have what took them back", () => {
  let chat = frozen(ran(emptyChat(), [["r1", "aaa"], ["r2", "bbb"], ["r3", ""]]));
  chat = undone(chat, "r1", { state: "undone", by: "u1", sha: "ccc", message: "", fix: "", files: [] }, { id: "u1", sha: "ccc" });
  deepEqual(committed(chat), { runs: ["r1", "u1", "r2"], commits: ["aaa", "ccc", "bbb"] });
  const one = together(frozen(chat), ["r1", "u1", "r2"], { sha: "ddd", hooksSkipped: true });
  deepEqual(committed(one).commits, ["ddd"]);
  const changes = /** @type {any[]} */ (one.items.filter((item) => item.kind === "change"));
  deepEqual(changes.map((item) => item.commit?.sha ?? null), ["ddd", "ddd", null]);
  equal(changes[0].undo.sha, "ddd");
  const back = undone(one, "r1", null, { id: "v1", sha: "eee" });
  deepEqual(committed(back).runs, ["r1", "u1", "v1", "r2"]);
  const all = together(back, ["r3"], { sha: "fff", hooksSkipped: false, leftOut: ["r3.css"] });
  deepEqual(/** @type {any} */ (all.items.findLast((item) => item.kind === "change")).commit, { sha: "fff", count: 0, hooksSkipped: false });
});

test("what the shim says of commits holds", () => {
  const chat = frozen(ran(emptyChat(), [["r1", "aaa"], ["r2", "bbb"], ["r3", ""], ["r4", ""]]));
  const runs = [{ id: "r1", sha: "aaa4567890" }, { id: "r2", sha: "ccc4567890" }, { id: "r3", sha: "ccc4567890" }, { id: "r4", sha: "" }, { id: "other", sha: "d" }];
  const now = /** @type {any[]} */ (corrected(chat, runs).items.filter((item) => item.kind === "change"));
  deepEqual(now.map((item) => item.commit?.sha ?? ""), ["aaa", "ccc456789", "ccc456789", ""]);
  equal(corrected(chat, runs.slice(0, 1)), chat);
});

test("what became of the commits goes with the next message, and with a new chat", () => {
  const chat = { ...ran(emptyChat(), [["r1", "aaa"]]), commits: { state: /** @type {const} */ ("done"), message: "m", notes: [], fix: "" } };
  equal(ask(chat, { text: "x", provider: "anthropic", now: 1 }).commits, null);
  equal(divide(chat, "New chat").commits, null);
});
