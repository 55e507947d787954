// Runs in: side panel. Children in order, and none that stands right is moved.

/**
 * @param {Element} parent
 * @param {Node[]} nodes all that it is to hold
 */
export function place(parent, nodes) {
  const wanted = new Set(nodes);
  let at = parent.firstChild;
  for (const node of nodes) {
    // What goes is taken out first, so that what stays need not move.
    while (at && !wanted.has(at)) {
      const gone = at;
      at = at.nextSibling;
      gone.remove();
    }
    if (node === at) at = at.nextSibling;
    else parent.insertBefore(node, at);
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}
