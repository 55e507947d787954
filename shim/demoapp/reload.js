// Keeps the page what the files are: a stylesheet is swapped in place, for
// anything else the page is loaded anew.
{
  const { since } = document.currentScript.dataset;
  let swaps = 0;

  /** @param {string} path */
  const swap = (path) => {
    const links = [...document.querySelectorAll("link[rel=stylesheet]")].filter((link) => new URL(link.href).pathname === path);
    for (const old of links) {
      const next = old.cloneNode();
      next.href = `${path}?${++swaps}`;
      // Never without a style: the old one goes when the new one is there.
      next.onload = next.onerror = () => old.remove();
      old.after(next);
    }
    return links.length > 0;
  };

  new EventSource(`/-/changes?since=${since}`).onmessage = ({ data }) => {
    const path = JSON.parse(data);
    if (!path.endsWith(".css") || !swap(path)) location.reload();
  };
}
