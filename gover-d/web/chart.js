// SPDX-License-Identifier: MIT
// Draws a chart with dygraphs, which is loaded when the first chart is shown. The chart of a vGPU has two lanes: the rate above, the cap and
// its use below. The axes fit the data.
import { h } from "./dom.js";
import { theme } from "./theme.js";
import { number } from "./words.js";

const MARK_PX = 8;
let library = null;

/** Loads dygraphs once. Returns its class; null: this daemon was built without it. */
export function load_library() {
	library ??= new Promise((resolve) => {
		const done = () => {
			const Dygraph = globalThis.Dygraph;
			/* The legend plugin sets a style attribute, which the content security policy forbids. */
			if (typeof Dygraph === "function")
				Dygraph.PLUGINS = Dygraph.PLUGINS.filter((plugin) => plugin !== Dygraph.Plugins.Legend);
			resolve(typeof Dygraph === "function" ? Dygraph : null);
		};
		document.head.append(
			h("link", { rel: "stylesheet", href: "/web/dygraph.min.css" }),
			h("script", { src: "/web/dygraph.min.js", onload: done, onerror: done }));
	});
	return library;
}

/** The smallest of 1, 2, 5, 10, 20 ... that is not below @x. */
function nice(x) {
	const power = 10 ** Math.floor(Math.log10(x));
	return [1, 2, 5, 10].find((f) => f * power >= x * 0.999) * power;
}

/** Ticks of an axis from 0 to @top: at most four, at round numbers. */
function ticks(top, suffix = "") {
	const step = nice(top / 4);
	const list = [];
	for (let v = 0; v <= top * 1.001; v += step)
		list.push({ v, label: `${number(v, step < 1 ? 1 : 0)}${suffix}` });
	return list;
}

export class Plot {
	#graph = null;
	#sized = new ResizeObserver(() => this.#graph?.resize());
	#Dygraph;

	/** @picked(row, marks): values and marks under the pointer; null: it left. @zoomed(from_ms, to_ms): a range was dragged. */
	constructor(Dygraph, place, series, { picked, zoomed, reset }) {
		this.#Dygraph = Dygraph;
		this.place = place;
		this.series = series;
		this.marks = []; /* {ms, alert, up, text} */
		this.picked = picked;
		this.zoomed = zoomed;
		this.reset = reset;
		this.lanes = false; /* true: there is a rate or a target to show above the cap */
		this.range = [0, 0];
	}

