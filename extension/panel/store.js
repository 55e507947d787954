// Runs in: side panel. What a chat is, and how each event changes it. Pure:
// every function returns a new chat and leaves the old one as it was, so a
// view can tell by identity what has changed.
//
// Order: `ask` puts the user's words in, `receive` what the shim says of the
// run, up to `done`. A session of the history goes through `reduce` alone.

/** @typedef {import("../lib/events.js").WireEvent} WireEvent */
/** @typedef {import("../lib/events.js").Usage} Usage */
/** @typedef {import("../lib/events.js").ChangedFile} ChangedFile */
/** @typedef {import("../lib/shim.js").Numbered} Numbered */

/**
 * A capture as a bubble shows it: no pictures but a small one. pick and path
 * find the element in the page, names are what an answer may call it.
 * @typedef {{label: string, text: string, thumb: string, pasted: boolean, pick: string, path: string, names: string[]}} ChipView
 */

/** @typedef {{kind: "user", key: number, text: string, chips: ChipView[]}} UserItem */
/** @typedef {{kind: "text", key: number, text: string, messageId: string}} TextItem */
/** @typedef {{kind: "thinking", key: number, text: string, messageId: string}} ThinkingItem */
/**
 * One tool call. `edit`: of the agent's edit tool, and detail is the path.
 * @typedef {{id: string, parentId: string, tool: string, detail: string, edit: boolean, result: StepResult | null}} Step
 */
/** @typedef {{text: string, isError: boolean, truncated: boolean}} StepResult */
/** @typedef {{kind: "steps", key: number, steps: Step[]}} StepsItem */
/** @typedef {{kind: "note", key: number, message: string, level: string, code: string, resetsAt: string}} NoteItem */
/** @typedef {{kind: "stopped", key: number, by: string}} StoppedItem */
/** @typedef {{kind: "error", key: number, message: string, code: string, fix: string, resetsAt: string, busy: Busy | null}} ErrorItem */
/** What holds the repository. @typedef {{id: string, prompt: string, startedAt: string}} Busy */
/** @typedef {{sha: string, count: number, hooksSkipped: boolean}} Commit */
/**
 * What an undo came to; `files` are in the way of one that failed. `by` is the
 * run that undid, which can be undone itself.
 * @typedef {{state: "undone" | "refused", by: string, sha: string, message: string, fix: string, files: string[]}} UndoView
 */
/**
 * @typedef {object} ChangeItem
 * @property {"change"} kind
 * @property {number} key
 * @property {string} runId "" when it is not known, as in a session's replay
 * @property {ChangedFile[]} files
 * @property {number} added
 * @property {number} removed
 * @property {Commit | null} commit
 * @property {{message: string, fix: string} | null} commitError
 * @property {UndoView | null} undo
 * @property {boolean} [settled] there is nothing that an undo could do
 * @property {{id: string, sha: string}[]} [later] commits of its undo, of the undo of that, …
 */
/**
 * @typedef {object} StatsItem
 * @property {"stats"} kind
 * @property {number} key
 * @property {boolean} isError
 * @property {number} numTurns
 * @property {number} durationMs
 * @property {number} totalCostUsd
 * @property {Usage | null} usage
 */
/** @typedef {{kind: "image", key: number, state: string, mimeType: string, bytes: number}} ImageItem */
/** @typedef {{kind: "divider", key: number, text: string}} DividerItem */
/**
 * @typedef {UserItem | TextItem | ThinkingItem | StepsItem | NoteItem | StoppedItem | ErrorItem | ChangeItem
 *   | StatsItem | ImageItem | DividerItem} Item
 */

/**
 * The run that is going on.
 * @typedef {object} Run
 * @property {string} id "" before the shim has told
 * @property {number} lastId of the last event received
 * @property {string} prompt
 * @property {string} provider
 * @property {string} model
 * @property {number} startedAt ms since 1970
 * @property {boolean} stopping the user has asked for it
 * @property {boolean} [foreign] begun elsewhere: its session is not this chat's
 * @property {Usage | null} usage
 */

