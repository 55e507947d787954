// Runs in: side panel. Keeps the end of a list in view while it grows, unless
// the reader has scrolled away from it; then says that there is more.

/** Nearer than this to the end is at the end, in pixels. */
const near = 32;

export class Follow {
  #atEnd = true;
  /** Where the reader was; a box that is hidden forgets it. */
  #top = 0;

  /**
   * @param {HTMLElement} box what scrolls
   * @param {(away: boolean) => void} changed the reader left the end, or is back
   */
  constructor(box, changed) {
    this.box = box;
    this.changed = changed;
    box.addEventListener("scroll", () => this.#measure(), { passive: true });
    // What the reader opens at the end grows under their eyes: it stays there.
    box.addEventListener("click", () => requestAnimationFrame(() => this.#measure()));
    new ResizeObserver(() => {
      if (box.clientHeight > 0 && !this.#atEnd && box.scrollTop === 0) box.scrollTop = this.#top; // shown again
      this.grown();
    }).observe(box);
  }

  #measure() {
    const { scrollHeight, scrollTop, clientHeight } = this.box;
    if (clientHeight === 0) return; // hidden
    this.#top = scrollTop;
    this.#set(scrollHeight - scrollTop - clientHeight < near);
  }

  /** @param {boolean} atEnd */
  #set(atEnd) {
    if (atEnd === this.#atEnd) return;
    this.#atEnd = atEnd;
    this.changed(!atEnd);
  }

  /** The list has changed. */
  grown() {
    if (this.#atEnd) this.box.scrollTop = this.box.scrollHeight;
  }

  /** Goes to the end and stays there. */
  toEnd() {
    this.#set(true);
    this.grown();
  }
}
