// SPDX-License-Identifier: MIT
// The table of vGPUs. Each vGPU has a row and a chart; all charts show the same time range. Existing rows are updated in
// place, so that the focus stays where it is.
import { by_id, h, keyed, meter, set_text, set } from "./dom.js";
import { Chart, Series, can_draw } from "./chart.js";
import { theme } from "./theme.js";
import { NONE, counts_work, memory, number, percent, rate_of, short, small_percent } from "./words.js";

const RANGES = [["2 min", 120], ["10 min", 600], ["1 h", 3600]];

/** Badges of a vGPU: [class, sign, text, meaning]. */
function badges(v) {
	const list = [];
	if (v.state === "missing")
		list.push(["bad", "✕", "missing", "has a contract but does not exist on the host"]);
	if (v.state === "probation")
		list.push(["note", "◷", "probation", "sold recently; the offer can still fail"]);
	if (v.broken)
		list.push(["bad", "✕", "promise broken", "below its target in this period; a larger cap would help"]);
	else if (v.short)
		list.push(["warn", "▽", "short", "below its target, but not limited by the GPU: a larger cap would not help"]);
	if (v.overloaded)
		list.push(["warn", "▲", "overloaded", "needs more than its cap, and receives unused capacity if available"]);
	if (v.held)
		list.push(["note", "▮", "held", "an operator has fixed its cap"]);
	if (v.found)
		list.push(["note", "?", "no contract", "found on this host, not sold"]);
	if (v.burst)
		list.push(["note", "⇡", "burst", "its cap may exceed the sold cap"]);
	return list;
}

/** The use and the limit of device memory; empty if the backend does not measure memory and the vGPU has no limit. */
function memory_of({ memory_used_mib: used, memory_mib: limit }) {
	if (used === null && !limit)
		return "";
	return `memory ${memory(used)}${limit ? ` of ${memory(limit)}` : ", no limit"}`;
}

/** Key for sorting: higher for a vGPU in a worse condition. */
const need = (v) => 8 * (v.state === "missing") + 4 * v.broken + 2 * v.overloaded + v.short + v.e;
const ORDERS = { name: null, need: (a, b) => need(b) - need(a) || (b.broken_time_pct ?? 0) - (a.broken_time_pct ?? 0) };

export class Vgpus {
	#live;
	#rows = new Map();
	#series = new Map();
	#range_s = 120;
	#watcher;

