// SPDX-License-Identifier: MIT
// The values of a chart: read from the history, then continued by live values. Works without the chart library.
import { get } from "./rest.js";
import { number, rate_of } from "./words.js";

const LIVE_STEP_S = 10; /* up to this step, live values continue the history; with longer steps it is read again */
const OLDEST_DAYS = 4900; /* days that one answer with a step of a day can contain */
const DAY_S = 86400;

const valid = (x) => (typeof x === "number" ? x : null);

/** What a chart shows. labels: columns after the time, in drawing order. row(): values of a point of the history or of a live object. */
export function vgpu_source(id, work) {
	return {
		title: id,
		path: `/v1/vgpus/${encodeURIComponent(id)}/history`,
		labels: ["used", "cap", "target", "rate"],
		unit: work ? "units/s" : "FPS",
		row: (v) => {
			const { rate, target } = rate_of(v);
			return [valid(v.load_pct), valid(v.cap_pct), target > 0 ? target : null, valid(rate)];
		},
	};
}

export function gpu_source(name) {
	return {
		title: name,
		path: `/v1/gpus/${encodeURIComponent(name)}/load`,
		labels: ["used", "caps"],
		row: (g) => [valid(g.load_pct), valid(g.sum_cap_pct)],
	};
}

export class Series {
	rows = []; /* [Date, value...] */
	step_s = 1;
	loaded_ms = 0; /* clock of the daemon at the last read; 0: not read yet */
	#asked = 0;

	constructor(source) {
		this.source = source;
	}

	/** Reads the history between two times. Returns false if a later call has replaced this one. */
	async load(from_ms, to_ms, live) {
		const asked = ++this.#asked;
		const [from, to] = [Math.floor(from_ms / 1000), Math.max(Math.ceil(to_ms / 1000), Math.floor(from_ms / 1000) + 1)];
		const { points, step_s } = await get(`${this.source.path}?from=${from}&to=${to}`);
		if (asked !== this.#asked)
			return false;
		const old = points.map((p) => [new Date(p.time), ...this.source.row(p)]);
		for (let i = old.length - 1; i > 0; i--) /* a row without values interrupts the line in a gap */
			if (old[i][0] - old[i - 1][0] > 1500 * step_s)
				old.splice(i, 0, this.#empty(old[i - 1][0].getTime() + 1000 * step_s));
		const last = points.length ? Date.parse(points.at(-1).time) + step_s * 1000 : 0;
		this.rows = live && step_s <= LIVE_STEP_S ? old.concat(this.rows.filter((r) => r[0] >= last)) : old;
		this.step_s = step_s;
		this.loaded_ms = to_ms;
		return true;
	}

	#empty(ms) {
		return [new Date(ms), ...this.source.labels.map(() => null)];
	}

	/** Time of the oldest record in ms; @now_ms: there is none. */
	async oldest(now_ms) {
		const to = Math.ceil(now_ms / 1000);
		const { points } = await get(`${this.source.path}?from=${to - OLDEST_DAYS * DAY_S}&to=${to}&step=${DAY_S}`);
		return points.length ? Date.parse(points[0].time) : now_ms;
	}

	/** Adds live values, unless the steps of the history are long. */
	add(ms, object, period_ms, kept_ms) {
		const last = this.rows.at(-1);
		if ((this.loaded_ms && this.step_s > LIVE_STEP_S) || (last && ms - last[0] < period_ms / 4))
			return;
		if (last && ms - last[0] > 5 * Math.max(period_ms, 1000 * this.step_s))
			this.rows.push(this.#empty(last[0].getTime() + 1));
		this.rows.push([new Date(ms), ...this.source.row(object)]);
		while (this.rows.length > 2 && this.rows[1][0] < ms - kept_ms)
			this.rows.shift();
	}

	/** True if the history must be read again to show the newest values. */
	is_due(now_ms) {
		return this.step_s > LIVE_STEP_S && now_ms - this.loaded_ms > Math.max(this.step_s, 30) * 1000;
	}

	/** Describes the values between two times in words. */
	describe(from_ms, to_ms) {
		const { labels, unit } = this.source;
		const rows = this.rows.filter((r) => r[0] >= from_ms && r[0] <= to_ms);
		const of = (column) => rows.map((r) => r[column + 1]).filter((x) => x !== null);
		const range = (list) => {
			const [low, high] = list.reduce(([a, b], x) => [Math.min(a, x), Math.max(b, x)], [Infinity, -Infinity]).map((x) => number(x));
			return list.length === 0 ? "unknown" : low === high ? low : `${low} to ${high}`;
		};
		return labels.map((label, i) => `${label === "rate" ? unit : label} ${range(of(i))}${["rate", "target"].includes(label) ? "" : " %"}`).reverse().join("; ");
	}
}
