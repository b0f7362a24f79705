// SPDX-License-Identifier: MIT
// Decisions with their reasons and numbers, newest first.
import { by_id, h, keyed, set_text } from "./dom.js";
import { clock, number, spaced } from "./words.js";

const SHOWN = 40;
const SIGNS = {
	steal: "⇄", pool: "+", wake: "↑", offer: "◇", severe: "‼", fund: "⇉", return: "←", fit: "↓", hold: "▮", share: "≈",
	add: "+", remove: "−", set: "✎", release: "▯", adopt: "↻", found: "?", foreign_write: "▲", missing: "✕",
};

function move(m) {
	const up = m.to_pct > m.from_pct;
	return h("li.move", {}, `${m.vgpu} `, h("span.steps", {}, `${number(m.from_pct)} → ${number(m.to_pct)} %`),
		h("span", { "aria-hidden": "true" }, up ? " ▲" : " ▽"));
}

/** Makes the element of a decision. @place: name of the list, if the same decision can be in two lists. */
export function make(d, now_ms, place = "") {
	const result = ["written", "noted"].includes(d.result) ? null : h("span.badge.warn", {}, spaced(d.result));
	const numbers = Object.entries(d.numbers ?? {});
	const time = h("time", { datetime: d.time }, clock(d.time, now_ms));
	const element = h("li.decision", { [place ? "data-in" : "data-id"]: place || d.id, "data-kind": d.kind },
		h("div.head", {}, time, h("span.kind", {}, h("span", { "aria-hidden": "true" }, `${SIGNS[d.kind] ?? "·"} `), spaced(d.kind)),
			d.vgpu ? h("strong", {}, d.vgpu) : null, d.donor ? h("span.sub", {}, `from ${d.donor}`) : null, result),
		d.moves.length ? h("ul.moves", { "aria-label": "Changed caps" }, d.moves.map(move)) : null,
		h("p.why-text", {}, d.why),
		numbers.length ? h("details", {}, h("summary", {}, "numbers", h("span.unseen", {}, ` of decision ${d.id}`)),
			h("dl.numbers", {}, numbers.map(([k, v]) => h("div", {}, h("dt", {}, spaced(k)), h("dd", {}, number(v, Number.isInteger(v) ? 0 : 2)))))) : null);
	return { element, update() {} };
}

export class Decisions {
	#live;

	constructor(live) {
		this.#live = live;
		this.select = by_id("decision-vgpu");
		this.select.addEventListener("change", () => this.update());
	}

	/** Shows only decisions about vGPU @id and moves the focus there. */
	explain(id) {
		this.#choices(id);
		this.select.value = id;
		this.update();
		by_id("decisions-title").focus();
	}

	#choices(more) {
		const ids = [...new Set(this.#live.vgpus.map((v) => v.id).concat(more ?? [], this.select.value || []))].sort();
		if (this.select.dataset.ids === ids.join())
			return;
		const kept = this.select.value;
		this.select.dataset.ids = ids.join();
		this.select.replaceChildren(h("option", { value: "" }, "all vGPUs"), ...ids.map((id) => h("option", { value: id }, id)));
		this.select.value = kept;
	}

	update() {
		this.#choices();
		const id = this.select.value;
		const concerns = (d) => !id || d.vgpu === id || d.donor === id || d.moves.some((m) => m.vgpu === id);
		const list = this.#live.decisions.filter(concerns).slice(0, SHOWN);
		keyed(by_id("decision-list"), list, (d) => d.id, (d) => make(d, this.#live.now_ms()));
		by_id("no-decisions").hidden = list.length > 0;
		set_text(by_id("no-decisions"), id ? `No decisions about ${id}.` : "No decisions yet.");
	}
}
