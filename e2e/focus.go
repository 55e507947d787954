package e2e

// FocusRings moves the focus to everything that can have it, as keys would: it
// must show, by something around it that was not there before and that stands
// out from what is behind by 3:1.
func (p *Page) FocusRings(where string) {
	p.T.Helper()
	for _, problem := range p.focusProblems() {
		p.T.Errorf("%s, focus: %s", where, problem)
	}
}

func (p *Page) focusProblems() []string {
	p.T.Helper()
	p.Press("Shift") // the keyboard is used
	return Get[[]string](p, focusRings)
}

const focusRings = `(() => {
	const pen = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
	const over = (color, below) => { // what is seen of a color that may be translucent
		pen.fillStyle = "rgb(" + below.join() + ")";
		pen.fillRect(0, 0, 1, 1);
		pen.fillStyle = color;
		pen.fillRect(0, 0, 1, 1);
		return [...pen.getImageData(0, 0, 1, 1).data.slice(0, 3)];
	};
	const behind = (e) => e === null ? [255, 255, 255] : over(getComputedStyle(e).backgroundColor, behind(e.parentElement));
	const light = (rgb) => rgb.map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
	const contrast = (a, b) => ([a, b] = [light(a), light(b)].sort((x, y) => y - x), (a + 0.05) / (b + 0.05));
	const look = (e) => {
		const s = getComputedStyle(e);
		const outline = s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 1;
		return { outline: outline ? s.outlineColor : "", inside: parseFloat(s.outlineOffset) < 0, shadow: s.boxShadow === "none" ? "" : s.boxShadow, border: s.borderTopColor };
	};
	const around = (e) => [e, e.parentElement, e.parentElement?.parentElement].filter(Boolean);
	const name = (e) => e.localName + (e.className ? "." + String(e.className).trim().replace(/\s+/g, ".") : "") + " " + JSON.stringify((e.getAttribute("aria-label") ?? e.textContent).trim().slice(0, 40));
	const all = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")].filter((e) => e.tabIndex >= 0 && !e.disabled);
	const was = document.activeElement;
	const problems = [];
	let seen = 0;
	for (const e of [...all.filter((e) => e.closest(".menu")), ...all]) { // a menu closes when the focus leaves it
		if (!e.checkVisibility({ visibilityProperty: true })) continue;
		document.activeElement?.blur();
		const before = around(e).map(look);
		e.focus({ preventScroll: true, focusVisible: true });
		if (document.activeElement !== e) continue; // behind a dialog
		seen++;
		const after = around(e).map(look);
		const at = after.findIndex((now, i) => JSON.stringify(now) !== JSON.stringify(before[i]) && (now.outline || now.shadow || now.border !== before[i].border));
		if (at < 0) { problems.push(name(e) + " shows nothing"); continue; }
		const now = after[at];
		const node = around(e)[at];
		const color = now.outline || now.shadow.match(/^\w+\([^)]*\)/)?.[0] || now.border;
		const ground = behind(now.outline && now.inside ? node : node.parentElement);
		const ratio = contrast(over(color, ground), ground);
		if (ratio < 3) problems.push(name(e) + " shows " + color + " on " + ground + ": " + ratio.toFixed(2) + ":1");
	}
	document.activeElement?.blur();
	was?.focus?.({ preventScroll: true });
	return seen > 0 ? problems : ["nothing can have it"];
})()`
