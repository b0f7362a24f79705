// SPDX-License-Identifier: MIT
// A chart with its range, zoom, legend and a line that describes what is under the pointer. The chart is drawn, and the chart library loaded,
// when the panel becomes visible.
import { Plot, load_library } from "./chart.js";
import { h, set, set_text } from "./dom.js";
import { Series } from "./series.js";
import { theme } from "./theme.js";
import { clock, number, percent } from "./words.js";

const HOUR = 3600;
const RANGES = [["10 min", 600], ["1 h", HOUR], ["6 h", 6 * HOUR], ["24 h", 24 * HOUR], ["7 d", 168 * HOUR], ["30 d", 720 * HOUR], ["all", 0]];
const SHORTEST_MS = 20000;
const HINT = "Drag in the chart to zoom, double-click to show all.";
const LOAD_MS = 120;

export class ChartPanel {
	#live;
	#series = null;
	#plot = null;
	#marks = [];
	#range_s = 600;
	#zoom = null; /* [from_ms, to_ms] while the chart does not follow the time */
	#oldest_ms = 0; /* begin of the range "all" */
	#visible = false;
	#timer = 0;
	#library; /* undefined: not loaded; null: none */

	/** @legend: [class, text] of each line. */
	constructor(place, live, legend) {
		this.#live = live;
		this.buttons = RANGES.map(([text, s]) => h("button", { type: "button", "aria-pressed": String(s === this.#range_s), onclick: () => this.#choose(s) }, text));
		const tool = (sign, label, action) => h("button", { type: "button", "aria-label": label, title: label, onclick: action }, sign);
		this.now = h("button", { type: "button", title: "Follow the time again", onclick: () => this.#choose(this.#range_s) }, "now");
		this.tools = [tool("‹", "Earlier", () => this.#move(-0.5, 0)), tool("›", "Later", () => this.#move(0.5, 0)),
			tool("+", "Zoom in", () => this.#move(0, -0.25)), tool("−", "Zoom out", () => this.#move(0, 0.5)), this.now];
		this.place = h("div.chart", { role: "img", "aria-label": "Chart, not loaded yet" });
		this.readout = h("p.readout", { "aria-hidden": "true" }, HINT);
		this.note = h("p.note-line", { hidden: true }, "No charts: this daemon was built without libjs-dygraphs.");
		place.append(
			h("div.chart-head", {}, h("div.ranges", { role: "group", "aria-label": "Time shown" }, this.buttons),
				h("div.ranges", { role: "group", "aria-label": "Zoom" }, this.tools)),
			this.note, this.place,
			h("ul.legend", { "aria-label": "Legend" }, legend.map(([name, text]) => h("li", {}, h(`span.swatch.${name}`, { "aria-hidden": "true" }), h("span", {}, text)))),
			this.readout);
		new IntersectionObserver(([entry]) => this.#seen(entry.isIntersecting), { rootMargin: "120px" }).observe(this.place);
		theme.on(() => this.draw());
	}

	/** Shows another source. */
	show(source) {
		this.#plot?.end();
		this.#plot = null;
		this.#series = new Series(source);
		this.place.dataset.source = source.title;
		this.#zoom = null;
		this.#oldest_ms = 0;
		this.#show_choice();
		if (this.#visible)
			this.#load();
	}

	async #seen(visible) {
		const first = visible && !this.#series?.loaded_ms;
		this.#visible = visible;
		if (!visible)
			return;
		if (this.#library === undefined) {
			this.#library = await load_library();
			this.note.hidden = this.#library !== null;
		}
		if (first)
			this.#load();
		else
			this.draw();
	}

	#window() {
		if (this.#zoom)
			return this.#zoom;
		const now = this.#live.now_ms();
		return [this.#range_s ? now - this.#range_s * 1000 : this.#oldest_ms || now - 1000 * HOUR, now];
	}

	#choose(range_s) {
		this.#range_s = range_s;
		this.#zoom = null;
		this.#show_choice();
		this.#load();
	}

	#show_choice() {
		RANGES.forEach(([, s], i) => set(this.buttons[i], "aria-pressed", String(!this.#zoom && s === this.#range_s)));
		this.now.disabled = !this.#zoom;
	}

	/** Moves the range by @by of its length, and extends it at both ends by @wider of its length. */
	#move(by, wider) {
		const [from, to] = this.#window();
		const length = to - from;
		this.#zoom_to(from + length * (by - wider), to + length * (by + wider));
	}

	#zoom_to(from, to) {
		const now = this.#live.now_ms();
		const length = Math.max(to - from, SHORTEST_MS);
		const end = Math.min(from + length, now);
		this.#zoom = [Math.max(end - length, 0), end];
		this.#show_choice();
		this.draw();
		clearTimeout(this.#timer);
		this.#timer = setTimeout(() => this.#load(), LOAD_MS);
	}

	/** Reads the shown range; what is known is drawn at once. */
	async #load() {
		const series = this.#series;
		if (!series)
			return;
		this.draw();
		try {
			if (!this.#zoom && !this.#range_s)
				this.#oldest_ms = await series.oldest(this.#live.now_ms());
			const [from, to] = this.#window();
			await series.load(from, to, !this.#zoom);
			if (!this.#zoom && !this.#range_s && series.rows.length && series === this.#series)
				this.#oldest_ms = series.rows[0][0].getTime();
		} catch {
			series.loaded_ms ||= this.#live.now_ms(); /* without a history, the chart consists of live values */
		}
		if (series === this.#series)
			this.draw();
	}

	/** Adds the live values of a GPU or vGPU, once per period. */
	tick(object) {
		const series = this.#series;
		if (!series || this.#zoom)
			return;
		const now = this.#live.now_ms();
		series.add(now, object, this.#live.host.period_ms, 1000 * (this.#range_s || HOUR));
		if (this.#visible && series.loaded_ms && series.is_due(now)) {
			series.loaded_ms = now;
			this.#load();
		}
		this.draw();
	}

	/** Reads the history again after a reconnection. */
	reload() {
		if (this.#visible)
			this.#load();
	}

	mark(marks) {
		this.#marks = marks;
	}

	draw() {
		if (!this.#visible || !this.#series || document.hidden)
			return;
		const [from, to] = this.#window();
		const name = this.#zoom ? "zoomed" : this.#range_s ? `last ${RANGES.find(([, s]) => s === this.#range_s)[0]}` : "whole history";
		set(this.place, "aria-label", `${this.#series.source.title}, ${name}: ${this.#series.describe(from, to)}`);
		if (!this.#library)
			return;
		this.#plot ??= new Plot(this.#library, this.place, this.#series, {
			picked: (row, marks) => this.#read_out(row, marks),
			zoomed: (a, b) => this.#zoom_to(a, b),
			reset: () => this.#choose(this.#range_s),
		});
		this.#plot.marks = this.#marks;
		this.#plot.show(from, to);
	}

	#read_out(row, marks) {
		if (!row) {
			set_text(this.readout, HINT);
			return;
		}
		const { labels, unit } = this.#series.source;
		const time = clock(row[0], this.#live.now_ms());
		const values = labels.map((label, i) => (label === "rate" ? `${number(row[i + 1], 1)} ${unit}` :
			label === "target" ? `target ${number(row[i + 1])}` : `${label} ${percent(row[i + 1])}`));
		set_text(this.readout, `${time}  ${values.reverse().join("  ")}${marks.length ? `  ·  ${marks.at(-1).text}` : ""}`);
		set(this.readout, "title", marks.map((m) => m.text).join("\n") || null);
	}
}