	constructor(live, explain) {
		this.#live = live;
		this.explain = explain;
		this.#watcher = new IntersectionObserver((entries) => this.#seen(entries), { rootMargin: "200px" });
		by_id("ranges").append(...RANGES.map(([text, s]) => this.#range_button(text, s)));
		by_id("no-charts").hidden = can_draw();
		by_id("order").addEventListener("change", () => this.update());
		theme.on(() => this.#draw());
		this.#show_range();
	}

	#range_button(text, s) {
		return h("button", { type: "button", "aria-pressed": String(s === this.#range_s), "data-range": s, onclick: () => this.#choose(s) }, text);
	}

	#choose(range_s) {
		this.#range_s = range_s;
		for (const button of by_id("ranges").querySelectorAll("button"))
			set(button, "aria-pressed", String(Number(button.dataset.range) === range_s));
		this.#show_range();
		for (const series of this.#series.values())
			this.#load(series);
	}

	#show_range() {
		const text = RANGES.find(([, s]) => s === this.#range_s)[0];
		set_text(by_id("range-from"), `${text} ago`);
		set_text(by_id("range-half"), this.#range_s === 120 ? "1 min" : this.#range_s === 600 ? "5 min" : "30 min");
	}

	#load(series) {
		series.load(this.#range_s, this.#live.now_ms()).catch(() => {}).then(() => this.#draw());
	}

	#seen(entries) {
		for (const entry of entries) {
			const row = this.#rows.get(entry.target.dataset.vgpu);
			if (row)
				row.chart.visible = entry.isIntersecting;
		}
		this.#draw();
	}

	/** Loads the history again after a reconnection or lost events. */
	reload() {
		for (const series of this.#series.values())
			this.#load(series);
	}

	update() {
		const live = this.#live;
		const several = live.gpus.length > 1;
		const order = ORDERS[by_id("order").value];
		keyed(by_id("vgpu-rows"), order ? [...live.vgpus].sort(order) : live.vgpus, (v) => v.id, (v) => this.#make(v, several), (row) => this.#forget(row.id));
		by_id("no-vgpus").hidden = live.vgpus.length > 0;
		by_id("vgpu-rows").classList.toggle("few", live.vgpus.length <= 4);
		set_text(by_id("vgpu-count"), live.vgpus.length);
		const rate = live.vgpus.some(counts_work) ? "FPS or units/s" : "FPS";
		set_text(by_id("rate-head"), rate);
		set_text(by_id("rate-legend"), rate);
	}

	/** Called once per period. */
	tick() {
		const now = this.#live.now_ms();
		for (const v of this.#live.vgpus)
			this.#series.get(v.id)?.add(now, v, this.#live.host.period_ms);
		this.#draw();
	}

	/** Marks in each chart the times at which decisions changed the cap. */
	mark(decisions) {
		const marks = new Map();
		for (const d of decisions) {
			for (const m of d.moves) {
				if (!marks.has(m.vgpu))
					marks.set(m.vgpu, []);
				marks.get(m.vgpu).push({ ms: Date.parse(d.time), up: m.to_pct > m.from_pct });
			}
		}
		for (const [id, series] of this.#series)
			series.marks = marks.get(id) ?? [];
		this.#marks = marks;
	}
	#marks = new Map();

	#draw() {
		if (document.hidden)
			return;
		const to = this.#live.now_ms();
		const from = to - this.#range_s * 1000;
		for (const row of this.#rows.values()) {
			row.chart.show(from, to);
			set(row.place, "aria-label", `${row.id}, last ${RANGES.find(([, s]) => s === this.#range_s)[0]}: ${row.series.describe(from)}`);
		}
	}

	#forget(id) {
		const row = this.#rows.get(id);
		this.#watcher.unobserve(row.place);
		row.chart.end();
		this.#rows.delete(id);
		this.#series.delete(id);
	}

	#make(first, several) {
		const id = first.id;
		const work = counts_work(first);
		const series = new Series(id, work);
		series.marks = this.#marks.get(id) ?? [];
		const use = meter();
		const cap = meter(".meter-cap");
		const p = {
			vm: h("span.sub"),
			badges: h("span.badges"),
			fps: h("span.big"), target: h("span.of"), frame: h("span.sub"),
			use: h("span.big"), load: h("span.sub"), memory: h("span.sub"),
			cap: h("span.big"), sold: h("span.of"), moved: h("span.sub"),
			broken: h("span.big"), seen: h("span.sub"),
		};
		const place = h("div.chart", { role: "img", "data-vgpu": id });
		const readout = h("div.readout", { "aria-hidden": "true" });
		const why = h("button.why", { type: "button", "aria-label": `Why: decisions about ${id}`, onclick: () => this.explain(id) }, "why?");
		const element = h("tr", {},
			h("th", { scope: "row" }, h("span.name", {}, id, " ", why), p.vm, p.badges),
			h("td.figure", {}, p.fps, p.target, p.frame),
			h("td.figure", {}, p.use, use.element, p.load, p.memory),
			h("td.figure", {}, p.cap, p.sold, cap.element, p.moved),
			h("td.figure", {}, p.broken, p.seen),
			h("td.picture", {}, place, readout));
		const row = { id, element, place, series };
		row.chart = new Chart(place, readout, series, (ms) => this.#pick(ms));
		row.update = (v) => {
			const where = [v.vm, several ? v.gpu : null].filter(Boolean).join(" · ");
			set_text(p.vm, where || "VM unknown");
			const list = badges(v);
			const text = list.map((b) => b[2]).join();
			if (p.badges.dataset.shown !== text) {
				p.badges.dataset.shown = text;
				p.badges.replaceChildren(...list.map(([kind, sign, word, meaning]) =>
					h(`span.badge.${kind}`, { title: meaning }, h("span", { "aria-hidden": "true" }, `${sign} `), word)));
			}
			const { rate, target } = rate_of(v);
			set_text(p.fps, rate === null ? NONE : number(rate, rate < 100 ? 1 : 0));
			set_text(p.target, target > 0 ? ` of ${short(target)}` : " no target");
			if (work)
				set_text(p.frame, v.units ? "units/s" : "no work yet");
			else
				set_text(p.frame, v.frame_p99_ms === null ? (v.frames ? "no frames now" : "no frames yet") : `p99 ${number(v.frame_p99_ms, 1)} ms`);
			set_text(p.use, percent(v.util_pct));
			use.update(v.util_pct === null ? null : v.util_pct / 100);
			set_text(p.load, `${percent(v.load_pct, 1)} of GPU`);
			set_text(p.memory, memory_of(v));
			set_text(p.cap, percent(v.cap_pct));
			set_text(p.sold, ` of ${number(v.initial_cap_pct)} sold`);
			cap.update(v.cap_pct / v.initial_cap_pct);
			set_text(p.moved, v.steals_in || v.steals_out ? `▲ ${v.steals_in} received  ▽ ${v.steals_out} gave` : "no steals");
			set_text(p.broken, small_percent(v.broken_time_pct));
			set_text(p.seen, v.broken_s ? `${number(v.broken_s)} s in total` : "promise kept");
			set(element, "class", v.broken ? "is-broken" : v.overloaded ? "is-overloaded" : null);
		};
		this.#rows.set(id, row);
		this.#series.set(id, series);
		this.#watcher.observe(place);
		this.#load(series);
		return row;
	}

	#pick(ms) {
		for (const row of this.#rows.values())
			row.chart.pick(ms);
	}
}
