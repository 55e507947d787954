// Runs in: service worker. What the page's framework knows of an element:
// asked in the page's own world, where the frameworks keep it, and there
// nothing is left behind. Places in built code are led back to the source
// here, so that the page sees no request.

/** @typedef {{tabId: number, frameId: number, path: SwPath}} Where */

/**
 * @param {Where} _where
 * @returns {Promise<Record<string, unknown> | null>} what to add to the capture
 */
export async function componentOf(_where) {
  return null;
}

/** @param {Where} _where @returns {Promise<string>} */
export async function componentName(_where) {
  return "";
}
