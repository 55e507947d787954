// Runs in: side panel, options page. Text in, frames out; knows neither fetch
// nor events. The shim's framing: `id: N`, one `data: {json}`, a blank line,
// and `: ping` comments in silence.

/**
 * One frame of a stream.
 * @typedef {object} Frame
 * @property {number} id the last id seen, 0 before the first
 * @property {string} data its data lines, joined by line feeds
 */

/** Puts frames together from pieces of text, cut anywhere. */
export class Parser {
  /** @type {string[]} the beginning of a line whose end has not come */
  #line = [];
  /** A CR ended the last piece: an LF that follows belongs to it. */
  #afterCR = false;
  #id = 0;
  /** @type {string[]} */
  #data = [];

  /**
   * @param {string} text
   * @returns {Frame[]} the frames that are complete with it
   */
  push(text) {
    /** @type {Frame[]} */
    const frames = [];
    let from = 0;
    if (this.#afterCR && text !== "") {
      this.#afterCR = false;
      if (text[0] === "\n") from = 1;
    }
    // Only the new text is searched: a long line in many pieces costs its length once.
    let lf = text.indexOf("\n", from);
    let cr = text.indexOf("\r", from);
    while (lf >= 0 || cr >= 0) {
      const end = cr >= 0 && (lf < 0 || cr < lf) ? cr : lf;
      this.#line.push(text.slice(from, end));
      const frame = this.#take(this.#line.join(""));
      this.#line = [];
      if (frame) frames.push(frame);
      from = end + 1;
      if (end === cr) {
        if (from === text.length) this.#afterCR = true;
        else if (text[from] === "\n") from++;
      }
      if (lf >= 0 && lf < from) lf = text.indexOf("\n", from);
      if (cr >= 0 && cr < from) cr = text.indexOf("\r", from);
    }
    if (from < text.length) this.#line.push(text.slice(from));
    return frames;
  }

  /**
   * Takes one whole line; a blank one completes a frame.
   * @param {string} line
   * @returns {Frame | null}
   */
  #take(line) {
    if (line === "") {
      if (this.#data.length === 0) return null;
      const frame = { id: this.#id, data: this.#data.join("\n") };
      this.#data = [];
      return frame;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return null; // a comment
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (field === "data") this.#data.push(value);
    if (field === "id" && /^\d{1,15}$/.test(value)) this.#id = Number(value);
    return null;
  }
}

/**
 * Reads a body to its end. A frame that it breaks off in is dropped, as is a
 * character: whoever re-attaches gets both again, whole.
 * @param {ReadableStream<Uint8Array>} body
 * @param {() => void} [alive] called whenever bytes have come, pings too
 * @returns {AsyncGenerator<Frame, void, void>}
 */
export async function* frames(body, alive = () => {}) {
  const parser = new Parser();
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      alive();
      yield* parser.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    reader.cancel().catch(() => {}); // it may have failed already: that is what was thrown
  }
}
