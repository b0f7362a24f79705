// SPDX-License-Identifier: MIT
// The details of the selected vGPU: diagnosis, chart, contract and last decisions. Beside the table on a wide screen, otherwise a dialog.
import { make as make_decision } from "./decisions.js";
import { by_id, h, keyed, set, set_text } from "./dom.js";
import { cause_text, notes_of, state_of } from "./order.js";
import { ChartPanel } from "./panel.js";
import { get } from "./rest.js";
import { vgpu_source } from "./series.js";
import { NONE, ago, clock, counts_work, memory, number, percent, rate_of, short, small_percent, span } from "./words.js";

const WIDE = matchMedia("(min-width: 1200px)");
const ASK_MS = 5000; /* time between two readings of a diagnosis */
const SHOWN = 8; /* decisions */

const LEGEND = [["l-fps", "rate"], ["l-target", "target"], ["l-cap", "cap"], ["l-used", "used"], ["l-up", "received (▽ gave)"], ["l-alert", "alert"]];

/** The contract and the measurements of a vGPU: [name, text]. */
function facts(v, now_ms) {
	const { rate, target } = rate_of(v);
	const unit = counts_work(v) ? "units/s" : "FPS";
	const labels = Object.entries(v.labels ?? {}).map(([name, value]) => `${name}=${value}`).join(" ");
	const counted = v.counted_since ?? null;
	return [
		["Virtual machine", v.vm || "unknown"],
		["GPU", v.gpu],
		["Rate", rate === null && !target ? null : `${rate === null ? NONE : number(rate, 1)}${target > 0 ? ` of ${short(target)}` : ""} ${unit}`],
		["Frame time", v.frame_p99_ms === null ? null : `p99 ${number(v.frame_p99_ms, 1)} ms`],
		["Cap", `${percent(v.cap_pct)} of ${percent(v.initial_cap_pct)} sold, floor ${percent(v.floor_pct)}`],
		["Use", `${percent(v.util_pct)} of the cap, ${percent(v.load_pct, 1)} of the GPU`],
		["Broken", `${small_percent(v.broken_time_pct)} of the time: ${span(v.broken_s)} of ${span(v.seen_s)}`],
		["Counted since", counted ? clock(counted, now_ms) : null],
		["Steals", `${number(v.steals_in)} received, ${number(v.steals_out)} given`],
		["Memory", v.memory_used_mib === null && !v.memory_mib ? null : `${memory(v.memory_used_mib)}${v.memory_mib || v.memory_max_mib ? ` of ${memory(v.memory_mib || v.memory_max_mib)}` : ", no limit"}`],
		["Flavour", v.flavor || null],
		["Labels", labels || null],
		["Created", v.created_at ? clock(v.created_at, now_ms) : null],
	].filter(([, text]) => text !== null);
}

function make_fact([name]) {
	const text = h("dd");
	return { element: h("div", {}, h("dt", {}, name), text), update: ([, value]) => set_text(text, value) };
}

export class Details {
	#live;
	#id = null;
	#asked_ms = 0;
	#state = "";
	#decisions = [];

	/** @closed(id): the user has closed the details of vGPU @id. @explain(id): shows all its decisions. */
	constructor(live, { closed, explain }) {
		this.#live = live;
		this.dialog = by_id("details");
		this.chart = new ChartPanel(by_id("details-chart"), live, LEGEND);
		by_id("details-close").addEventListener("click", () => this.dialog.close());
		this.dialog.addEventListener("close", () => {
			const id = this.#id;
			if (WIDE.matches)
				return this.#open();
			this.#id = null;
			closed(id);
		});
		by_id("details-why").addEventListener("click", () => {
			const id = this.#id;
			if (!WIDE.matches)
				this.dialog.close();
			explain(id);
		});
		by_id("diagnosis-copy").addEventListener("click", () => this.#copy());
		WIDE.addEventListener("change", () => this.#fit(closed));
		this.#open();
	}

	get is_wide() {
		return WIDE.matches;
	}

	/** Opens the pane without moving the focus; on a narrow screen, opens the dialog if a vGPU is selected. */
	#open() {
		if (this.dialog.open)
			return;
		if (WIDE.matches)
			this.dialog.setAttribute("open", "");
		else if (this.#id)
			this.dialog.showModal();
	}

	/** The width of the window has passed the limit: a pane is removed, a dialog becomes the pane when it has closed. */
	#fit(closed) {
		if (WIDE.matches) {
			if (this.dialog.open)
				this.dialog.close();
			this.#open();
			return;
		}
		this.dialog.removeAttribute("open");
		this.#id = null;
		closed(null);
	}

	select(id) {
		if (id !== this.#id) {
			this.#id = id;
			this.#asked_ms = 0;
			this.#decisions = [];
			by_id("diagnosis").dataset.shown = "";
			const v = this.#find();
			if (v)
				this.chart.show(vgpu_source(id, counts_work(v)));
		}
		this.#open();
		this.update();
	}

	#find() {
		return this.#live.vgpus.find((v) => v.id === this.#id);
	}

