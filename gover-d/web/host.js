// SPDX-License-Identifier: MIT
// The host section: use, sold caps and shares of each GPU, the state of the daemon, and the GPU over time.
import { by_id, h, keyed, meter, set, set_text, set_width } from "./dom.js";
import { ChartPanel } from "./panel.js";
import { gpu_source } from "./series.js";
import { milliseconds, money, number, percent, span } from "./words.js";

const LABELLED_PCT = 14; /* smaller parts of the bar have no room for a name */
const LISTED = 10; /* vGPUs in the description of the bar */

const MODES = {
	act: "acting",
	observe: "observing: logs decisions, writes nothing",
	frozen: "frozen: makes no decisions",
};

function tile(label) {
	const p = { value: h("dd.value"), note: h("dd.note") };
	return { element: h("div.tile", {}, h("dt", {}, label), p.value, p.note), ...p };
}

function segment() {
	const used = h("span.used");
	const [name, cap] = [h("span.name"), h("span")];
	const label = h("span.label", {}, name, cap);
	const element = h("span.segment", {}, used, label);
	return {
		element,
		update({ id, width, share, cap_pct, kind }) {
			set_width(element, width);
			set_width(used, 100 * share);
			label.hidden = width < LABELLED_PCT;
			set_text(name, id || "free");
			set_text(cap, percent(cap_pct));
			set(element, "class", `segment ${kind}`);
			set(element, "title", `${name.textContent} ${cap.textContent}`);
		},
	};
}

function shares(gpu, vgpus) {
	const sum = Math.max(100, vgpus.reduce((n, v) => n + (v.cap_pct || 0), 0));
	const list = vgpus.map((v) => ({
		id: v.id,
		width: 100 * v.cap_pct / sum,
		share: v.cap_pct ? Math.min(1, (v.load_pct ?? 0) / v.cap_pct) : 0,
		cap_pct: v.cap_pct,
		kind: v.overloaded ? "full" : "",
	}));
	if (gpu.free_pct > 0)
		list.push({ id: "", width: 100 * gpu.free_pct / sum, share: 0, cap_pct: gpu.free_pct, kind: "free" });
	return list;
}

function make_gpu(live, first) {
	const busy = tile("GPU busy");
	const bar = meter();
	busy.value.after(bar.element);
	const sold = tile("Overbooking");
	const calm = tile("Calm");
	const state = h("span.sub");
	const segments = h("div.segments", { role: "img" });
	const caps_label = h("span.caps-label", { "aria-hidden": "true" });
	const element = h("div.gpu", {},
		h("h3.gpu-name", {}, first.name, " ", state),
		h("dl.tiles", {}, busy.element, sold.element, calm.element),
		h("div.caps", {}, caps_label, segments));
	return {
		element,
		update(gpu) {
			const vgpus = live.vgpus.filter((v) => v.gpu === gpu.name);
			set_text(state, `${gpu.backend} · ${MODES[gpu.mode] ?? gpu.mode} · ${gpu.no_sale_reason === null ? "selling" : `not selling: ${gpu.selling === "on" ? gpu.no_sale_reason : "off"}`}${gpu.sharing === "guarantee" ? " · caps are guarantees" : ""}${gpu.telemetry_valid ? "" : " · busy time unreadable"}`);
			set_text(busy.value, percent(gpu.util_pct));
			set_text(busy.note, `mean ${percent(gpu.mean_util_pct)}, by vGPUs ${percent(gpu.load_pct)}`);
			bar.update((gpu.util_pct ?? 0) / 100);
			set_text(sold.value, `${number(gpu.overbooking_ratio, 2)} ×`);
			set_text(sold.note, `${percent(gpu.sum_initial_cap_pct)} sold, ${number(gpu.vgpus)} of ${number(gpu.max_vgpus)} vGPUs`);
			set_text(calm.value, `${number(gpu.calm_periods)}`);
			set_text(calm.note, "periods in which no contract lacked capacity");
			set_text(caps_label, `Caps in force and their use, ${percent(gpu.free_pct)} free`);
			segments.classList.toggle("is-dense", vgpus.length > LISTED);
			keyed(segments, shares(gpu, vgpus), (s) => s.id, segment);
			const shares_text = vgpus.slice(0, LISTED).map((v) => `${v.id} has ${percent(v.cap_pct)} and uses ${percent(v.load_pct)}`)
				.concat(vgpus.length > LISTED ? `and ${vgpus.length - LISTED} more` : []).join(", ");
			set(segments, "aria-label", `Caps of ${gpu.name}: ${shares_text || "no vGPUs"}; free ${percent(gpu.free_pct)}`);
		},
	};
}

/** The chart of one GPU over time. */
export class History {
	#live;
	#name = "";

	constructor(live) {
		this.#live = live;
		this.chart = new ChartPanel(by_id("history-chart"), live, [["l-cap", "caps in force"], ["l-used", "used by vGPUs"], ["l-up", "decision"], ["l-alert", "alert"]]);
		this.select = by_id("history-gpu");
		this.select.addEventListener("change", () => this.#choose(this.select.value));
	}

	#choose(name) {
		this.#name = name;
		this.chart.show(gpu_source(name));
	}

	update() {
		const names = this.#live.gpus.map((g) => g.name);
		if (this.select.dataset.names !== names.join()) {
			this.select.dataset.names = names.join();
			this.select.replaceChildren(...names.map((name) => h("option", { value: name }, name)));
			this.select.hidden = names.length < 2;
			if (names.length && !names.includes(this.#name))
				this.#choose(names[0]);
			this.select.value = this.#name;
		}
	}

	/** Called once per period, after the GPUs were read. */
	tick() {
		const gpu = this.#live.gpus.find((g) => g.name === this.#name);
		if (gpu)
			this.chart.tick(gpu);
	}

	/** Marks the alerts and the decisions of the GPU. @marks_of(wanted): marks of the decisions and alerts for which wanted() is true. */
	mark(marks_of) {
		this.chart.mark(marks_of((o) => o.gpu === this.#name));
	}
}

export class Host {
	#live;

	constructor(live) {
		this.#live = live;
		this.loop = tile("Decision loop");
		this.earned = tile("Profit, last day");
		by_id("host-tiles").append(this.earned.element, this.loop.element);
	}

	update() {
		const live = this.#live;
		const host = live.host;
		keyed(by_id("gpus"), live.gpus, (g) => g.name, (g) => make_gpu(live, g));
		by_id("host").classList.toggle("several", live.gpus.length > 1);
		set_text(this.loop.value, milliseconds(host.tick_p99_us));
		set_text(this.loop.note, `p99 of ${number(host.ticks)} periods, ${number(host.late_ticks)} late; up ${span(host.uptime_s)}`);
		set_text(by_id("version"), `gover ${host.version}${host.dry_run ? " · dry run" : ""}`);
	}

	money(economics, has_prices) {
		this.earned.element.hidden = Boolean(economics) && !has_prices;
		set_text(this.earned.value, economics ? money(economics.profit, economics.revenue) : "–");
		set_text(this.earned.note, economics ? `${money(economics.revenue)} revenue, ${money(economics.penalty ?? 0, economics.revenue)} penalties` : "no history");
	}
}
