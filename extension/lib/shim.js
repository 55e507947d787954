// Runs in: side panel, options page. Talks to: the shim (fetch). The one place
// that knows its addresses, and the words for what can go wrong with them.

import { frames } from "./sse.js";

/** @typedef {import("./events.js").WireEvent} WireEvent */
/** @typedef {import("./events.js").ChangedFile} ChangedFile */

/**
 * @typedef {object} Effort
 * @property {string} id
 * @property {string} label
 * @property {string} [description]
 */
/**
 * @typedef {object} Model
 * @property {string} id
 * @property {string} label
 * @property {string} [description]
 * @property {Effort[] | null} [efforts]
 * @property {string} [defaultEffort]
 */
/**
 * @typedef {object} Provider
 * @property {string} id
 * @property {string} label
 * @property {boolean} enabled
 * @property {Model[]} models
 * @property {string} defaultModel
 * @property {string} [error] why its models are missing
 * @property {string} [fix]
 * @property {string} [billing]
 * @property {boolean} [pending] a later meta has the answer
 */
/**
 * @typedef {object} Meta
 * @property {string} project
 * @property {string} repoDir
 * @property {string} version
 * @property {string} branch "" when detached or without git
 * @property {boolean} dirty
 * @property {Provider[]} providers
 * @property {string} defaultProvider
 * @property {{state: string, hooks: string, detail: string, fix?: string}} git
 * @property {string[]} capabilities
 */
/**
 * @typedef {object} RunSummary
 * @property {string} id
 * @property {string} kind design, image, undo
 * @property {string} state running, done, failed, stopped, interrupted
 * @property {string} provider
 * @property {string} session
 * @property {string} prompt
 * @property {string} startedAt
 * @property {string | null} endedAt
 * @property {string[]} files
 * @property {string} sha
 * @property {boolean} undone
 * @property {boolean} undoable
 */
/**
 * @typedef {object} Session
 * @property {string} id
 * @property {string} title
 * @property {string} firstPrompt
 * @property {string | null} startedAt
 * @property {string | null} endedAt
 * @property {string} branch
 * @property {number} messageCount
 * @property {RunSummary[]} runs newest first
 */
/**
 * A page of a session: `before` is the cursor of the page before it, "" at the
 * beginning.
 * @typedef {{id: string, events: WireEvent[], before: string, after: string}} SessionPage
 */
/** @typedef {{diff: string, files: ChangedFile[], added: number, removed: number}} Diff */
/** @typedef {{id: string, files: string[], sha: string, of: string, prompt: string, commitError?: string}} Undone */
/** @typedef {{sha: string, subject: string, runs: string[], replaced: string[], count: number, hooksSkipped: boolean}} Squashed */
/**
 * One commit of several runs: `left` runs are not in it, `leftOut` paths not, or
 * not wholly.
 * @typedef {object} Committed
 * @property {string} sha
 * @property {string} subject
 * @property {string[]} runs
 * @property {number} count
 * @property {boolean} hooksSkipped
 * @property {{id: string, prompt: string, reason: string}[]} left
 * @property {string[]} leftOut
 * @property {{message: string}[]} notes
 */
/** @typedef {{system: string, prompt: string, attachments: {name: string, bytes: number}[] | null}} Preview */
/** @typedef {{id: number, event: WireEvent}} Numbered */
/**
 * @typedef {object} StreamOptions
 * @property {AbortSignal} [signal]
 * @property {(live: boolean) => void} [onLive] the connection was lost, or is back
 * @property {(runId: string) => void} [onRun] the run was begun; before its first event
 */
/** @typedef {ReturnType<typeof connect>} Shim */

/** What can be sent as the body of a run: see the request in the README. @typedef {Record<string, unknown>} DesignBody */

/** A call that failed: what happened, and what to do about it. */
export class ShimError extends Error {
  /**
   * @param {object} what
   * @param {number} what.status 0 when nothing answered
   * @param {string} what.code
   * @param {string} what.message
   * @param {string} [what.fix]
   * @param {any} [what.body] the whole answer
   */
  constructor({ status, code, message, fix = "", body = null }) {
    super(message);
    this.name = "ShimError";
    this.status = status;
    this.code = code;
    this.fix = fix;
    this.body = body;
  }
}

