// Runs in: worker, options, confirm page. The user's leave to work on an origin beyond
// loopback, and to notify. Chrome asks for it only in a click: call this before any await.

import { isLoopback, save, saveOrigin } from "./settings.js";

/**
 * The origin as a permission: of a host on all its ports.
 * @param {string} origin
 */
export function permissionOf(origin) {
  const { protocol, hostname } = new URL(origin);
  return `${protocol}//${hostname}/*`;
}

/**
 * Asks, and turns the origin on when the answer is yes.
 * @param {string} origin
 * @returns {Promise<boolean>}
 */
export async function allowOrigin(origin) {
  const allowed = isLoopback(origin) || (await chrome.permissions.request({ origins: [permissionOf(origin)] }));
  if (allowed) await saveOrigin(origin, { enabled: true });
  return allowed;
}

/** Asks, and turns notifications on when the answer is yes. */
export async function allowNotices() {
  const allowed = await chrome.permissions.request({ permissions: ["notifications"] });
  if (!allowed) throw new Error("Chrome did not allow notifications. Switch it on again, and choose Allow.");
  await save({ global: { notify: true } });
}

/** Turns them off, and gives the permission back. */
export async function forgoNotices() {
  await save({ global: { notify: false } });
  await chrome.permissions.remove({ permissions: ["notifications"] });
}