	#rows() {
		const { rows } = this.series;
		const [from, to] = this.range;
		const first = rows.findIndex((r) => r[0] >= from);
		return first < 0 ? rows.slice(-1) : rows.slice(Math.max(0, first - 1)).filter((r) => r[0] <= to + 60000);
	}

	/** The largest value of columns in the shown range, with room above it. */
	#top(rows, columns, least) {
		const max = rows.reduce((m, r) => columns.reduce((n, c) => Math.max(n, r[c] ?? 0), m), 0);
		return Math.max(max * 1.08, least);
	}

	#options(rows) {
		const percent = this.#top(rows, [1, 2], 4);
		const rate = this.lanes ? this.#top(rows, [3, 4], 4) : 0;
		const axis = { drawGrid: false, axisLabelWidth: 44 };
		const lower = { ...axis, ticker: () => ticks(percent, " %") };
		const look = (name, more) => ({ color: theme.colour(name), strokeWidth: 1.6, ...more });
		const used = look("used", { strokeWidth: 1, fillGraph: true });
		const cap = look("cap", { stepPlot: true });
		return {
			dateWindow: [...this.range],
			axes: {
				x: { drawGrid: false, axisLabelFontSize: 11, pixelsPerLabel: 78 },
				y: this.lanes ? { ...axis, valueRange: [-rate * 1.12, rate], ticker: () => ticks(rate) } : { ...lower, valueRange: [0, percent] },
				...(this.lanes ? { y2: { ...lower, valueRange: [0, percent * 2.12], independentTicks: true } } : {}),
			},
			series: {
				used: this.lanes ? { ...used, axis: "y2" } : used,
				[this.series.source.labels[1]]: this.lanes ? { ...cap, axis: "y2" } : cap,
				target: look("target", { strokeWidth: 1.2, strokePattern: [5, 4] }), rate: look("fps"),
			},
		};
	}

	#begin(rows) {
		const { mousedown } = this.#Dygraph.defaultInteractionModel;
		this.#graph = new this.#Dygraph(this.place, rows, {
			...this.#options(rows),
			labels: ["time", ...this.series.source.labels],
			legend: "never",
			fillAlpha: 0.28,
			axisLineColor: "transparent",
			axisTickSize: 2,
			xRangePad: 0,
			rightGap: 4,
			highlightCircleSize: 2.5,
			connectSeparatedPoints: false,
			/* No touch handlers: they would keep the page from scrolling. */
			interactionModel: { willDestroyContextMyself: true, mousedown, dblclick: () => this.reset() },
			animatedZooms: false,
			zoomCallback: (from, to) => this.zoomed(from, to),
			underlayCallback: (canvas, area, graph) => this.#under(canvas, area, graph),
			highlightCallback: (event, x) => this.#pick(x),
			unhighlightCallback: () => this.picked(null, []),
		});
		this.#sized.observe(this.place);
	}

	#pick(ms) {
		const row = this.series.rows.findLast((r) => r[0] <= ms);
		const near = (mark) => Math.abs(this.#graph.toDomXCoord(mark.ms) - this.#graph.toDomXCoord(ms)) <= MARK_PX;
		this.picked(row ?? null, this.marks.filter(near));
	}

	/** Draws a line at each tick, and the marks: decisions as triangles, alerts as vertical lines. */
	#under(canvas, area, graph) {
		const right = area.x + area.w - 1;
		const line = (x0, y0, x1, y1) => {
			canvas.beginPath();
			canvas.moveTo(Math.round(x0) + 0.5, Math.round(y0) + 0.5);
			canvas.lineTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
			canvas.stroke();
		};
		canvas.save();
		canvas.lineWidth = 1;
		canvas.strokeStyle = theme.colour("grid");
		for (const axis of this.lanes ? [0, 1] : [0])
			for (const { v } of ticks(graph.yAxisRange(axis)[1] / (axis ? 2.12 : 1)))
				line(area.x, Math.min(graph.toDomYCoord(v, axis), area.y + area.h - 1), right, Math.min(graph.toDomYCoord(v, axis), area.y + area.h - 1));
		const middle = this.lanes ? graph.toDomYCoord(graph.yAxisRange(1)[1] / 2.06, 1) : area.y + 6;
		for (const mark of this.marks) {
			if (mark.ms < this.range[0] || mark.ms > this.range[1])
				continue;
			const x = graph.toDomXCoord(mark.ms);
			if (mark.alert)
				this.#flag(canvas, x, area, mark, line);
			else
				this.#triangle(canvas, x, middle, mark.up);
		}
		canvas.restore();
	}

	#flag(canvas, x, area, mark, line) {
		canvas.fillStyle = canvas.strokeStyle = theme.colour({ critical: "bad", warning: "warn" }[mark.severity] ?? "soft");
		canvas.globalAlpha = 0.55;
		line(x, area.y, x, area.y + area.h);
		canvas.globalAlpha = 1;
		canvas.fillRect(Math.round(x), area.y, 7, 6);
	}

	#triangle(canvas, x, y, up) {
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
	}

	/** Draws the range between two times. */
	show(from_ms, to_ms) {
		this.range = [from_ms, to_ms];
		const rows = this.#rows();
		const lanes = rows.some((r) => (r[3] ?? null) !== null || (r[4] ?? null) !== null);
		if (!rows.length)
			return;
		if (this.lanes !== lanes)
			this.end();
		this.lanes = lanes;
		if (this.#graph)
			this.#graph.updateOptions({ file: rows, ...this.#options(rows) });
		else
			this.#begin(rows);
	}

	end() {
		this.#sized.disconnect();
		this.#graph?.destroy();
		this.#graph = null;
	}
}
