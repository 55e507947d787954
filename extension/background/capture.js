// Runs in: service worker. Pictures of picked elements: the visible tab, cut
// to the element. Chrome takes two pictures of tabs a second; they wait for
// each other.

import { forOrigin, load, originKey } from "../lib/settings.js";

/** In ms, between two pictures. */
const apart = 550;
/** In pixels, of the longer edge. */
const edge = { sent: 1_024, thumb: 96 };

/**
 * Where an element is in the window, in CSS pixels, and how the window is
 * looked at: its width, the device pixels of a CSS pixel, and scale and corner
 * of what pinching shows of it.
 * @typedef {{box: {x: number, y: number, w: number, h: number}, width: number, dpr: number, scale: number, x: number, y: number}} Place
 */
/** @typedef {{dataUrl: string, width: number, height: number, thumb: string}} Picture */

/**
 * Whether the user lets pictures be taken of this tab's site.
 * @param {number} tabId
 */
export async function picturesWanted(tabId) {
  const origin = originKey((await chrome.tabs.get(tabId)).url);
  return origin !== null && forOrigin(await load(), origin).screenshots;
}

/** The one before; the worker lives on while it is waited for. @type {Promise<unknown>} */
let last = Promise.resolve();
let lastAt = -Infinity;

/**
 * @param {number} tabId
 * @param {{place: () => Promise<Place | null>, done: () => Promise<unknown>}} page
 * @returns {Promise<Picture | null>} null: it cannot be seen now
 */
export function picture(tabId, page) {
  const taken = last.then(() => take(tabId, page));
  last = taken.catch(() => {});
  return taken;
}

/** @param {number} tabId @param {Parameters<typeof picture>[1]} page */
async function take(tabId, page) {
  const wait = lastAt + apart - Date.now();
  if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
  const tab = await chrome.tabs.get(tabId);
  if (!tab.active) return null;
  let place;
  let shot = "";
  try {
    place = await page.place();
    if (!place) return null;
    lastAt = Date.now();
    shot = await chrome.tabs.captureVisibleTab(tab.windowId, { format: "png" });
  } finally {
    await page.done().catch(() => {});
  }
  const bitmap = await createImageBitmap(await (await fetch(shot)).blob());
  try {
    return await cropped(bitmap, cropOf(place, bitmap));
  } finally {
    bitmap.close();
  }
}

/**
 * A place in the pixels of a picture. How many of them a CSS pixel has, the
 * page says; a picture of another size knows better, but the window's width
 * is a whole number.
 * @param {Place} place
 * @param {{width: number, height: number}} image
 */
export function cropOf({ box, width, dpr, scale, x, y }, image) {
  const measured = image.width / width;
  const ratio = scale * (Math.abs(measured / dpr - 1) < 0.02 ? dpr : measured);
  const left = Math.max(0, Math.floor((box.x - x) * ratio));
  const top = Math.max(0, Math.floor((box.y - y) * ratio));
  const right = Math.min(image.width, Math.ceil((box.x - x + box.w) * ratio));
  const bottom = Math.min(image.height, Math.ceil((box.y - y + box.h) * ratio));
  return { left, top, width: Math.max(0, right - left), height: Math.max(0, bottom - top) };
}

/**
 * @param {ImageBitmap} bitmap
 * @param {ReturnType<typeof cropOf>} crop
 * @returns {Promise<Picture | null>}
 */
export async function cropped(bitmap, crop) {
  if (crop.width < 1 || crop.height < 1) return null;
  const { canvas, width, height } = drawn(bitmap, crop, edge.sent);
  const [png, webp] = await Promise.all(["image/png", "image/webp"].map((type) => canvas.convertToBlob({ type, quality: 0.9 })));
  const thumb = await drawn(bitmap, startOf(crop), edge.thumb).canvas.convertToBlob({ type: "image/webp", quality: 0.8 });
  return { dataUrl: await dataUrl(webp.type === "image/webp" && webp.size < png.size ? webp : png), width, height, thumb: await dataUrl(thumb) };
}

/**
 * The square that something begins with: a small picture of all of a bar, or of
 * a column, shows nothing.
 * @param {ReturnType<typeof cropOf>} crop
 */
export function startOf({ left, top, width, height }) {
  const side = Math.min(width, height);
  return { left, top, width: side, height: side };
}

/** @param {ImageBitmap} bitmap @param {ReturnType<typeof cropOf>} crop @param {number} most of the longer edge */
function drawn(bitmap, crop, most) {
  const scale = Math.min(1, most / Math.max(crop.width, crop.height));
  const width = Math.max(1, Math.round(crop.width * scale));
  const height = Math.max(1, Math.round(crop.height * scale));
  const canvas = new OffscreenCanvas(width, height);
  const context = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.imageSmoothingQuality = "high";
  context.drawImage(bitmap, crop.left, crop.top, crop.width, crop.height, 0, 0, width, height);
  return { canvas, width, height };
}

/** @param {Blob} blob @returns {Promise<string>} */
function dataUrl(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}