/**
 * @typedef {object} Chat
 * @property {Item[]} items
 * @property {number} next the key of the next item
 * @property {Run | null} run
 * @property {{id: string, provider: string} | null} session to go on with
 * @property {Outcome} outcome how the last run ended
 * @property {CommitsView | null} [commits] what became of commits that were made or made one, after the last run
 */
/** @typedef {{state: "done" | "refused", message: string, notes: string[], fix: string}} CommitsView */
/** @typedef {"" | "done" | "failed" | "stopped"} Outcome */

/**
 * What a chat holds, however long its runs are: so many items and characters;
 * the oldest go, and are in the history still. Of outputs that are not among
 * the newest characters the beginning is kept. So many calls are one item.
 */
const most = { items: 2_000, characters: 2_000_000, outputs: 500_000, oldOutput: 200, steps: 200 };

/** What stands where a chat has become too long. */
const gone = { message: "What was here is in the history.", level: "info", code: "gone", resetsAt: "" };

/** @returns {Chat} */
export function emptyChat() {
  return { items: [], next: 1, run: null, session: null, outcome: "" };
}

/**
 * The user's words, and the run they begin.
 * @param {Chat} chat
 * @param {{text: string, chips?: ChipView[], provider: string, now: number}} asked
 * @returns {Chat}
 */
export function ask(chat, { text, chips = [], provider, now }) {
  const run = { id: "", lastId: 0, prompt: text, provider, model: "", startedAt: now, stopping: false, usage: null };
  return { ...add(chat, { kind: "user", text, chips }), run, outcome: "", commits: null };
}

/**
 * An event of the run, with its number; one that was received before changes
 * nothing.
 * @param {Chat} chat
 * @param {Numbered} numbered
 * @returns {Chat}
 */
export function receive(chat, { id, event }) {
  if (!chat.run || id <= chat.run.lastId) return chat;
  const after = reduce(chat, event);
  const items = id % 100 === 0 ? bounded(after.items) : after.items;
  return { ...after, items, run: after.run && { ...after.run, lastId: id } };
}

/**
 * The run has an id, before any event.
 * @param {Chat} chat
 * @param {string} id
 * @param {boolean} [foreign] it is only looked at
 * @returns {Chat}
 */
export function begun(chat, id, foreign = false) {
  return chat.run ? { ...chat, run: { ...chat.run, id, ...(foreign && { foreign }) } } : chat;
}

/**
 * The run was refused or lost: it ends with an error that no event told.
 * @param {Chat} chat
 * @param {{message: string, code: string, fix?: string, busy?: Busy | null}} error
 * @returns {Chat}
 */
export function fail(chat, { message, code, fix = "", busy = null }) {
  return { ...add(chat, { kind: "error", message, code, fix, resetsAt: "", busy }), run: null, outcome: "failed" };
}

/** @param {Chat} chat @returns {Chat} */
export function stopping(chat) {
  return chat.run ? { ...chat, run: { ...chat.run, stopping: true } } : chat;
}

/**
 * A line across the chat; what follows is a new session.
 * @param {Chat} chat
 * @param {string} text
 * @returns {Chat}
 */
export function divide(chat, text) {
  const last = chat.items.at(-1);
  const ended = { ...chat, session: null, outcome: /** @type {Outcome} */ (""), commits: null };
  if (!last) return ended;
  if (last.kind === "divider") return { ...ended, items: [...chat.items.slice(0, -1), { ...last, text }] };
  return add(ended, { kind: "divider", text });
}

/**
 * What an undo of that run came to, or, with null, the undo of the undo; `made`
 * is the run that did it and its commit.
 * @param {Chat} chat
 * @param {string} runId
 * @param {UndoView | null} undo
 * @param {{id: string, sha: string}} [made]
 * @returns {Chat}
 */
export function undone(chat, runId, undo, made) {
  return { ...chat, items: chat.items.map((item) => {
    if (item.kind !== "change" || item.runId !== runId) return item;
    return { ...item, undo, ...(made?.sha && { later: [...(item.later ?? []), { id: made.id, sha: made.sha }] }) };
  }) };
}

