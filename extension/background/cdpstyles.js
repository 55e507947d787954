// Runs in: service worker. Which rules style an element, from what the
// protocol tells: authored rules and the element's own style, the winning one
// first, each with the declarations of it that are in effect. Pure.

/**
 * A style sheet as the protocol has it, and what a bundler's style element
 * says it is of.
 * @typedef {{styleSheetId: string, sourceURL: string, sourceMapURL?: string, startLine: number, isMutable?: boolean, ownerNode?: number, devId?: string}} Sheet
 */
/** @typedef {{selector: string, source?: string, line?: number, sourceMapURL?: string, props: Record<string, string>}} Rule */
/** @typedef {{name: string, value: string, important?: boolean, implicit?: boolean, disabled?: boolean, parsedOk?: boolean, range?: object}} Property */
/** @typedef {{cssProperties: Property[]}} Style */
/** @typedef {{text: string, range?: {startLine: number}}} Selector */
/**
 * @typedef {{
 *   origin: string, styleSheetId?: string, style: Style, selectorList: {text: string, selectors: Selector[]},
 *   nestingSelectors?: string[], layers?: {text: string}[], originTreeScopeNodeId?: number,
 * }} MatchedRule
 */
/** Weakest rule first. @typedef {{inlineStyle?: Style, matchedCSSRules?: {rule: MatchedRule, matchingSelectors: number[]}[]}} Matched */

/** As the shim takes them: rules, properties of each, characters. */
const most = { rules: 12, props: 24, text: 500 };

/** The style attribute, by the name that DevTools gives it. */
const inline = "element.style";

/**
 * @param {Matched} matched
 * @param {Map<string, Sheet>} sheets by their id
 * @param {Record<string, string[]>} longhands what each property is the short form of
 * @returns {Rule[]}
 */
export function matchedStyles({ inlineStyle, matchedCSSRules = [] }, sheets, longhands) {
  const blocks = [...grouped(matchedCSSRules), ...(inlineStyle ? [{ origin: inline, group: 0, rule: null, selectors: [], style: inlineStyle }] : [])];
  const declared = blocks.flatMap((block, at) => declarationsOf(block.style).map((property, n) => ({
    block, property, strength: [...strengthOf(block, property.important === true, at), n],
  })));
  /** The strongest declaration of each longhand. @type {Map<string, typeof declared[number]>} */
  const winners = new Map();
  for (const declaration of declared) {
    for (const name of longhandsOf(declaration.property.name, longhands)) {
      const before = winners.get(name);
      if (!before || compare(declaration.strength, before.strength) > 0) winners.set(name, declaration);
    }
  }
  const winning = new Set(winners.values());
  /** @type {{rule: Rule, strength: number[]}[]} */
  const found = [];
  for (const block of blocks) {
    if (block.origin !== inline && block.origin !== "regular") continue;
    const own = declared.filter((d) => d.block === block && winning.has(d)).sort((a, b) => compare(b.strength, a.strength));
    if (own.length === 0) continue;
    const props = Object.fromEntries(own.slice(0, most.props).reverse().map(({ property }) => [property.name, valueOf(property)]));
    found.push({ rule: { ...whereIs(block, sheets), props }, strength: own[0].strength });
  }
  return found.sort((a, b) => compare(b.strength, a.strength)).slice(0, most.rules).map(({ rule }) => rule);
}

/** @typedef {{origin: string, group: number, rule: MatchedRule | null, selectors: Selector[], style: Style}} Block */

/**
 * Rules of one shadow tree and one layer are a group; where declarations are
 * important, the order of groups is the other way round.
 * @param {NonNullable<Matched["matchedCSSRules"]>} rules
 * @returns {Block[]}
 */
function grouped(rules) {
  let group = 0;
  let last = "";
  return rules.map(({ rule, matchingSelectors }) => {
    const key = JSON.stringify([rule.originTreeScopeNodeId, rule.layers?.map((layer) => layer.text)]);
    if (key !== last) group++;
    last = key;
    const selectors = matchingSelectors.map((i) => rule.selectorList.selectors[i]).filter(Boolean);
    return { origin: rule.origin, group, rule, selectors, style: rule.style };
  });
}

/** What was written: the protocol lists the longhands of a short form after that. @param {Style} style */
function declarationsOf({ cssProperties }) {
  const written = cssProperties.filter((p) => p.range);
  return (written.length > 0 ? written : cssProperties).filter((p) => !p.disabled && !p.implicit && p.parsedOk !== false);
}

/** Of an important declaration: who says it. */
const important = ["regular", inline, "injected", "user-agent"];

/** @param {Block} block @param {boolean} isImportant @param {number} at @returns {number[]} */
const strengthOf = ({ origin, group }, isImportant, at) => (isImportant ? [1, important.indexOf(origin), -group, at] : [0, 0, 0, at]);

/** @param {number[]} a @param {number[]} b */
function compare(a, b) {
  const i = a.findIndex((n, at) => n !== b[at]);
  return i < 0 ? 0 : a[i] - b[i];
}

/** @param {string} name @param {Record<string, string[]>} longhands */
const longhandsOf = (name, longhands) => (Object.hasOwn(longhands, name) && longhands[name].length > 0 ? longhands[name] : [name]);

/** @param {Property} property */
const valueOf = ({ value, important: isImportant }) => {
  const text = value.slice(0, most.text);
  return isImportant && !/!\s*important$/i.test(text) ? `${text} !important` : text;
};

/** @param {Block} block @param {Map<string, Sheet>} sheets @returns {Omit<Rule, "props">} */
function whereIs({ rule, selectors }, sheets) {
  if (!rule) return { selector: inline };
  const own = selectors.map((s) => s.text).join(", ") || rule.selectorList.text;
  const selector = [...(rule.nestingSelectors ?? [])].reverse().concat(own).join(" { ").slice(0, most.text);
  const sheet = sheets.get(rule.styleSheetId ?? "");
  const source = sheet ? sourceOf(sheet) : "";
  if (!sheet || !source) return { selector };
  const at = selectors[0]?.range?.startLine;
  const line = at === undefined || sheet.isMutable || !linesAreOf(sheet) ? 0 : at + 1 + (sheet.devId ? 0 : sheet.startLine);
  const map = mapOf(sheet);
  return { selector, source, ...(line > 0 && { line }), ...(map && { sourceMapURL: map }) };
}

/** @param {Sheet} sheet */
const sourceOf = ({ devId = "", sourceURL }) => (devId && !devId.startsWith("\0") ? devId.replace(/[?#].*$/, "") : sourceURL);

/** Its address; a map that is in the sheet itself says nothing to who does not have that. @param {Sheet} sheet */
function mapOf({ sourceMapURL = "", sourceURL }) {
  if (!sourceMapURL || sourceMapURL.startsWith("data:")) return "";
  return URL.canParse(sourceMapURL, sourceURL || undefined) ? new URL(sourceMapURL, sourceURL || undefined).href : "";
}

/** Of a file that was compiled, or is a part of one, the lines are others. @param {Sheet} sheet */
const linesAreOf = ({ devId = "" }) => devId === "" || /^[^?#]+\.css$/.test(devId);
