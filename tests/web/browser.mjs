// SPDX-License-Identifier: MIT
// The browser of the tests, and what they measure on a page: violations found by axe, parts that are cut off, layout shifts.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const require = createRequire(`${process.env.NPM}/`);
export const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

export const LAUNCH = {
	executablePath: process.env.CHROMIUM,
	args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows"],
};

/* Lighthouse requires targets of 24 px, which axe does not check by default. */
const RULES = { "target-size": { enabled: true } };

/** The violations in words, one per line; "": none. */
export async function violations(page) {
	if (!(await page.evaluate(() => Boolean(globalThis.axe))))
		await page.evaluate(axe);
	const { violations: found } = await page.evaluate((rules) => globalThis.axe.run(document, { resultTypes: ["violations"], rules }), RULES);
	return found.map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(" ")).slice(0, 3).join(", ")}`).join("\n");
}

/**
 * Parts of the page that scroll sideways, and texts that are visible in part only, one per line; "": none. A text that ends with an
 * ellipsis is shortened on purpose, and the end of a list that scrolls down is not cut off.
 */
export function cut_off(page) {
	return page.evaluate(() => {
		const SLACK = 1.5; /* px: rounding */
		const found = new Set();
		const name = (e) => `${e.localName}${e.id && `#${e.id}`}${[...e.classList].map((c) => `.${c}`).join("")}`;
		const path = (e) => (e.parentElement && !e.id ? `${name(e.parentElement)} > ${name(e)}` : name(e));
		const shown = (e) => e.checkVisibility({ visibilityProperty: true }) && !e.closest(".unseen, svg, option");
		const clips = (value) => value === "hidden" || value === "clip";

		/** The part of @rect that its ancestors show. Ends of an ellipsis and of a list that scrolls count as shown. */
		function visible(rect, from) {
			let [left, right, top, bottom] = [rect.left, rect.right, rect.top, rect.bottom];
			let [free_x, free_y] = [false, false];
			for (let e = from; e && e !== document.body; e = e.parentElement) {
				const style = getComputedStyle(e);
				const box = e.getBoundingClientRect();
				if (style.clipPath !== "none")
					return null; /* a text for screen readers only */
				free_x ||= style.textOverflow === "ellipsis" && style.overflowX !== "visible";
				free_y ||= ["auto", "scroll"].includes(style.overflowY);
				if (clips(style.overflowX) && !free_x)
					[left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
				if (clips(style.overflowY) && !free_y)
					[top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
				if (style.position === "fixed")
					break;
			}
			if (!free_x)
				[left, right] = [Math.max(left, 0), Math.min(right, innerWidth)];
			return { width: right - left, height: bottom - top };
		}

		if (document.scrollingElement.scrollWidth > innerWidth)
			found.add(`the page scrolls sideways: ${document.scrollingElement.scrollWidth} px in a window of ${innerWidth} px`);
		for (const e of document.querySelectorAll("body *"))
			if (shown(e) && ["auto", "scroll"].includes(getComputedStyle(e).overflowX) && e.scrollWidth > e.clientWidth + SLACK && !e.matches("textarea"))
				found.add(`${path(e)} scrolls sideways: ${e.scrollWidth} px in ${e.clientWidth} px`);
		const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		for (let text; (text = texts.nextNode()); ) {
			if (!text.data.trim() || !shown(text.parentElement))
				continue;
			const range = document.createRange();
			range.selectNodeContents(text);
			for (const rect of range.getClientRects()) {
				const part = visible(rect, text.parentElement);
				/* A text that is hidden as a whole was left out on purpose, because its box is too small. */
				if (!part || rect.width < SLACK || part.width < SLACK || part.height < rect.height / 4)
					continue;
				if (part.width < rect.width - SLACK || part.height < rect.height * 0.75)
					found.add(`${path(text.parentElement)} "${text.data.trim().slice(0, 30)}": ${Math.round(part.width)} x ${Math.round(part.height)} ` +
						`of ${Math.round(rect.width)} x ${Math.round(rect.height)} px are visible`);
			}
		}
		return [...found].slice(0, 8).join("\n");
	});
}

/** Records all layout shifts of a page from its begin. */
export const record_shifts = (page) => page.addInitScript(() => {
	globalThis.gover_shifts = [];
	const name = (e) => (e instanceof Element ? `${e.localName}${e.id && `#${e.id}`}.${[...e.classList].join(".")}` : "text");
	new PerformanceObserver((list) => {
		for (const { startTime, value, hadRecentInput, sources } of list.getEntries())
			if (!hadRecentInput)
				globalThis.gover_shifts.push({ at_ms: startTime, value, names: sources.map((s) => name(s.node)) });
	}).observe({ type: "layout-shift", buffered: true });
});

/** Cumulative layout shift as browsers define it: the largest sum of shifts within 5 s and less than 1 s apart. */
function cumulate(list) {
	let [largest, sum, begin_ms, last_ms] = [0, 0, -Infinity, -Infinity];
	for (const { at_ms, value } of list) {
		if (at_ms - last_ms >= 1000 || at_ms - begin_ms >= 5000)
			[sum, begin_ms] = [0, at_ms];
		sum += value;
		last_ms = at_ms;
		largest = Math.max(largest, sum);
	}
	return largest;
}

/** The cumulative layout shift, and the parts that were moved most. */
export async function shifts(page) {
	const list = await page.evaluate(() => globalThis.gover_shifts);
	const worst = [...list].sort((a, b) => b.value - a.value).slice(0, 4);
	return {
		sum: cumulate(list),
		worst: worst.map((s) => `${s.value.toFixed(4)}: ${s.names.join(", ")}`).join("\n"),
	};
}
