// Runs in: side panel. Pasted pictures, made small enough to send: the longer
// edge at most 1,024 pixels, PNG, or WebP where that is smaller.

/** In pixels. */
const edge = { sent: 1_024, thumb: 96 };

/**
 * The pictures of a paste; text in it is left to the field.
 * @param {DataTransfer | null} data
 * @returns {File[]}
 */
export function picturesOf(data) {
  if (!data || data.types.includes("text/plain")) return [];
  return [...data.files].filter((file) => /^image\/(png|jpeg|webp|gif|avif|bmp)$/.test(file.type));
}

/**
 * @param {Blob} file
 * @returns {Promise<{capture: import("./chips.js").Capture, thumb: string}>}
 */
export async function pastedCapture(file) {
  const bitmap = await createImageBitmap(file);
  try {
    const { canvas, width, height } = drawn(bitmap, edge.sent);
    const [png, webp] = await Promise.all(["image/png", "image/webp"].map((type) => canvas.convertToBlob({ type, quality: 0.9 })));
    // The square that it begins with: all of a bar would be too small to tell.
    const side = Math.min(bitmap.width, bitmap.height);
    const thumb = await drawn(bitmap, edge.thumb, { width: side, height: side }).canvas.convertToBlob({ type: "image/webp", quality: 0.8 });
    return {
      capture: { tag: "img", pasted: true, screenshotDataUrl: await dataUrl(webp.type === "image/webp" && webp.size < png.size ? webp : png), screenshotW: width, screenshotH: height },
      thumb: await dataUrl(thumb),
    };
  } finally {
    bitmap.close();
  }
}

/** @param {ImageBitmap} bitmap @param {number} most of the longer edge @param {{width: number, height: number}} [part] of it, from its corner */
function drawn(bitmap, most, part = bitmap) {
  const scale = Math.min(1, most / Math.max(part.width, part.height));
  const width = Math.max(1, Math.round(part.width * scale));
  const height = Math.max(1, Math.round(part.height * scale));
  const canvas = new OffscreenCanvas(width, height);
  const context = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.imageSmoothingQuality = "high";
  context.drawImage(bitmap, 0, 0, part.width, part.height, 0, 0, width, height);
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