/** The changes of the present chat, which begins at the last line across. @param {Chat} chat @returns {ChangeItem[]} */
function changes({ items }) {
  const present = items.slice(items.findLastIndex((item) => item.kind === "divider") + 1);
  return /** @type {ChangeItem[]} */ (present.filter((item) => item.kind === "change" && item.runId !== ""));
}

/**
 * The changes of the present chat that nobody has committed, and for which
 * nothing stood in the way.
 * @param {Chat} chat
 */
export function waiting(chat) {
  return changes(chat).filter((item) => !item.commit && !item.commitError && !item.settled && item.undo?.state !== "undone" && item.files.some((file) => !file.yours));
}

/**
 * The commits of the present chat, and whose they are.
 * @param {Chat} chat
 * @returns {{runs: string[], commits: string[]}}
 */
export function committed(chat) {
  const all = changes(chat).flatMap((item) => [...(item.commit ? [{ id: item.runId, sha: item.commit.sha }] : []), ...(item.later ?? [])]);
  return { runs: all.map((one) => one.id), commits: [...new Set(all.map((one) => one.sha))] };
}

/**
 * What the shim says of the commits of runs holds: somebody else may have made
 * them one, or the answer about it was lost.
 * @param {Chat} chat
 * @param {{id: string, sha: string}[]} runs
 */
export function corrected(chat, runs) {
  const shown = new Map(changes(chat).map((item) => [item.runId, item.commit?.sha ?? ""]));
  const other = runs.filter(({ id, sha }) => sha && shown.has(id) && !(shown.get(id) && sha.startsWith(shown.get(id) ?? "")));
  return other.reduce((now, { id, sha }) => together(now, [id], { sha: sha.slice(0, 9), hooksSkipped: false }), chat);
}

/**
 * These runs have this commit now.
 * @param {Chat} chat
 * @param {string[]} runs
 * @param {{sha: string, hooksSkipped: boolean, leftOut?: string[]}} commit
 * @returns {Chat}
 */
export function together(chat, runs, { sha, hooksSkipped, leftOut = [] }) {
  return { ...chat, items: chat.items.map((item) => {
    if (item.kind !== "change") return item;
    const later = item.later?.map((one) => (runs.includes(one.id) ? { ...one, sha } : one));
    const undo = item.undo && runs.includes(item.undo.by) ? { ...item.undo, sha } : item.undo;
    const count = item.files.filter((file) => !file.yours && !leftOut.includes(file.path)).length;
    const commit = runs.includes(item.runId) ? { count, ...item.commit, sha, hooksSkipped } : item.commit;
    return { ...item, commit, undo, ...(later && { later }) };
  }) };
}

/**
 * What was found out later about a pick that had been sent.
 * @param {Chat} chat
 * @param {string} pick
 * @param {{thumb: string, names: string[]}} found thumb: "" for none
 * @returns {Chat}
 */
export function found(chat, pick, { thumb, names }) {
  const at = chat.items.findLastIndex((item) => item.kind === "user" && item.chips.some((chip) => chip.pick === pick));
  const item = chat.items[at];
  if (pick === "" || item?.kind !== "user") return chat;
  const chips = item.chips.map((chip) => (chip.pick === pick ? { ...chip, thumb: thumb || chip.thumb, names: [...chip.names, ...names] } : chip));
  return { ...chat, items: chat.items.with(at, { ...item, chips }) };
}

/**
 * @param {Chat} chat
 * @param {WireEvent} event
 * @returns {Chat}
 */
export function reduce(chat, event) {
  const change = Object.hasOwn(reducers, event.type) ? reducers[event.type] : null;
  return change ? change(chat, event) : chat;
}

/**
 * One function per event type; whatever is not here changes nothing.
 * @type {Record<string, (chat: Chat, event: any) => Chat>}
 */
