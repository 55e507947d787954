// Runs in: side panel. What a run changed: files with their lines, the diff of
// each on demand, the commit, and the way back.

import { button, el, fill, icon } from "../../lib/dom.js";
import { pathParts, plural } from "../../lib/format.js";
import { diffView } from "../diff.js";
import { fixLine } from "../fix.js";

/** @typedef {import("../store.js").ChangeItem} ChangeItem */
/** @typedef {import("../../lib/events.js").ChangedFile} ChangedFile */
/** @typedef {import("./index.js").Desk} Desk */

/** So many files are listed at once. */
const most = 50;

let ids = 0;

/** @param {Desk} desk @returns {import("./index.js").View<ChangeItem>} */
export function changeCard(desk) {
  const title = el("div", { class: "card-title" });
  const list = el("ul", { class: "files" });
  const settled = el("div", { class: "settled" });
  const row = el("div", { class: "row" });
  const node = el("div", { class: "card change", role: "group", "aria-label": "What changed" }, title, list, settled, row);
  /** @type {ChangeItem | undefined} */
  let item;
  /** @type {ChangedFile[] | undefined} */
  let files;
  let busy = false;

  /** @param {number} upTo */
  function drawFiles(upTo) {
    const now = /** @type {ChangeItem} */ (item);
    fill(list, now.files.slice(0, upTo).map((file) => fileRow(desk, now.runId, file)),
      now.files.length > upTo && el("li", null, button({ label: `Show ${now.files.length - upTo} more`, class: "link more" }, () => drawFiles(now.files.length))));
  }

  async function copyDiff() {
    const { runId } = /** @type {ChangeItem} */ (item);
    desk.copy((await desk.diff(runId)).diff);
  }

  return {
    node,
    update(now, { idle }) {
      if (now === item && busy === !idle) return;
      item = now;
      busy = !idle;
      fill(title, icon("file"), el("h3", null, now.files.length > 0 ? `Changed ${plural(now.files.length, "file")}` : "Changed files"), counts(now));
      if (now.files !== files) {
        files = now.files;
        drawFiles(most);
      }
      fill(settled, undoView(now, desk) ?? [commitLine(now), problem(now, desk)]);
      const first = now.files.find((file) => file.status !== "deleted");
      const address = first && desk.editorAddress(first.path, 1);
      const taken = now.undo?.state === "undone";
      fill(row,
        now.runId && !taken && !now.settled && button({ label: "Undo", icon: "undo", text: true, class: "button", data: { sw: "undo" }, disabled: busy, title: busy ? "After the run that is going on" : "Take this change back" }, () => desk.undo(now.runId)),
        taken && now.undo?.by && button({ label: "Redo", icon: "redo", text: true, class: "button", data: { sw: "redo" }, disabled: busy }, () => desk.redo(now.runId, now.undo?.by ?? "")),
        now.runId && button({ label: "Copy diff", icon: "copy", text: true, class: "button quiet" }, () => void copyDiff()),
        address && el("a", { class: "button quiet", href: address }, icon("external"), el("span", null, "Open")));
      row.hidden = !row.hasChildNodes();
    },
  };
}

/** @param {{added: number, removed: number}} lines */
function counts({ added, removed }) {
  if (!added && !removed) return null;
  return el("span", { class: "counts" },
    el("span", { class: "added" }, `+${added}`), el("span", { class: "removed" }, `−${removed}`),
    el("span", { class: "visually-hidden" }, `${plural(added, "line")} added, ${removed} removed`));
}

/** Words beside a file. @type {Record<string, string>} */
const statuses = { added: "new", deleted: "deleted", typechange: "type" };

/**
 * @param {Desk} desk
 * @param {string} runId
 * @param {ChangedFile} file
 */
function fileRow(desk, runId, file) {
  const id = `file-${++ids}`;
  const { folder, name } = pathParts(file.path);
  const tags = [statuses[file.status], file.binary && "binary"].filter(Boolean);
  const words = [
    el("span", { class: "path", dir: "ltr", title: file.path }, folder && el("span", { class: "folder" }, folder), el("span", { class: "name" }, name)),
    ...tags.map((tag) => el("span", { class: "tag" }, tag || "")),
    file.yours && el("span", { class: "tag", title: "You edited this file while the run was on: it is left out of commit and undo" }, "yours"),
    !file.binary && counts(file),
  ];
  if (!runId) return el("li", null, el("div", { class: "file-head" }, words));
  const body = el("div", { id, class: "file-body", hidden: true });
  const head = button({ label: "", class: "file-head", "aria-expanded": "false", "aria-controls": id }, () => {
    body.hidden = !body.hidden;
    head.setAttribute("aria-expanded", String(!body.hidden));
    if (!body.hidden && !body.hasChildNodes()) void load();
  });
  fill(head, icon("chevron"), words);

  async function load() {
    fill(body, el("p", { class: "muted", role: "status" }, "Loading the diff…"));
    try {
      const { diff } = await desk.diff(runId, file.path);
      fill(body, diffView(diff, file.path, desk));
    } catch (err) {
      const { message, fix } = /** @type {{message: string, fix?: string}} */ (err);
      fill(body, el("p", { class: "danger-text" }, message), fixLine(fix ?? "", desk.copy),
        button({ label: "Try again", class: "button" }, () => void load()));
    }
  }
  return el("li", null, head, body);
}

/** @param {ChangeItem} item */
function commitLine({ commit, commitError, files }) {
  if (commit) {
    return el("p", { class: "commit" }, icon("commit"),
      el("span", null, "Committed as ", el("code", null, commit.sha), commit.count !== files.length && files.length > 0 ? ` (${plural(commit.count, "file")}) ` : " ",
        commit.hooksSkipped && el("span", { class: "tag", title: "The repository's commit hooks were not run; slidewrite --commit-verify runs them" }, "hooks skipped")));
  }
  return commitError ? null : el("p", { class: "commit waits" }, icon("commit"), "Not committed");
}

/** @param {ChangeItem} item @param {Desk} desk */
function problem({ commitError }, desk) {
  if (!commitError) return null;
  return el("div", { class: "notice warn" }, el("p", { dir: "auto" }, `Not committed: ${commitError.message}`), fixLine(commitError.fix, desk.copy));
}

/** @param {ChangeItem} item @param {Desk} desk */
function undoView({ undo }, desk) {
  if (!undo) return null;
  if (undo.state === "undone") {
    return el("div", { class: "notice ok" }, el("p", null, undo.sha ? ["Taken back, committed as ", el("code", null, undo.sha)] : "Taken back"),
      undo.message && el("p", { dir: "auto" }, undo.message));
  }
  return el("div", { class: "notice warn", role: "alert" }, el("p", { dir: "auto" }, undo.message),
    undo.files.length > 0 && el("ul", { class: "in-the-way" }, undo.files.slice(0, 20).map((path) => el("li", null, el("code", null, path)))),
    fixLine(undo.fix, desk.copy));
}
