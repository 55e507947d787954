// Runs in: side panel. Tool calls as sentences: "Edited Button.css", "Ran npm
// test", "Read 3 files". Pure. Tool names are those of the three agents.

/** @typedef {import("./store.js").Step} Step */

/** A sentence in pieces: `code` is set as code, `tight` follows without a space. @typedef {{text: string, code?: boolean, tight?: boolean}} Piece */

/**
 * What a call does: `did`, `doing` and, where it failed, `not`, with its detail
 * behind, and how several of them are counted.
 * @typedef {object} Verb
 * @property {string} did
 * @property {string} doing
 * @property {string} [not] a command that failed did run
 * @property {[string, string]} things one, many
 * @property {boolean} [path] the detail is a path: its name is enough
 */

/** @type {Record<string, Verb>} */
const verbs = {
  edit: { did: "Edited", doing: "Editing", not: "Could not edit", things: ["file", "files"], path: true },
  write: { did: "Wrote", doing: "Writing", not: "Could not write", things: ["file", "files"], path: true },
  read: { did: "Read", doing: "Reading", not: "Could not read", things: ["file", "files"], path: true },
  look: { did: "Looked at", doing: "Looking at", not: "Could not look at", things: ["picture", "pictures"], path: true },
  list: { did: "Listed", doing: "Listing", not: "Could not list", things: ["folder", "folders"] },
  search: { did: "Searched for", doing: "Searching for", not: "Could not search for", things: ["pattern", "patterns"] },
  run: { did: "Ran", doing: "Running", things: ["command", "commands"] },
  web: { did: "Looked up", doing: "Looking up", not: "Could not look up", things: ["page", "pages"] },
  agent: { did: "Asked a helper", doing: "Asking a helper", things: ["helper", "helpers"] },
  plan: { did: "Updated the plan", doing: "Updating the plan", things: ["plan", "plans"] },
  other: { did: "Used", doing: "Using", things: ["tool", "tools"] },
};

/** Which verb a tool is, by its name in lower case. @type {Record<string, string>} */
const tools = {
  read: "read", read_file: "read", view: "read", view_image: "look", notebookread: "read",
  edit: "edit", multiedit: "edit", notebookedit: "edit", apply_patch: "edit", patch: "edit", file_change: "edit", str_replace: "edit", str_replace_editor: "edit",
  write: "write", write_file: "write", create_file: "write",
  bash: "run", shell: "run", exec: "run", exec_command: "run", command_execution: "run", run_terminal_cmd: "run", run_terminal_command: "run", bashoutput: "run", terminal: "run",
  grep: "search", glob: "search", search: "search", file_search: "search", ls: "list", list_dir: "list",
  webfetch: "web", websearch: "web", web_search: "web",
  task: "agent", agent: "agent", spawn_agent: "agent", spawn_subagent: "agent",
  todowrite: "plan", update_plan: "plan", todo_list: "plan", todo_write: "plan",
};

/** @param {Step} step */
function verbName(step) {
  const name = tools[step.tool.toLowerCase()];
  return step.edit ? (name === "write" ? name : "edit") : (name ?? "other");
}

/**
 * One call. `doing`: it is not finished.
 * @param {Step} step
 * @param {boolean} [doing]
 * @returns {Piece[]}
 */
export function sentence(step, doing = false) {
  const name = verbName(step);
  const verb = verbs[name];
  const words = doing ? verb.doing : (step.result?.isError && verb.not) || verb.did;
  if (name === "plan") return [{ text: words }];
  if (name === "agent") return step.detail ? [{ text: words + ":" }, { text: firstLine(step.detail) }] : [{ text: words }];
  if (name === "other") return step.detail ? [{ text: words }, { text: step.tool, code: true }, { text: firstLine(step.detail) }] : [{ text: words }, { text: step.tool, code: true }];
  if (!step.detail) return [{ text: `${words} ${name === "run" ? "a command" : "a " + verb.things[0]}` }];
  return [{ text: words }, { text: verb.path ? baseName(step.detail) : firstLine(step.detail), code: true }];
}

/**
 * Several calls as one sentence: same ones are counted, in the order in which
 * each kind came first. "Read 3 files, edited Button.css, ran 2 commands".
 * @param {Step[]} steps
 * @returns {Piece[]}
 */
export function summary(steps) {
  if (steps.length === 1) return sentence(steps[0]);
  /** @type {Map<string, Step[]>} */
  const kinds = new Map();
  for (const step of steps) {
    const name = verbName(step);
    const same = kinds.get(name);
    if (same) same.push(step);
    else kinds.set(name, [step]);
  }
  /** @type {Piece[]} */
  const pieces = [];
  for (const [name, same] of kinds) {
    if (pieces.length > 0) pieces.push({ text: ",", tight: true });
    const verb = verbs[name];
    const distinct = verb.path ? new Set(same.map((step) => step.detail)).size : same.length;
    const part = distinct === 1 || name === "plan" ? sentence(/** @type {Step} */ (same.at(-1))) : [{ text: name === "agent" ? `Asked ${distinct} helpers` : `${verb.did} ${distinct} ${verb.things[1]}` }];
    if (pieces.length > 0) part[0] = { ...part[0], text: lower(part[0].text) };
    pieces.push(...part);
  }
  return pieces;
}

/** A sentence as plain text. @param {Piece[]} pieces */
export const plain = (pieces) => pieces.map((piece, i) => (i === 0 || piece.tight ? "" : " ") + piece.text).join("");

/** @param {string} path */
function baseName(path) {
  const trimmed = path.replace(/\/+$/, "");
  return trimmed.slice(trimmed.lastIndexOf("/") + 1) || path;
}

/** @param {string} text */
function firstLine(text) {
  const line = text.trim().split("\n", 1)[0];
  return line.length < text.trim().length ? line + " …" : line;
}

/** @param {string} text */
const lower = (text) => text.charAt(0).toLowerCase() + text.slice(1);
