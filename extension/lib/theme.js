// Runs in: panel, options, confirm page. The theme that the user has chosen,
// on the page: theme.css looks at <html data-theme>.

import { load, onChange } from "./settings.js";

/** @param {import("./settings.js").Settings} settings */
function show({ global: { theme } }) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** Puts the theme on this page, and every later choice. */
export async function followTheme() {
  onChange(show);
  show(await load());
}