/** The shim says `: ping` every 15 s; one that is silent for longer is gone. */
const silence = 45_000;
/** How long a plain call may take, in ms. */
const patience = { health: 4_000, meta: 30_000, call: 60_000 };
/** Waits between attempts to re-attach, in ms; the last one goes on for ever. */
const waits = [250, 500, 1_000, 2_000, 4_000];

/**
 * What people read for the codes whose own words are about HTTP. Each gets the
 * address of the shim.
 * @type {Record<string, (url: string) => {message: string, fix: string}>}
 */
const wording = {
  unreachable: (url) => ({ message: `Nothing answers at ${url}. The shim is not running, or it listens elsewhere.`, fix: startCommand(url) }),
  silent: (url) => ({ message: `The shim at ${url} took the request and did not answer in time.`, fix: "slidewrite doctor" }),
  not_a_shim: (url) => ({ message: `Something answers at ${url}, but it is not Slide Write.`, fix: "slidewrite pair" }),
  unauthorized: (url) => ({ message: `The shim at ${url} does not know this token: it was made anew, or another project's shim listens there now.`, fix: "slidewrite pair" }),
  internal: () => ({ message: "The shim failed on this request; its own output tells why.", fix: "slidewrite doctor" }),
};

/**
 * What starts a shim that listens there. @param {string} url
 */
export function startCommand(url) {
  const { protocol, hostname, port, pathname } = new URL(url);
  const here = protocol === "http:" && pathname === "/" && ["127.0.0.1", "localhost"].includes(hostname);
  return here && port !== "4040" ? `slidewrite --port ${port || 80}` : "slidewrite";
}

/**
 * @param {string} code
 * @param {string} url
 * @param {number} [status]
 * @returns {ShimError}
 */
function failure(code, url, status = 0) {
  return new ShimError({ status, code, ...wording[code](url) });
}

/**
 * The answer of `GET /meta`, or null: whatever listens there may answer
 * everything with some JSON.
 * @param {any} body
 * @returns {Meta | null}
 */
export function readMeta(body) {
  if (typeof body?.project !== "string" || !Array.isArray(body.providers) || typeof body.git?.state !== "string") return null;
  const providers = body.providers.filter((/** @type {any} */ p) => typeof p?.id === "string")
    .map((/** @type {any} */ p) => ({ ...p, label: String(p.label ?? p.id), models: list(p.models).filter((m) => typeof m?.id === "string").map((m) => ({ ...m, efforts: list(m.efforts) })) }));
  return { repoDir: "", version: "", branch: "", dirty: false, defaultProvider: "", ...body, providers };
}

/** @param {unknown} value @returns {any[]} */
const list = (value) => (Array.isArray(value) ? value : []);

/**
 * A door to one shim. Nothing is sent before a method is called.
 * @param {{shimUrl: string, token: string}} where
 */
