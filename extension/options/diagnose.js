// Runs in: options page. Talks to: the shim (health, meta). What "Test
// connection" finds, as sentences, each with what to do about it.

import { connect, ShimError } from "../lib/shim.js";
import { compareVersions } from "../lib/version.js";

/** @typedef {import("../lib/shim.js").Meta} Meta */
/** @typedef {import("../lib/shim.js").Provider} Provider */

/**
 * @typedef {object} Finding
 * @property {"ok" | "info" | "warn" | "danger"} level info: nothing to be done about it
 * @property {string} title
 * @property {string} text
 * @property {string} [fix] a command, words, or both
 * @property {boolean} [reload] reloading the extension cures it, after the command
 */

/** @typedef {{findings: Finding[], meta: Meta | null}} Diagnosis */

/**
 * Asks the shim, step by step; the first that fails ends it.
 * @param {{shimUrl: string, token: string, provider?: string}} where provider: of this site
 * @param {string} version of this extension
 * @returns {Promise<Diagnosis>}
 */
export async function diagnose(where, version) {
  const shim = connect(where);
  /** @type {Finding[]} */
  const findings = [];
  try {
    await shim.health();
    findings.push({ level: "ok", title: "Shim", text: `Answers at ${where.shimUrl}.` });
    if (where.token === "") {
      findings.push({ level: "danger", title: "Token", text: "This site is not paired. Get a link and open it:", fix: "slidewrite pair" });
      return { findings, meta: null };
    }
    const meta = await shim.meta({ refresh: true });
    findings.push({ level: "ok", title: "Token", text: "Accepted." }, ...readMeta(meta, version, where.provider));
    return { findings, meta };
  } catch (err) {
    findings.push(failure(err));
    return { findings, meta: null };
  }
}

/**
 * @param {unknown} err
 * @returns {Finding}
 */
export function failure(err) {
  const title = err instanceof ShimError && err.code === "unauthorized" ? "Token" : "Shim";
  return { level: "danger", title, text: err instanceof Error ? err.message : String(err), fix: err instanceof ShimError ? err.fix : "" };
}

/**
 * One agent is enough: trouble with one that this site does not use is no
 * trouble, and one that the shim does not offer is not told of.
 * @param {Meta} meta
 * @param {string} version of this extension
 * @param {string} [used] the site's provider
 * @returns {Finding[]}
 */
export function readMeta(meta, version, used) {
  const agents = meta.providers.filter((p) => p.enabled || p.error || p.fix || p.pending).map((p) => {
    const found = provider(p);
    return found.level === "warn" && p.id !== (used || meta.defaultProvider) ? { ...found, level: /** @type {const} */ ("info") } : found;
  });
  return [project(meta), versions(meta.version, version), ...agents];
}

/** @param {Meta} meta @returns {Finding} */
function project({ project, repoDir, branch, dirty, git }) {
  const parts = [project, branch, dirty ? "uncommitted changes" : ""].filter((p) => p !== "");
  const place = `${parts.join(" · ")}, in ${repoDir}.`;
  if (git.state === "ok") return { level: "ok", title: "Project", text: place };
  return { level: "warn", title: "Project", text: `${place} ${git.detail || `Git is in the state “${git.state}”.`}`, fix: git.fix };
}

/**
 * @param {string} shim
 * @param {string} extension
 * @returns {Finding}
 */
function versions(shim, extension) {
  const order = compareVersions(extension, shim);
  if (order < 0) {
    return {
      level: "warn", title: "Version", reload: true, fix: "slidewrite extension",
      text: `This extension is ${extension}, the shim is newer: ${shim}. Write the new one out, then reload the extension here.`,
    };
  }
  if (order > 0) {
    return { level: "warn", title: "Version", text: `This extension is ${extension}, the shim is older: ${shim}. Stop it, update slidewrite, start it again.` };
  }
  if (shim === "") return { level: "info", title: "Version", text: `The extension is ${extension}. This shim tells none.` };
  return { level: "ok", title: "Version", text: extension === shim ? `Shim and extension are ${shim}.` : `The shim is ${shim}, the extension ${extension}.` };
}

/** @param {Provider} p @returns {Finding} */
function provider(p) {
  if (p.error) return { level: "warn", title: p.label, text: sentence(p.error), fix: p.fix };
  if (p.pending) return { level: "warn", title: p.label, text: "Has not answered yet. Test again in a moment." };
  if (!p.enabled) return { level: "warn", title: p.label, text: "Not ready.", fix: p.fix };
  const paid = { "": "", plan: "signed in with a plan" }[p.billing ?? ""] ?? p.billing ?? "";
  const parts = [paid, p.models.length === 1 ? "1 model" : p.models.length > 1 ? `${p.models.length} models` : ""].filter((s) => s !== "");
  return { level: "ok", title: p.label, text: parts.length > 0 ? sentence(parts.join(", ")) : "Ready." };
}

/** @param {string} s */
const sentence = (s) => s.charAt(0).toUpperCase() + s.slice(1) + (/[.!?…]$/.test(s) ? "" : ".");
