// Runs in: the jsunit page. The door to the shim, with a fetch that is played:
// what is asked for, what is told when it fails, and how a stream that breaks
// is taken up again.
import { deepEqual, equal, match, ok, test, throws } from "./harness.js";
import { connect, ShimError } from "../../extension/lib/shim.js";

const url = "http://127.0.0.1:4040";
const start = { type: "start", sessionId: "s", model: "m", runId: "r1", provider: "anthropic" };

/** @typedef {{path: string, method: string, headers: Record<string, string>, body: any}} Asked */

/**
 * Plays answers in turn instead of the network; returns what was asked for.
 * @param {((asked: Asked) => Response | Promise<Response>)[]} answers
 * @param {(shim: ReturnType<typeof connect>) => Promise<unknown>} story
 * @returns {Promise<Asked[]>}
 */
async function played(answers, story) {
  const real = globalThis.fetch;
  /** @type {Asked[]} */
  const asked = [];
  globalThis.fetch = /** @type {any} */ (async (/** @type {string} */ address, /** @type {any} */ init) => {
    init.signal?.throwIfAborted();
    const one = { path: address.slice(url.length), method: init.method, headers: init.headers, body: init.body && JSON.parse(init.body) };
    asked.push(one);
    const answer = answers[asked.length - 1];
    if (!answer) throw new TypeError("Failed to fetch");
    return answer(one);
  });
  try {
    await story(connect({ shimUrl: url + "/", token: "t0ken" }));
  } finally {
    globalThis.fetch = real;
  }
  return asked;
}

/** @param {any} value @param {number} [status] */
const json = (value, status = 200) => () => new Response(JSON.stringify(value), { status, headers: { "Content-Type": "application/json" } });
const gone = () => { throw new TypeError("Failed to fetch"); };

/** A stream of events numbered from `first`, which then ends or breaks. @param {any[]} events @param {{first?: number, breaks?: boolean}} [how] */
const stream = (events, { first = 1, breaks = false } = {}) => () => {
  const body = new ReadableStream({
    start(controller) {
      events.forEach((event, i) => controller.enqueue(new TextEncoder().encode(`id: ${first + i}\ndata: ${JSON.stringify(event)}\n\n`)));
      if (!breaks) controller.close();
    },
    pull(controller) {
      if (breaks) controller.error(new TypeError("network error"));
    },
  });
  return new Response(body, { headers: { "Content-Type": "text/event-stream", "Content-Location": "runs/r1/events" } });
};

/** @param {AsyncIterable<any>} events */
async function words(events) {
  /** @type {string[]} */
  const got = [];
  for await (const { id, event } of events) got.push(`${id} ${event.type}`);
  return got;
}

test("calls carry the token and JSON", async () => {
  const asked = await played([json({ ok: true }), json({ project: "shop", providers: [], git: { state: "ok" } }), json({ runs: [] }), json({ diff: "" }), json({ sessions: [] }), json({ id: "s", events: [] }), json({ id: "u" })], async (shim) => {
    equal(shim.url, url);
    equal(await shim.health(), true);
    await shim.meta({ only: "openai", refresh: true });
    deepEqual(await shim.runs(), []);
    await shim.diff("r/1", "src/a b.css");
    await shim.history("grok");
    await shim.session("grok", "s", { limit: 200, before: "c" });
    await shim.undo("r1");
  });
  deepEqual(asked.map((a) => `${a.method} ${a.path}`), ["GET /health", "GET /meta?only=openai&refresh=1", "GET /runs", "GET /runs/r%2F1/diff?path=src%2Fa+b.css",
    "GET /history?provider=grok", "GET /history/s?provider=grok&limit=200&before=c", "POST /runs/r1/undo"]);
  ok(asked.every((a) => a.headers.Authorization === "Bearer t0ken"));
  equal(asked[6].headers["Content-Type"], "application/json");
  deepEqual(asked[6].body, {});
});

test("what is to be started listens where it is looked for", async () => {
  for (const [shimUrl, want] of [["http://127.0.0.1:4040", "slidewrite"], ["http://localhost:41287/", "slidewrite --port 41287"], ["https://dev.example.com/slidewrite", "slidewrite"]]) {
    await played([gone], async () => {
      const err = /** @type {ShimError} */ (await throws(() => connect({ shimUrl, token: "t" }).meta(), /Nothing answers/));
      equal(err.fix, want);
    });
  }
});

test("what another program answers to /meta is no shim", async () => {
  for (const body of [{}, [], "x", 5, null, { project: "a", providers: null, git: { state: "ok" } }, { project: "a", providers: [], git: null }]) {
    await played([json(body)], async (shim) => {
      const err = await throws(() => shim.meta(), /not Slide Write/);
      ok(err instanceof ShimError && err.code === "not_a_shim");
    });
  }
  await played([json({ project: "a", git: { state: "ok" }, providers: [null, 5, { id: "x" }, { id: "y", models: [{ id: "m" }, 7] }] })], async (shim) => {
    const { providers } = await shim.meta();
    deepEqual(providers.map(({ id, label, models }) => [id, label, models.length]), [["x", "x", 0], ["y", "y", 1]]);
  });
});

