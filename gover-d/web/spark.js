// SPDX-License-Identifier: MIT
// Small lines for the rows of the table: the newest values of each vGPU and what they should reach.
import { rate_of } from "./words.js";

const KEPT = 120; /* values of a line */
const LEAST = 30; /* a line with fewer values is shorter */
const SVG = "http://www.w3.org/2000/svg";
const valid = (x) => (typeof x === "number" ? x : null);

/** What a line shows of a vGPU or a sample: the rate and its target or, without a target, the load and the cap. */
function pair(v) {
	const { rate, target } = rate_of(v);
	return target > 0 ? [valid(rate), target] : [valid(v.load_pct), valid(v.cap_pct)];
}

/** The newest values of all vGPUs. */
export class Recent {
	#of = new Map();

	values(id) {
		return this.#of.get(id)?.values ?? [];
	}

	#push(id, ms, value) {
		let recent = this.#of.get(id);
		if (!recent)
			this.#of.set(id, (recent = { values: [], ms: 0 }));
		if (ms <= recent.ms)
			return;
		recent.ms = ms;
		recent.values.push(value);
		if (recent.values.length > KEPT)
			recent.values.shift();
	}

	/** Adds the values of one period. */
	add(ms, vgpus) {
		for (const v of vgpus)
			this.#push(v.id, ms, pair(v));
		for (const id of this.#of.keys())
			if (!vgpus.some((v) => v.id === id))
				this.#of.delete(id);
	}

	/** Puts the samples of GET /v1/gpus/{name}/history before the values that are already known. */
	add_samples({ vgpus, columns, rows }) {
		const known = new Map(this.#of);
		for (const id of vgpus)
			this.#of.delete(id);
		for (const row of rows) {
			const sample = Object.fromEntries(columns.map((name, i) => [name, row[i]]));
			this.#push(vgpus[sample.vgpu], sample.time_ms, pair(sample));
		}
		for (const [id, { values, ms }] of known)
			if (ms > (this.#of.get(id)?.ms ?? 0) && !this.values(id).length)
				this.#of.set(id, { values, ms });
	}
}

/** An SVG of @width by @height units that is stretched to its cell. */
export class Spark {
	constructor(width, height) {
		this.size = [width, height];
		this.element = document.createElementNS(SVG, "svg");
		this.element.setAttribute("viewBox", `0 0 ${width} ${height}`);
		this.element.setAttribute("preserveAspectRatio", "none");
		this.element.setAttribute("aria-hidden", "true");
		this.element.setAttribute("class", "spark");
		this.wanted = this.#path("spark-wanted");
		this.line = this.#path("spark-line");
	}

	#path(name) {
		const path = document.createElementNS(SVG, "path");
		path.setAttribute("class", name);
		this.element.append(path);
		return path;
	}

	update(values) {
		const [width, height] = this.size;
		const top = values.reduce((max, [value, wanted]) => Math.max(max, value ?? 0, wanted ?? 0), 0) * 1.1 || 1;
		const room = Math.max(values.length, LEAST) - 1;
		const place = (i, x) => `${(width * (room + 1 - values.length + i) / room).toFixed(1)} ${(height - 1 - (height - 2) * x / top).toFixed(1)}`;
		for (const [path, column] of [[this.line, 0], [this.wanted, 1]]) {
			let text = "";
			values.forEach((pair, i) => {
				if (pair[column] !== null)
					text += `${i && values[i - 1][column] !== null ? "L" : "M"}${place(i, pair[column])}`;
			});
			path.setAttribute("d", text);
		}
	}
}
