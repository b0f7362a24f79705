// SPDX-License-Identifier: MIT
// The chart of a vGPU, drawn by dygraphs: rate (of frames or units of work) and target in the upper half, cap (as steps) and its use (as an area) in
// the lower half. Series contains the data of the chart; it also works without dygraphs.
import { get } from "./rest.js";
import { theme } from "./theme.js";
import { number, percent, rate_of } from "./words.js";

const LABELS = ["time", "used", "cap", "target", "FPS"]; /* columns, in drawing order */
const [USED, CAP, TARGET, FPS] = [1, 2, 3, 4];
const KEPT_MS = 3660e3;
const EMPTY_TOP = 5; /* upper end of the FPS axis if all rates are lower */
const LANES = 2.12; /* height of the chart divided by the height of its cap axis from 0 to 100 % */

const Dygraph = globalThis.Dygraph;
export const can_draw = () => typeof Dygraph === "function";
/* The legend plugin sets a style attribute, which the content security policy forbids. */
if (can_draw())
	Dygraph.PLUGINS = Dygraph.PLUGINS.filter((plugin) => plugin !== Dygraph.Plugins.Legend);

const valid = (x) => (typeof x === "number" ? x : null);
const row_of = (ms, v) => {
	const { rate, target } = rate_of(v);
	return [new Date(ms), valid(v.load_pct), valid(v.cap_pct), target > 0 ? target : null, valid(rate)];
};

export class Series {
	rows = [];
	marks = []; /* {ms, up} */

	/** @work: the vGPU delivers units of work instead of frames. */
	constructor(id, work) {
		this.id = id;
		this.work = work;
	}

	/** Loads the last @range_s seconds from the history, at most 600 points. */
	async load(range_s, now_ms) {
		const to_s = Math.floor(now_ms / 1000);
		const step = Math.max(1, Math.ceil(range_s / 600));
		const path = `/v1/vgpus/${encodeURIComponent(this.id)}/history?from=${to_s - range_s}&to=${to_s}&step=${step}`;
		const { points } = await get(path);
		const old = points.map((p) => row_of(Date.parse(p.time), p));
		const last = old.length ? old.at(-1)[0] : 0;
		this.rows = old.concat(this.rows.filter((r) => r[0] > last));
	}

	add(ms, vgpu, period_ms) {
		const last = this.rows.at(-1);
		if (last && ms - last[0] < period_ms / 4)
			return;
		if (last && ms - last[0] > 5 * Math.max(period_ms, 1000)) /* a row without values interrupts the line in a gap */
			this.rows.push([new Date(last[0].getTime() + 1), null, null, null, null]);
		this.rows.push(row_of(ms, vgpu));
		if (this.rows[0][0] < ms - KEPT_MS)
			this.rows.splice(0, 60);
	}

	within(from_ms) {
		let at = this.rows.length;
		while (at > 0 && this.rows[at - 1][0] >= from_ms)
			at--;
		return this.rows.slice(Math.max(0, at - 1));
	}

	/** Describes the chart in words. */
	describe(from_ms) {
		const of = (column) => this.within(from_ms).map((r) => r[column]).filter((x) => x !== null);
		const range = (list, unit) => {
			const [low, high] = [Math.round(Math.min(...list)), Math.round(Math.max(...list))];
			return list.length === 0 ? "unknown" : low === high ? `${low}${unit}` : `${low} to ${high}${unit}`;
		};
		const target = of(TARGET).at(-1);
		return `${this.work ? "units of work" : "frames"} per second ${range(of(FPS), "")}${target ? `, target ${number(target)}` : ""}; cap ${range(of(CAP), " %")}; used ${range(of(USED), " % of the GPU")}`;
	}
}

/** Draws a Series into @place. Calls @picked with the time under the pointer; null: the pointer left the chart. */
export class Chart {
	#graph = null;
	#sized = new ResizeObserver(() => this.#graph.resize());
	#series;
	#from = 0;
	#to = 0;

	constructor(place, readout, series, picked) {
		this.#series = series;
		this.place = place;
		this.readout = readout;
		this.picked = picked;
		this.visible = false;
	}

