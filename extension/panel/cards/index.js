// Runs in: side panel. One renderer per kind of item, in one table.
//
// A renderer makes a view: a node, and `update`, which is called with the item
// whenever that has changed, and with what surrounds it. It returns true when it
// has not drawn all of the item: it is called again in the next frame.

import { changeCard } from "./change.js";
import { errorCard } from "./error.js";
import { stepsCard } from "./steps.js";
import { textCard } from "./text.js";
import { thinkingCard } from "./thinking.js";
import { userCard } from "./user.js";
import { dividerLine, imageLine, noteLine, statsLine, stoppedLine } from "./lines.js";

/** @typedef {import("../store.js").Item} Item */
/** @typedef {import("../store.js").UserItem} UserItem */
/** @typedef {import("../store.js").ErrorItem} ErrorItem */
/** @typedef {import("../inline.js").Links} Links */
/** @typedef {import("../../lib/shim.js").Diff} Diff */

/**
 * What a card can ask of the panel.
 * @typedef {object} Desk
 * @property {Links} links
 * @property {(text: string) => void} copy
 * @property {(target: import("../elements.js").Target | null) => void} highlight outlines an element in the page
 * @property {(path: string, line: number) => string} editorAddress "" when a file cannot be opened
 * @property {(runId: string, path?: string) => Promise<Diff>} diff
 * @property {(runId: string) => void} undo
 * @property {(runId: string, by: string) => void} redo undoes the undo
 * @property {() => void} retry
 * @property {() => void} goOn continues after the limit of turns
 * @property {(item: UserItem) => void} editAgain
 * @property {() => void} queueLast
 * @property {(item: ErrorItem) => void} openBusy
 * @property {() => void} checkAgain
 */

/**
 * @typedef {object} Around
 * @property {boolean} live this is the last item and the run goes on
 * @property {boolean} last it is the last of its kind
 * @property {boolean} idle nothing runs
 * @property {boolean} details raw calls are shown
 * @property {{left: number}} budget characters that may still be drawn in this frame
 */

/**
 * @template {Item} I
 * @typedef {{node: HTMLElement, update: (item: I, around: Around) => void | boolean}} View
 */

/** @type {{[K in Item["kind"]]: (desk: Desk) => View<any>}} */
export const cards = {
  user: userCard,
  text: textCard,
  thinking: thinkingCard,
  steps: stepsCard,
  change: changeCard,
  error: errorCard,
  note: noteLine,
  stopped: stoppedLine,
  stats: statsLine,
  image: imageLine,
  divider: dividerLine,
};