export function connect({ shimUrl, token }) {
  const base = shimUrl.replace(/\/+$/, "");

  /**
   * @param {string} path
   * @param {{method?: string, body?: unknown, headers?: Record<string, string>, signal?: AbortSignal}} [options]
   * @returns {Promise<Response>} one that is ok
   */
  async function send(path, { method = "GET", body, headers = {}, signal } = {}) {
    /** @type {Record<string, string>} */
    const all = { ...headers };
    if (token) all.Authorization = `Bearer ${token}`;
    if (method === "POST") all["Content-Type"] = "application/json";
    let response;
    try {
      response = await fetch(base + path, {
        method, headers: all, signal, cache: "no-store", credentials: "omit", redirect: "error",
        body: method === "POST" ? JSON.stringify(body ?? {}) : undefined,
      });
    } catch (err) {
      throw asShimError(err, signal);
    }
    if (!response.ok) throw await refusal(response);
    return response;
  }

  /**
   * @param {unknown} err of fetch or of reading a body
   * @param {AbortSignal} [signal]
   */
  function asShimError(err, signal) {
    if (err instanceof ShimError) return err;
    if (signal?.aborted) return signal.reason?.name === "TimeoutError" ? failure("silent", base) : signal.reason;
    return failure("unreachable", base);
  }

  /**
   * The shim's own words, or ours where its are for programs.
   * @param {Response} response
   */
  async function refusal(response) {
    /** @type {any} */
    let body = null;
    try {
      body = await response.json();
    } catch { /* not the shim's */ }
    if (typeof body?.code !== "string" || typeof body.error !== "string") return failure("not_a_shim", base, response.status);
    const words = Object.hasOwn(wording, body.code) && body.code !== "internal" ? wording[body.code](base) : { message: sentence(body.error), fix: String(body.fix ?? "") };
    if (body.code === "internal" && !words.fix) words.fix = wording.internal(base).fix;
    return new ShimError({ status: response.status, code: body.code, ...words, body });
  }

  /**
   * A call that answers JSON.
   * @param {string} path
   * @param {{method?: string, body?: unknown, signal?: AbortSignal, within?: number}} [options]
   * @returns {Promise<any>}
   */
  async function call(path, { method, body, signal, within = patience.call } = {}) {
    const timed = AbortSignal.timeout(within);
    const either = signal ? AbortSignal.any([signal, timed]) : timed;
    const response = await send(path, { method, body, signal: either });
    try {
      return await response.json();
    } catch (err) {
      if (err instanceof SyntaxError) throw failure("not_a_shim", base, response.status);
      throw asShimError(err, either);
    }
  }

  /**
   * The events of one answer, to its end, or until it is silent for too long.
   * @param {string} path
   * @param {Parameters<typeof send>[1]} options
   * @param {AbortSignal} [signal]
   * @param {(response: Response) => void} [opened] called when the answer begins
   * @returns {AsyncGenerator<Numbered, void, void>}
   */
  async function* stream(path, options, signal, opened = () => {}) {
    const silent = new AbortController();
    const either = signal ? AbortSignal.any([signal, silent.signal]) : silent.signal;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let watch;
    const alive = () => {
      clearTimeout(watch);
      watch = setTimeout(() => silent.abort(failure("silent", base)), silence);
    };
    try {
      alive();
      const response = await send(path, { ...options, signal: either });
      if (!response.body || !response.headers.get("Content-Type")?.startsWith("text/event-stream")) throw failure("not_a_shim", base, response.status);
      opened(response);
      for await (const frame of frames(response.body, alive)) {
        const event = decode(frame.data);
        if (event) yield { id: frame.id, event };
      }
    } catch (err) {
      throw asShimError(err, either);
    } finally {
      clearTimeout(watch);
    }
  }

  /**
   * Follows a run to its done, over as many connections as that takes.
   * @param {string} runId
   * @param {number} after the last event the caller has
   * @param {StreamOptions} options
   * @returns {AsyncGenerator<Numbered, void, void>}
   */
  async function* follow(runId, after, { signal, onLive = () => {} } = {}) {
    for (let attempt = 0; ; attempt++) {
      try {
        const headers = { "Last-Event-ID": String(after) };
        let live = false;
        for await (const numbered of stream(`/runs/${encodeURIComponent(runId)}/events`, { headers }, signal)) {
          if (!live) onLive(live = true);
          attempt = 0;
          if (numbered.id <= after) continue;
          after = numbered.id;
          yield numbered;
          if (numbered.event.type === "done") return;
        }
      } catch (err) {
        if (signal?.aborted || !isPassing(err)) throw err;
      }
      onLive(false);
      await pause(waits[Math.min(attempt, waits.length - 1)], signal);
    }
  }

  /**
   * Starts a run and follows it. What is refused before the stream begins is
   * thrown; a connection that breaks later is made again.
   * @param {DesignBody} body
   * @param {StreamOptions} options
   * @returns {AsyncGenerator<Numbered, void, void>}
   */
  async function* design(body, { signal, onLive = () => {}, onRun = () => {} } = {}) {
    let after = 0;
    let runId = "";
    const opened = (/** @type {Response} */ response) => {
      runId = /(?:^|\/)runs\/([\w-]+)\/events$/.exec(response.headers.get("Content-Location") ?? "")?.[1] ?? "";
      if (runId) onRun(runId);
    };
    try {
      for await (const numbered of stream("/design", { method: "POST", body }, signal, opened)) {
        after = numbered.id;
        yield numbered;
        if (numbered.event.type === "done") return;
      }
    } catch (err) {
      if (signal?.aborted || !isPassing(err) || !runId) throw err;
    }
    if (!runId) throw failure("not_a_shim", base, 200);
    onLive(false);
    yield* follow(runId, after, { signal, onLive });
  }

  const run = (/** @type {string} */ id) => `/runs/${encodeURIComponent(id)}`;
  return {
    url: base,
    /** Whether a shim is there; needs no token. */
    async health() {
      const answer = await call("/health", { within: patience.health });
      if (answer?.ok !== true) throw failure("not_a_shim", base, 200);
      return true;
    },
    /**
     * @param {{only?: string, refresh?: boolean, signal?: AbortSignal}} [options]
     * @returns {Promise<Meta>}
     */
    async meta({ only, refresh, signal } = {}) {
      const meta = readMeta(await call("/meta" + query({ only, refresh: refresh ? "1" : undefined }), { signal, within: patience.meta }));
      if (!meta) throw failure("not_a_shim", base, 200);
      return meta;
    },
    design,
    follow,
    /** @param {string} id @returns {Promise<{id: string, state: string}>} */
    stop: (id) => call(run(id) + "/stop", { method: "POST" }),
    /** @param {string} id @returns {Promise<Undone>} */
    undo: (id) => call(run(id) + "/undo", { method: "POST" }),
    /** Makes the commits of these runs one. @param {string[]} ids @returns {Promise<Squashed>} */
    squash: (ids) => call("/runs/squash", { method: "POST", body: { runs: ids } }),
    /** Makes one commit of the changes of these runs. @param {string[]} ids @returns {Promise<Committed>} */
    commit: (ids) => call("/runs/commit", { method: "POST", body: { runs: ids } }),
    /** @param {{signal?: AbortSignal}} [options] @returns {Promise<RunSummary[]>} */
    runs: async ({ signal } = {}) => (await call("/runs", { signal })).runs,
    /** @param {string} id @param {string} [path] @returns {Promise<Diff>} */
    diff: (id, path) => call(run(id) + "/diff" + query({ path })),
    /** @param {string} provider @param {{signal?: AbortSignal}} [options] @returns {Promise<Session[]>} */
    history: async (provider, { signal } = {}) => (await call("/history" + query({ provider }), { signal })).sessions,
    /**
     * @param {string} provider
     * @param {string} id
     * @param {{limit?: number, before?: string, after?: string, signal?: AbortSignal}} [page]
     * @returns {Promise<SessionPage>}
     */
    session: (provider, id, { limit, before, after, signal } = {}) =>
      call(`/history/${encodeURIComponent(id)}` + query({ provider, limit: limit?.toString(), before, after }), { signal }),
    /** @param {DesignBody} body @returns {Promise<Preview>} */
    preview: (body) => call("/prompt/preview", { method: "POST", body }),
  };
}

/**
 * Whether to try again: nothing answered, or it was too busy to.
 * @param {unknown} err
 */
function isPassing(err) {
  return err instanceof ShimError && (err.status === 0 || err.code === "too_many_streams" || err.status === 502 || err.status === 504);
}

/**
 * @param {string} data
 * @returns {WireEvent | null} null: nothing that could be an event
 */
function decode(data) {
  try {
    const event = JSON.parse(data);
    return typeof event?.type === "string" ? event : null;
  } catch {
    return null;
  }
}

/**
 * @param {Record<string, string | undefined>} params
 * @returns {string}
 */
function query(params) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value) search.set(name, value);
  const text = search.toString();
  return text && "?" + text;
}

/**
 * @param {number} ms
 * @param {AbortSignal} [signal]
 * @returns {Promise<void>}
 */
function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    }, { once: true });
  });
}

/** The shim's errors as a sentence. @param {string} text */
function sentence(text) {
  const trimmed = text.trim();
  const upper = trimmed.charAt(0).toUpperCase() + trimmed.slice(1);
  return /[.!?…]$/.test(upper) ? upper : upper + ".";
}