	#top() {
		const seen = (m, r) => Math.max(m, (r[FPS] ?? 0) * 1.08, (r[TARGET] ?? 0) * 1.2);
		return this.#series.within(this.#from).reduce(seen, EMPTY_TOP);
	}

	#ticks(target, top) {
		if (!target && top <= EMPTY_TOP)
			return []; /* no frames to show */
		const shown = target > 0 ? target : Math.round(top * 0.8);
		return [{ v: 0, label: "0" }, { v: shown, label: number(shown) }];
	}

	#options() {
		const top = this.#top();
		const target = this.#series.rows.at(-1)?.[TARGET];
		return {
			dateWindow: [this.#from, this.#to],
			axes: {
				x: { drawAxis: false, drawGrid: false },
				y: { valueRange: [-top * 1.12, top], ticker: () => this.#ticks(target, top), drawGrid: false, axisLabelWidth: 30 },
				y2: { valueRange: [0, 100 * LANES], ticker: () => [{ v: 0, label: "0 %" }, { v: 100, label: "100 %" }], drawGrid: false, axisLabelWidth: 40, independentTicks: true },
			},
			series: {
				FPS: { color: theme.colour("fps"), strokeWidth: 1.8 },
				target: { color: theme.colour("target"), strokeWidth: 1.2, strokePattern: [5, 4] },
				cap: { axis: "y2", color: theme.colour("cap"), strokeWidth: 1.8, stepPlot: true },
				used: { axis: "y2", color: theme.colour("used"), strokeWidth: 1, fillGraph: true },
			},
		};
	}

	#begin(data) {
		this.#graph = new Dygraph(this.place, data, {
			...this.#options(),
			labels: LABELS,
			legend: "never",
			fillAlpha: 0.28,
			axisLineColor: "transparent",
			axisTickSize: 2,
			xRangePad: 0,
			rightGap: 0,
			highlightCircleSize: 2.5,
			connectSeparatedPoints: false,
			interactionModel: {}, /* no zoom: all charts share one range */
			underlayCallback: (canvas, area, graph) => this.#under(canvas, area, graph),
			highlightCallback: (event, x) => this.picked(x),
			unhighlightCallback: () => this.picked(null),
		});
		this.#sized.observe(this.place);
	}

	/** Draws lines at the quarters of the time range, at 0 and at 100 %, and marks for decisions that changed the cap. */
	#under(canvas, area, graph) {
		const line = (x0, y0, x1, y1) => {
			canvas.beginPath();
			canvas.moveTo(Math.round(x0) + 0.5, Math.round(y0) + 0.5);
			canvas.lineTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
			canvas.stroke();
		};
		const right = area.x + area.w - 1;
		canvas.lineWidth = 1;
		canvas.strokeStyle = theme.colour("grid");
		for (let quarter = 0; quarter <= 4; quarter++)
			line(area.x + (area.w - 1) * quarter / 4, area.y, area.x + (area.w - 1) * quarter / 4, area.y + area.h);
		for (const [value, axis] of [[0, 0], [0, 1], [100, 1]])
			line(area.x, graph.toDomYCoord(value, axis) - (axis === 1 && value === 0 ? 1 : 0), right, graph.toDomYCoord(value, axis) - (axis === 1 && value === 0 ? 1 : 0));
		for (const { ms, up } of this.#series.marks) {
			if (ms < this.#from || ms > this.#to)
				continue;
			const x = graph.toDomXCoord(ms);
			this.#mark(canvas, x, graph.toDomYCoord(100, 1), up);
		}
	}

	#mark(canvas, x, y, up) {
		const [tip, base] = up ? [y - 4, y + 4] : [y + 4, y - 4];
		canvas.beginPath();
		canvas.moveTo(x, tip);
		canvas.lineTo(x - 4, base);
		canvas.lineTo(x + 4, base);
		canvas.closePath();
		canvas.fillStyle = canvas.strokeStyle = theme.colour("cap");
		if (up)
			canvas.fill();
		canvas.stroke();
		canvas.strokeStyle = theme.colour("grid");
	}

	show(from_ms, to_ms) {
		this.#from = from_ms;
		this.#to = to_ms;
		if (!this.visible || !can_draw())
			return;
		const data = this.#series.within(from_ms);
		if (!data.length)
			return;
		if (this.#graph)
			this.#graph.updateOptions({ file: data, ...this.#options() });
		else
			this.#begin(data);
	}

	/** Highlights the values at the time @ms; null: highlights nothing. */
	pick(ms) {
		if (!this.#graph)
			return;
		const rows = this.#series.within(this.#from);
		const at = ms === null ? -1 : rows.findIndex((r) => r[0] >= ms);
		if (at < 0) {
			this.#graph.clearSelection();
			this.readout.textContent = "";
			return;
		}
		const [time, used, cap, , fps] = rows[at];
		this.#graph.setSelection(at);
		this.readout.textContent = `${time.toLocaleTimeString("en-GB")}  ${number(fps, 1)} ${this.#series.work ? "units/s" : "FPS"}  cap ${percent(cap)}  used ${percent(used)}`;
	}

	end() {
		this.#sized.disconnect();
		this.#graph?.destroy();
		this.#graph = null;
	}
}