const reducers = {
  start(chat, { sessionId, model, runId, provider }) {
    const run = chat.run && { ...chat.run, id: runId || chat.run.id, model: model ?? "", provider: provider ?? chat.run.provider };
    return { ...chat, run, session: sessionId && !chat.run?.foreign ? { id: sessionId, provider: provider ?? "" } : chat.session };
  },

  delta: (chat, event) => grow(chat, "text", event),
  thinking_delta: (chat, event) => grow(chat, "thinking", event),

  delta_reset(chat, { messageId }) {
    const from = lastIndex(chat.items, (item) => item.kind === "user") + 1;
    return { ...chat, items: chat.items.filter((item, i) => i < from || item.kind !== "text" || item.messageId !== messageId) };
  },

  usage(chat, { inputTokens, outputTokens, cacheReadTokens, cacheCreationTokens, thinkingTokens }) {
    if (!chat.run) return chat;
    return { ...chat, run: { ...chat.run, usage: { inputTokens, outputTokens, cacheReadTokens, cacheCreationTokens, thinkingTokens } } };
  },

  tool: (chat, { tool, detail, id, parentId }) => step(chat, { id, parentId: parentId ?? "", tool, detail: detail ?? "", edit: false, result: null }),
  file_edit: (chat, { tool, path, id, parentId }) => step(chat, { id, parentId: parentId ?? "", tool, detail: path ?? "", edit: true, result: null }),

  tool_result(chat, { id, text, isError, truncated }) {
    for (let i = chat.items.length - 1; i >= 0; i--) {
      const item = chat.items[i];
      if (item.kind === "user") break;
      if (item.kind !== "steps") continue;
      const at = lastIndex(item.steps, (one) => one.id === id);
      if (at < 0) continue;
      const result = { text: text ?? "", isError: Boolean(isError), truncated: Boolean(truncated) };
      // One call may have touched several files: the last of them shows its output.
      const steps = item.steps.with(at, { ...item.steps[at], result });
      for (let n = at - 1; n >= 0 && steps[n].id === id; n--) steps[n] = { ...steps[n], result: { ...result, text: "" } };
      return { ...chat, items: chat.items.with(i, { ...item, steps }) };
    }
    return chat;
  },

  result(chat, { isError, numTurns, durationMs, totalCostUsd, usage, result }) {
    const said = typeof result === "string" && result.trim() !== "" && !isError ? add(chat, { kind: "text", text: result, messageId: "" }) : chat;
    return add(said, { kind: "stats", isError: Boolean(isError), numTurns: numTurns ?? 0, durationMs: durationMs ?? 0, totalCostUsd: totalCostUsd ?? 0, usage: usage ?? null });
  },

  change(chat, { files, added, removed }) {
    const item = { kind: "change", runId: chat.run?.id ?? "", files: files ?? [], added: added ?? 0, removed: removed ?? 0, commit: null, commitError: null, undo: null };
    return add(chat, item, chat.items.at(-1)?.kind === "stats");
  },

  commit: (chat, { sha, count, hooksSkipped }) => settle(chat, { commit: { sha, count, hooksSkipped: Boolean(hooksSkipped) } }),
  commit_error: (chat, { message, fix }) => settle(chat, { commitError: { message, fix: fix ?? "" } }),

  image_status: (chat, { state }) => add(chat, { kind: "image", state, mimeType: "", bytes: 0 }),

  image_generated(chat, { mimeType, bytes }) {
    const at = chat.items.length - 1;
    const image = { kind: "image", state: "generated", mimeType, bytes };
    const last = chat.items[at];
    return last?.kind === "image" ? { ...chat, items: chat.items.with(at, { ...last, state: "generated", mimeType, bytes }) } : add(chat, image);
  },

  note: (chat, { message, level, code, resetsAt }) => add(chat, { kind: "note", message, level: level ?? "info", code: code ?? "", resetsAt: resetsAt ?? "" }),
  stopped: (chat, { by }) => ({ ...add(chat, { kind: "stopped", by }), outcome: "stopped" }),
  error: (chat, { message, code, fix, resetsAt }) => ({
    ...add(chat, { kind: "error", message, code: code ?? "internal", fix: fix ?? "", resetsAt: resetsAt ?? "", busy: null }), outcome: "failed",
  }),
  done: (chat) => ({ ...chat, run: null, outcome: chat.outcome || "done" }),
  user: (chat, { text }) => add(chat, { kind: "user", text, chips: [] }),
};

/**
 * @param {Chat} chat
 * @param {any} item without its key
 * @param {boolean} [beforeLast]
 * @returns {Chat}
 */
