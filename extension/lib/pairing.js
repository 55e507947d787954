// Runs in: worker, confirm page. Pairing: what a page offered, asking its shim
// for the token, and what that means for the settings.

import { isLoopback, originKey } from "./settings.js";
import { startCommand } from "./shim.js";

/**
 * A code, and where it came from.
 * @typedef {{code: string, origin: string, shimUrl: string, tabId: number}} Offer
 */

/** What a shim gives for a code. @typedef {{token: string, origins: string[], project: string}} Grant */

/** An offer that the user is asked about, and the tab with the question. @typedef {Offer & {id: string, confirmTab: number}} PairRequest */

const requestKey = "pairing";

/**
 * The offer in a message of a content script, or null where the page is none
 * of a shim: its address must end in /pair.
 * @param {import("./messages.js").Pair} message
 * @param {chrome.runtime.MessageSender} sender
 * @returns {Offer | null}
 */
export function readOffer({ code, origin }, sender) {
  const tabId = sender.tab?.id;
  if (tabId === undefined || sender.frameId !== 0 || !/^[A-Za-z0-9_-]{16,128}$/.test(code)) return null;
  const url = new URL(sender.url ?? "about:blank");
  // The page's own word on its origin must be the browser's.
  if (originKey(url.href) !== origin || !url.pathname.endsWith("/pair")) return null;
  return { code, origin, shimUrl: origin + url.pathname.slice(0, -"/pair".length), tabId };
}

/** Pairing failed; fix is what to do about it. */
export class PairError extends Error {
  /**
   * @param {"refused" | "unreachable" | "unexpected"} code
   * @param {string} message
   * @param {string} fix a command, or ""
   */
  constructor(code, message, fix) {
    super(message);
    this.code = code;
    this.fix = fix;
  }
}

/**
 * Hands the code in. It can be done once.
 * @param {Offer} offer
 * @returns {Promise<Grant>}
 */
export async function redeem({ code, shimUrl }) {
  let response;
  try {
    response = await fetch(shimUrl + "/pair", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ code }),
      credentials: "omit",
      redirect: "error",
      signal: AbortSignal.timeout(10_000),
    });
  } catch {
    throw new PairError("unreachable", `Nothing answers at ${shimUrl}. Slide Write has stopped there, or another program has taken the port.`, startCommand(shimUrl));
  }
  /** @type {unknown} */
  const body = await response.json().catch(() => null);
  return readGrant(response.status, body, shimUrl);
}

/**
 * What the shim answered.
 * @param {number} status
 * @param {unknown} body
 * @param {string} shimUrl
 * @returns {Grant}
 */
export function readGrant(status, body, shimUrl) {
  const b = /** @type {Record<string, unknown>} */ (typeof body === "object" && body !== null ? body : {});
  if (status === 403) {
    const reason = typeof b.error === "string" && b.error !== "" ? b.error : "the link was used before, or is older than ten minutes";
    throw new PairError("refused", `The shim refused this link: ${reason}.`, typeof b.fix === "string" && b.fix !== "" ? b.fix : "slidewrite pair");
  }
  if (status !== 200 || typeof b.token !== "string" || b.token === "") {
    throw new PairError("unexpected", `${shimUrl} answered as no Slide Write shim does (HTTP ${status}).`, "slidewrite doctor");
  }
  const origins = Array.isArray(b.origins) ? b.origins.filter((o) => typeof o === "string").map((o) => originKey(o)) : [];
  return {
    token: b.token,
    origins: [...new Set(origins.filter((o) => o !== null))],
    project: typeof b.project === "string" ? b.project : "",
  };
}

/**
 * What a grant changes. The origins that the shim names are set up; those that
 * already use this project at this address get its new token, those that have
 * its token its new address. Those of another project stay as they are:
 * projects take turns on a port. A page beyond loopback is off until the user
 * allows it. With no origin at all the shim is kept for the next tab.
 * @param {import("./settings.js").Settings} settings
 * @param {Offer} offer
 * @param {Grant} grant
 * @returns {{origins: {[origin: string]: Partial<import("./settings.js").OriginSettings>}, ready: string[], toAllow: string[], keep: boolean}}
 */
export function planGrant(settings, { shimUrl }, { token, origins, project }) {
  const using = Object.keys(settings.origins).filter((o) => {
    const site = settings.origins[o];
    return site.token === token || (site.shimUrl === shimUrl && site.token !== "" && (site.project === project || site.project === ""));
  });
  /** @type {{[origin: string]: Partial<import("./settings.js").OriginSettings>}} */
  const patch = {};
  for (const origin of using) patch[origin] = { shimUrl, token, project };
  for (const origin of origins) {
    const on = isLoopback(origin) || settings.origins[origin]?.enabled === true;
    patch[origin] = { shimUrl, token, project, enabled: on };
  }
  const toAllow = origins.filter((o) => !patch[o].enabled);
  const ready = Object.keys(patch).filter((o) => patch[o].enabled ?? settings.origins[o].enabled);
  return { origins: patch, ready, toAllow, keep: origins.length === 0 && using.length === 0 };
}

/**
 * Tells the page that offered the code. It may be gone.
 * @param {number} tabId
 * @param {import("./messages.js").Paired["outcome"]} outcome
 */
export async function pairOutcome(tabId, outcome) {
  /** @type {import("./messages.js").Paired} */
  const message = { type: "sw-paired", outcome };
  await chrome.tabs.sendMessage(tabId, message).catch(() => {});
}

/**
 * The offer that is asked about, if any. It outlives the worker, not the browser.
 * @returns {Promise<PairRequest | null>}
 */
export async function loadRequest() {
  const stored = await chrome.storage.session.get(requestKey);
  return /** @type {PairRequest | undefined} */ (stored[requestKey]) ?? null;
}

/** @param {PairRequest} request */
export const saveRequest = (request) => chrome.storage.session.set({ [requestKey]: request });

export const clearRequest = () => chrome.storage.session.remove(requestKey);