test("every failure says what happened and what to do", async () => {
  /** @type {[(asked: Asked) => Response, string, RegExp, RegExp][]} */
  const table = [
    [gone, "unreachable", /Nothing answers at http:\/\/127\.0\.0\.1:4040/, /^slidewrite$/],
    [json({ error: "the token is missing or wrong", code: "unauthorized", fix: "send the header" }, 401), "unauthorized", /does not know this token/, /^slidewrite pair$/],
    [() => new Response("<h1>404</h1>", { status: 404 }), "not_a_shim", /not Slide Write/, /slidewrite/],
    [() => new Response("hello"), "not_a_shim", /not Slide Write/, /slidewrite/],
    [json({ error: "a/b.css was changed since", code: "conflict", fix: "commit it", files: ["a/b.css"] }, 409), "conflict", /^A\/b\.css was changed since\.$/, /^commit it$/],
    [json({ error: "boom", code: "internal" }, 500), "internal", /^Boom\.$/, /slidewrite doctor/],
  ];
  for (const [answer, code, message, fix] of table) {
    await played([answer], async (shim) => {
      const err = await throws(() => shim.meta(), message);
      ok(err instanceof ShimError);
      equal(err.code, code);
      match(err.fix, fix);
    });
  }
  await played([json({ error: "x", code: "conflict", files: ["f"] }, 409)], async (shim) => deepEqual((await throws(() => shim.undo("r"))).body.files, ["f"]));
});

test("a run to its done", async () => {
  const asked = await played([stream([start, { type: "hologram" }, { type: "done" }])], async (shim) => {
    deepEqual(await words(shim.design({ prompt: "p", detach: true })), ["1 start", "2 hologram", "3 done"]);
  });
  deepEqual(asked[0].body, { prompt: "p", detach: true });
});

test("a run that is refused throws before anything", async () => {
  await played([json({ error: "busy", code: "busy", run: { id: "r0", prompt: "q", startedAt: "" } }, 409)], async (shim) => {
    equal((await throws(() => words(shim.design({ prompt: "p" })))).body.run.id, "r0");
  });
});

test("a stream that breaks goes on behind its last event", async () => {
  /** @type {boolean[]} */
  const live = [];
  const asked = await played([stream([start, { type: "delta" }], { breaks: true }), gone, stream([{ type: "delta" }, { type: "delta" }], { first: 2, breaks: true }), stream([{ type: "done" }], { first: 4 })], async (shim) => {
    deepEqual(await words(shim.design({ prompt: "p" }, { onLive: (now) => live.push(now) })), ["1 start", "2 delta", "3 delta", "4 done"]);
  });
  deepEqual(asked.slice(1).map((a) => `${a.path} ${a.headers["Last-Event-ID"]}`), ["/runs/r1/events 2", "/runs/r1/events 2", "/runs/r1/events 3"]);
  deepEqual(live, [false, false, true, false, true]);
});

test("a stream that breaks before its first event is taken up by its address", async () => {
  /** @type {string[]} */
  const told = [];
  const asked = await played([stream([], { breaks: true }), stream([start, { type: "done" }])], async (shim) => {
    deepEqual(await words(shim.design({ prompt: "p" }, { onRun: (id) => told.push(id) })), ["1 start", "2 done"]);
  });
  equal(asked[1].path, "/runs/r1/events");
  deepEqual(told, ["r1"]);
});

test("what is not passing ends the following", async () => {
  await played([stream([start], { breaks: true }), json({ error: "no such run", code: "not_found" }, 404)], async (shim) => {
    equal((await throws(() => words(shim.design({ prompt: "p" })))).code, "not_found");
  });
});

test("an abort ends the following, and no attempt comes behind it", async () => {
  const abort = new AbortController();
  const asked = await played([stream([start], { breaks: true })], async (shim) => {
    const story = words(shim.follow("r1", 0, { signal: abort.signal, onLive: (live) => { if (!live) abort.abort(); } }));
    equal((await throws(() => story)).name, "AbortError");
  });
  equal(asked.length, 1);
});

test("commits: which runs, as a body", async () => {
  const asked = await played([json({ sha: "a" }), json({ sha: "b" })], async (shim) => {
    equal((await shim.squash(["r1", "r2"])).sha, "a");
    equal((await shim.commit(["r3"])).sha, "b");
  });
  deepEqual(asked.map((one) => [one.method, one.path, one.body]), [["POST", "/runs/squash", { runs: ["r1", "r2"] }], ["POST", "/runs/commit", { runs: ["r3"] }]]);
});
