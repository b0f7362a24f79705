// SPDX-License-Identifier: MIT
// The host section: use, sold caps and shares of each GPU, and the state of the daemon.
import { by_id, h, keyed, meter, set_text, set } from "./dom.js";
import { clock, milliseconds, money, number, percent, span } from "./words.js";

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
	const [name, cap] = [h("span.id"), h("span")];
	const element = h("span.segment", {}, used, h("span.label", {}, name, cap));
	return {
		element,
		update({ id, width, share, cap_pct, kind }) {
			element.style.width = `${width}%`;
			used.style.width = `${100 * share}%`;
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
	const element = h("div.gpu", {},
		h("h3.gpu-name", {}, first.name, " ", state),
		h("dl.tiles", {}, busy.element, sold.element, calm.element),
		h("div.caps", {}, h("span.caps-label", { "aria-hidden": "true" }, "Caps in force and their use"), segments));
	return {
		element,
		update(gpu) {
			const vgpus = live.vgpus.filter((v) => v.gpu === gpu.name);
			set_text(state, `${gpu.backend} · ${MODES[gpu.mode] ?? gpu.mode} · ${gpu.selling === "on" ? "selling" : "not selling"}${gpu.telemetry_valid ? "" : " · busy time unreadable"}`);
			set_text(busy.value, percent(gpu.util_pct));
			set_text(busy.note, `mean ${percent(gpu.mean_util_pct)}, by vGPUs ${percent(gpu.load_pct)}`);
			bar.update((gpu.util_pct ?? 0) / 100);
			set_text(sold.value, `${number(gpu.overbooking_ratio, 2)} ×`);
			set_text(sold.note, `${percent(gpu.sum_initial_cap_pct)} sold, ${number(gpu.vgpus)} of ${number(gpu.max_vgpus)} vGPUs`);
			set_text(calm.value, `${number(gpu.calm_periods)}`);
			set_text(calm.note, "periods without overload");
			keyed(segments, shares(gpu, vgpus), (s) => s.id, segment);
			const shares_text = vgpus.map((v) => `${v.id} has ${percent(v.cap_pct)} and uses ${percent(v.load_pct)}`).join(", ");
			set(segments, "aria-label", `Caps of ${gpu.name}: ${shares_text || "no vGPUs"}; free ${percent(gpu.free_pct)}`);
		},
	};
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

	money(economics) {
		const known = economics && economics.profit !== null;
		set_text(this.earned.value, known ? money(economics.profit, economics.revenue) : "–");
		set_text(this.earned.note, known ? `${money(economics.revenue)} revenue, ${money(economics.penalty ?? 0, economics.revenue)} penalties`
			: economics ? "no price is set" : "no history");
	}

	/** Shows whether the page is up to date. */
	state() {
		const live = this.#live;
		if (live.state === "live")
			this.#left = null;
		else
			this.#left ??= new Date(live.now_ms());
		const away = live.why ? `disconnected (${live.why}), trying again` : `daemon not reachable since ${clock(this.#left, live.now_ms())}, trying again`;
		set_text(by_id("state-text"), { away, denied: "token required" }[live.state] ?? live.state);
		document.documentElement.dataset.line = live.state;
	}
	#left = null;
}