function add(chat, item, beforeLast = false) {
  const keyed = { ...item, key: chat.next };
  const items = beforeLast ? chat.items.toSpliced(-1, 0, keyed) : [...chat.items, keyed];
  return { ...chat, items, next: chat.next + 1 };
}

/**
 * The newest items that there is room for; of older ones the user's words, and
 * changes, which can be undone. A line says where others were.
 * @param {Item[]} items
 * @returns {Item[]} the same when all fit
 */
export function bounded(items) {
  let characters = 0;
  let changed = false;
  /** @type {Item[]} the newest first */
  const kept = [];
  for (const item of items.toReversed()) {
    const small = item.kind === "steps" && characters > most.outputs ? withoutOutputs(item) : item;
    characters += sizeOf(small);
    const fits = kept.length === 0 || (kept.length < most.items && characters <= most.characters);
    const before = kept.at(-1);
    const gap = before?.kind === "note" && before.code === gone.code;
    if (fits || item.kind === "user" || item.kind === "change") kept.push(small);
    else if (!gap) kept.push({ kind: "note", key: item.key, ...gone });
    changed ||= kept.at(-1) !== item;
  }
  return changed ? kept.reverse() : items;
}

/** @param {StepsItem} item @returns {StepsItem} */
function withoutOutputs(item) {
  /** @param {Step} step */
  const long = ({ result }) => result !== null && result.text.length > most.oldOutput;
  if (!item.steps.some(long)) return item;
  return { ...item, steps: item.steps.map((step) => (step.result && long(step) ? { ...step, result: { ...step.result, text: step.result.text.slice(0, most.oldOutput), truncated: true } } : step)) };
}

/**
 * About how much an item takes, in characters.
 * @param {Item} item
 * @returns {number}
 */
export function sizeOf(item) {
  switch (item.kind) {
    case "text": case "thinking": return item.text.length + 80;
    case "steps": return item.steps.reduce((sum, step) => sum + step.detail.length + (step.result?.text.length ?? 0) + 150, 80);
    case "change": return item.files.reduce((sum, file) => sum + file.path.length + 120, 300);
    case "user": return item.text.length + item.chips.reduce((sum, chip) => sum + chip.thumb.length + 200, 80);
    default: return 600;
  }
}

/**
 * Text that continues what is being written, or begins anew.
 * @param {Chat} chat
 * @param {"text" | "thinking"} kind
 * @param {{text: string, messageId: string}} event
 * @returns {Chat}
 */
function grow(chat, kind, { text, messageId }) {
  if (!text) return chat;
  const at = chat.items.length - 1;
  const last = chat.items[at];
  if (last?.kind === kind && last.messageId === messageId) return { ...chat, items: chat.items.with(at, { ...last, text: last.text + text }) };
  return add(chat, { kind, text, messageId });
}

/**
 * A call joins the calls just before it.
 * @param {Chat} chat
 * @param {Step} one
 * @returns {Chat}
 */
function step(chat, one) {
  const at = chat.items.length - 1;
  const last = chat.items[at];
  if (last?.kind === "steps" && last.steps.length < most.steps) return { ...chat, items: chat.items.with(at, { ...last, steps: [...last.steps, one] }) };
  return add(chat, { kind: "steps", steps: [one] });
}

/**
 * How the commit of the run's change went.
 * @param {Chat} chat
 * @param {Partial<ChangeItem>} how
 * @returns {Chat}
 */
function settle(chat, how) {
  const asked = lastIndex(chat.items, (item) => item.kind === "user");
  const at = lastIndex(chat.items, (item) => item.kind === "change");
  if (at > asked) return { ...chat, items: chat.items.with(at, /** @type {ChangeItem} */ ({ ...chat.items[at], ...how })) };
  const item = { kind: "change", runId: chat.run?.id ?? "", files: [], added: 0, removed: 0, commit: null, commitError: null, undo: null, ...how };
  return add(chat, item, chat.items.at(-1)?.kind === "stats");
}

/**
 * @template T
 * @param {T[]} list
 * @param {(one: T) => boolean} is
 */
function lastIndex(list, is) {
  return list.findLastIndex(is);
}