	update() {
		const id = this.#id;
		const v = this.#find();
		by_id("no-details").hidden = Boolean(id);
		by_id("details-body").hidden = !id;
		set_text(by_id("details-title"), id ?? "Details");
		if (!id)
			return;
		const now = this.#live.now_ms();
		const { kind, sign, word } = v ? state_of(v) : { kind: "bad", sign: "✕", word: "removed" };
		const badges = [[kind, sign, word, ""], ...(v ? notes_of(v) : [])];
		keyed(by_id("details-badges"), badges, (b) => b[2] + b[0], ([k, s, text, meaning]) => ({
			element: h(`span.badge.${k}`, { title: meaning || null }, h("span", { "aria-hidden": "true" }, `${s} `), text), update() {},
		}));
		if (v)
			keyed(by_id("details-facts"), facts(v, now), (f) => f[0], make_fact);
		this.#ask(v, now);
		this.#list();
	}

	tick() {
		const v = this.#find();
		if (v)
			this.chart.tick(v);
	}

	/** Reads diagnosis and decisions again after some time, or at once if the state has changed. */
	#ask(v, now) {
		const state = v ? `${v.promise}${v.cause}${v.broken}${v.last_decision_id}` : "removed";
		const due = !this.#asked_ms || now - this.#asked_ms > ASK_MS || (state !== this.#state && now - this.#asked_ms > 1000);
		if (!due || document.hidden)
			return;
		this.#asked_ms = now;
		this.#state = state;
		const id = this.#id;
		this.#diagnose(id);
		get(`/v1/decisions?limit=${SHOWN}&vgpu=${encodeURIComponent(id)}`).then(({ decisions }) => {
			if (id !== this.#id)
				return;
			this.#decisions = decisions.reverse();
			this.#list();
		}).catch(() => {});
	}

	async #diagnose(id) {
		let diagnosis = null;
		if (this.#live.vgpus.every((v) => v.promise !== undefined)) { /* otherwise this is an older daemon */
			try {
				diagnosis = await get(`/v1/vgpus/${encodeURIComponent(id)}/diagnosis`);
			} catch {
				/* the decisions below are shown without it */
			}
		}
		if (id === this.#id)
			this.#show_diagnosis(diagnosis, this.#find());
	}

	#show_diagnosis(d, v) {
		const box = by_id("diagnosis");
		const text = d?.text ?? this.#plain(v);
		set(box, "class", `diagnosis ${v ? state_of(v).kind : "bad"}`);
		set_text(by_id("diagnosis-text"), text);
		set_text(by_id("diagnosis-fix"), d?.fix ? `To fix it: ${d.fix}.` : "");
		set_text(by_id("diagnosis-command"), d?.command ?? "");
		by_id("diagnosis-command-row").hidden = !d?.command;
		const since = d?.since ? `since ${clock(d.since, this.#live.now_ms())} (${ago((this.#live.now_ms() - Date.parse(d.since)) / 1000)})` : "";
		set_text(by_id("diagnosis-since"), [cause_text(d?.cause), since].filter(Boolean).join(", "));
	}

	/** A sentence about a vGPU for a daemon that has no diagnosis. */
	#plain(v) {
		if (!v)
			return `${this.#id} was removed.`;
		const { rate, target } = rate_of(v);
		const unit = counts_work(v) ? "units/s" : "FPS";
		const rates = target > 0 ? `${v.id} gets ${number(rate, 1)} of ${short(target)} ${unit}` : `${v.id} has no target and uses ${percent(v.load_pct, 1)} of the GPU`;
		const { word } = state_of(v);
		return word === "kept" ? `${rates}: the promise is kept.` : word === "short" ? `${rates}, but is not limited by the GPU.` : `${rates}. Its promise is ${word}. The last decisions are listed below.`;
	}

	#list() {
		const now = this.#live.now_ms();
		keyed(by_id("details-decisions"), this.#decisions, (d) => d.id, (d) => make_decision(d, now, "details"));
		by_id("no-details-decisions").hidden = this.#decisions.length > 0;
	}

	async #copy() {
		const text = by_id("diagnosis-command").textContent;
		try {
			await navigator.clipboard.writeText(text);
			set_text(by_id("spoken"), "Command copied.");
			set_text(by_id("diagnosis-copy"), "Copied");
			setTimeout(() => set_text(by_id("diagnosis-copy"), "Copy"), 2000);
		} catch {
			getSelection().selectAllChildren(by_id("diagnosis-command")); /* browsers copy only over https and on localhost */
		}
	}
}
