// Runs in: side panel, options page. Numbers and times as people read them.
// Pure: what needs the time of day is given it.

/**
 * 950 → "950", 12_345 → "12.3k", 2_500_000 → "2.5M".
 * @param {number} n
 */
export function count(n) {
  if (!Number.isFinite(n) || n < 0) return "0";
  for (const [unit, name] of /** @type {[number, string][]} */ ([[1e9, "G"], [1e6, "M"], [1e3, "k"]])) {
    if (n >= unit * 0.9995) {
      const scaled = n / unit;
      return (scaled < 99.95 ? scaled.toFixed(1).replace(/\.0$/, "") : Math.round(scaled).toString()) + name;
    }
  }
  return Math.round(n).toString();
}

/**
 * 1 → "1 file", 3 → "3 files".
 * @param {number} n
 * @param {string} one
 * @param {string} [many]
 */
export function plural(n, one, many = one + "s") {
  return `${n} ${n === 1 ? one : many}`;
}

/**
 * How long something took: "0.4 s", "12 s", "3 min 05 s", "1 h 02 min".
 * @param {number} ms
 */
export function duration(ms) {
  if (!(ms > 0)) return "0 s";
  if (ms < 9_950) return (ms / 1000).toFixed(1).replace(/\.0$/, "") + " s";
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${String(seconds % 60).padStart(2, "0")} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

/**
 * A running clock: "0:07", "12:30", "1:02:03".
 * @param {number} ms
 */
export function clock(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const parts = [Math.floor(seconds / 60) % 60, seconds % 60];
  const hours = Math.floor(seconds / 3600);
  if (hours > 0) return [hours, ...parts.map((n) => String(n).padStart(2, "0"))].join(":");
  return `${parts[0]}:${String(parts[1]).padStart(2, "0")}`;
}

/**
 * US dollars: "$0.0042", "$0.31", "$12.50".
 * @param {number} usd
 */
export function cost(usd) {
  if (!(usd > 0)) return "$0";
  if (usd < 0.0001) return "< $0.0001";
  return "$" + usd.toFixed(usd < 0.1 ? 4 : 2).replace(/(\.\d\d\d*?)0+$/, "$1");
}

/**
 * 812 → "812 bytes", 120_000 → "117 KB".
 * @param {number} n
 */
export function bytes(n) {
  if (n < 1024) return plural(n, "byte");
  if (n < 1024 * 1024) return `${Math.round(n / 1024)} KB`;
  return `${(n / 1024 / 1024).toFixed(1)} MB`;
}

/**
 * A path in two parts, so that the name stays whole and the folder can be cut.
 * @param {string} path
 * @returns {{folder: string, name: string}}
 */
export function pathParts(path) {
  const at = path.lastIndexOf("/") + 1;
  return { folder: path.slice(0, at), name: path.slice(at) };
}

/**
 * At most so many characters, an ellipsis for the rest; folds white space.
 * @param {string} text
 * @param {number} most
 */
export function oneLine(text, most) {
  const folded = text.slice(0, most * 4).replace(/\s+/g, " ").trim();
  const letters = Array.from(folded);
  return letters.length <= most && text.length <= most * 4 ? folded : letters.slice(0, most - 1).join("").trimEnd() + "…";
}

/** @param {Date} day */
const midnight = (day) => new Date(day.getFullYear(), day.getMonth(), day.getDate()).getTime();

/**
 * The heading of the day that a time falls on.
 * @param {Date} time
 * @param {Date} now
 */
export function day(time, now) {
  const days = Math.round((midnight(now) - midnight(time)) / 86_400_000);
  if (days <= 0) return "Today";
  if (days === 1) return "Yesterday";
  if (days < 7) return time.toLocaleDateString("en", { weekday: "long" });
  return time.toLocaleDateString("en", { day: "numeric", month: "long", year: time.getFullYear() === now.getFullYear() ? undefined : "numeric" });
}

/**
 * "14:05".
 * @param {Date} time
 */
export function hour(time) {
  return `${String(time.getHours()).padStart(2, "0")}:${String(time.getMinutes()).padStart(2, "0")}`;
}

/**
 * When a limit ends: "at 14:05", "on Monday at 14:05", "on 3 March at 09:00".
 * "" when the time cannot be read.
 * @param {string} iso
 * @param {Date} now
 */
export function until(iso, now) {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return "";
  const days = Math.round((midnight(time) - midnight(now)) / 86_400_000);
  if (days <= 0) return `at ${hour(time)}`;
  if (days < 7) return `on ${time.toLocaleDateString("en", { weekday: "long" })} at ${hour(time)}`;
  return `on ${time.toLocaleDateString("en", { day: "numeric", month: "long" })} at ${hour(time)}`;
}

/** Only these are offered to be copied: who answers need not be the shim. */
const command = /^(?:slidewrite|claude|codex|grok|git|npm)(?: [^\n\r`$<>|;]*)?$/;

/**
 * What cures a problem, taken apart: a command to copy, words, or a command
 * with another way behind it.
 * @param {string} fix
 * @returns {{command: string, words: string}}
 */
export function fixParts(fix) {
  const [line, words = ""] = fix.split(/[,;] (?=(?:or|then|and) )/, 2);
  if (!command.test(line)) return { command: "", words: capital(fix) };
  return { command: line, words: capital(words) };
}

/** @param {string} text */
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
