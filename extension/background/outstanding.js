// Runs in: service worker. What is still being found out about a pick: its
// picture, its component. The panel waits for that, a moment, before it sends.
// Should the worker end meanwhile, nothing is found out any more, and nothing
// is waited for.

/** @type {Map<string, Set<Promise<unknown>>>} */
const going = new Map();

/**
 * @template T
 * @param {string} pick
 * @param {Promise<T>} work
 * @returns {Promise<T>} the same
 */
export function outstanding(pick, work) {
  const all = going.get(pick) ?? new Set();
  going.set(pick, all.add(work));
  const over = () => {
    all.delete(work);
    if (all.size === 0) going.delete(pick);
  };
  work.then(over, over);
  return work;
}

/**
 * Answers when all is known that will be.
 * @param {{names: unknown[]}} question of picks
 */
export async function picksSettled({ names }) {
  for (const pick of names.map(String)) {
    for (let work = going.get(pick); work; work = going.get(pick)) await Promise.allSettled(work);
  }
  return true;
}
