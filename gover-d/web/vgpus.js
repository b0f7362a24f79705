// SPDX-License-Identifier: MIT
// The table of vGPUs: one line each. Rows are updated in place. Their order changes only while neither the pointer nor the focus is in the
// table, or on request.
import { by_id, h, keyed, set, set_text } from "./dom.js";
import { ORDERS, broken_ids, cause_text, matcher, notes_of, state_of } from "./order.js";
import { get } from "./rest.js";
import { Recent, Spark } from "./spark.js";
import { NONE, counts_work, number, percent, rate_of, short, small_percent } from "./words.js";

const SORT_MS = 15000; /* time between two changes of the order, unless another promise is broken */
const SORT_LEAST_MS = 3000;
const SAMPLES = 4900; /* rows of one page of samples */
const RECENT_S = 120;
const ROWS_FIRST = 20; /* rows of the first screen; the others follow in steps, so that no step takes long */
const ROWS_STEP = 11;

export class Vgpus {
	#live;
	#rows = new Map();
	#recent = new Recent();
	#order = []; /* ids */
	#broken = "";
	#sorted_ms = 0;
	#rows_max = ROWS_FIRST;
	#inside = false; /* the pointer is over the table */
	#select;
	#watcher = new IntersectionObserver((entries) => this.#seen(entries), { rootMargin: "100px" });
	selected = null;

	/** @select(id, by_user): shows the details of vGPU @id; null: of none. */
	constructor(live, select) {
		this.#live = live;
		this.#select = select;
		const box = by_id("vgpu-box");
		box.addEventListener("pointerenter", () => (this.#inside = true));
		box.addEventListener("pointerleave", () => this.#leave());
		box.addEventListener("focusout", () => setTimeout(() => this.update()));
		by_id("order").addEventListener("change", () => this.#sort_now());
		by_id("sort-now").addEventListener("click", () => this.#sort_now());
		by_id("filter").addEventListener("input", () => this.update());
		by_id("vgpu-rows").addEventListener("click", (event) => this.#clicked(event));
		by_id("vgpu-rows").addEventListener("keydown", (event) => this.#key(event));
	}

	#leave() {
		this.#inside = false;
		this.update();
	}

	#clicked(event) {
		const row = event.target.closest("tr");
		if (row)
			this.#select(row.dataset.vgpu, true);
	}

	/** The arrow keys move the focus to the next or previous vGPU. */
	#key(event) {
		const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
		const next = step && event.target.closest("tr")?.[step];
		if (!next)
			return;
		event.preventDefault();
		next.querySelector("button").focus();
	}

	#sort_now() {
		this.#order = [];
		this.update();
	}

	/** The vGPU with the worst state. */
	worst() {
		return [...this.#live.vgpus].sort(ORDERS.worst)[0] ?? null;
	}

	/** Puts the vGPUs in order. The order stays if only values have changed, and while the table is in use. */
	#sort(vgpus) {
		const order = by_id("order").value;
		const now = performance.now();
		const broken = broken_ids(vgpus);
		const known = new Set(this.#order);
		const in_use = this.#inside || by_id("vgpu-box").contains(document.activeElement);
		const wanted = [...vgpus].sort(ORDERS[order]).map((v) => v.id);
		const due = !known.size || (!in_use && now - this.#sorted_ms > (broken !== this.#broken ? SORT_LEAST_MS : SORT_MS));
		if (due) {
			this.#order = wanted;
			this.#broken = broken;
			this.#sorted_ms = now;
		} else {
			this.#order.push(...wanted.filter((id) => !known.has(id)));
		}
		const present = new Set(wanted);
		const shown = this.#order.filter((id) => present.has(id));
		by_id("sort-now").classList.toggle("is-needed", shown.join() !== wanted.join() && in_use);
		const at = new Map(this.#order.map((id, i) => [id, i]));
		return [...vgpus].sort((a, b) => at.get(a.id) - at.get(b.id));
	}

	update() {
		const { vgpus, gpus } = this.#live;
		const several = gpus.length > 1;
		const text = by_id("filter").value;
		const shown = this.#sort(vgpus).filter(matcher(text));
		keyed(by_id("vgpu-rows"), shown.slice(0, this.#rows_max), (v) => v.id, (v) => this.#make(v, several), (row) => this.#forget(row));
		by_id("no-vgpus").hidden = vgpus.length > 0;
		by_id("no-match").hidden = shown.length > 0 || !vgpus.length;
		by_id("vgpus").classList.toggle("few", vgpus.length <= 6);
		set_text(by_id("vgpu-count"), shown.length < vgpus.length ? `${shown.length} of ${vgpus.length}` : vgpus.length);
		set_text(by_id("rate-head"), vgpus.some(counts_work) ? "FPS or units/s" : "FPS");
	}

	/** Makes the rows that are not on the first screen. */
	async make_all() {
		while (this.#rows_max < this.#live.vgpus.length) {
			await new Promise((resolve) => setTimeout(resolve, 30));
			this.#rows_max += ROWS_STEP;
			this.update();
		}
		this.#rows_max = Infinity;
	}

	/** Called once per period. */
	tick() {
		this.#recent.add(this.#live.now_ms(), this.#live.vgpus);
		for (const row of this.#rows.values())
			this.#draw(row);
	}

	/** Reads the newest samples, so that the lines do not begin empty: one page of each GPU. */
	async load() {
		const { gpus, vgpus, host } = this.#live;
		for (const gpu of gpus) {
			const n = vgpus.filter((v) => v.gpu === gpu.name).length;
			const range_s = Math.min(RECENT_S * host.period_ms / 1000, Math.floor(SAMPLES * host.period_ms / 1000 / Math.max(n, 1)));
			const from = Math.floor(this.#live.now_ms() / 1000 - Math.max(range_s, 1));
			this.#recent.add_samples(await get(`/v1/gpus/${encodeURIComponent(gpu.name)}/history?from=${from}`));
		}
	}

	#draw(row) {
		if (row.visible && !document.hidden)
			row.spark.update(this.#recent.values(row.id));
	}

	#seen(entries) {
		for (const entry of entries) {
			const row = this.#rows.get(entry.target.dataset.vgpu);
			if (!row)
				continue;
			row.visible = entry.isIntersecting;
			this.#draw(row);
		}
	}

	/** Marks the row of vGPU @id as selected. */
	mark(id) {
		this.selected = id;
		for (const row of this.#rows.values())
			this.#mark(row);
	}

	#mark(row) {
		row.element.classList.toggle("is-selected", row.id === this.selected);
		set(row.button, "aria-pressed", String(row.id === this.selected));
	}

	/** Moves the focus to the row of vGPU @id, if it is shown. */
	focus(id) {
		this.#rows.get(id)?.button.focus({ preventScroll: true });
	}

	#forget(row) {
		this.#watcher.unobserve(row.element);
		this.#rows.delete(row.id);
	}

	#make(first, several) {
		const p = {
			vm: h("span.vm"), badge: h("span.badge"), sign: h("span", { "aria-hidden": "true" }), word: h("span"),
			cause: h("span.cause"), fps: h("span.now"), target: h("span.of"), use: h("span"), cap: h("span.now"), sold: h("span.of"), broken: h("span"),
		};
		p.badge.append(p.sign, p.word);
		const button = h("button.id", { type: "button", title: first.id, "aria-label": `Details of ${first.id}` }, first.id);
		const spark = new Spark(120, 22);
		const element = h("tr", { "data-vgpu": first.id },
			h("th", { scope: "row" }, h("span.cell", {}, button, p.vm)),
			h("td.c-promise", {}, h("span.cell", {}, p.badge, p.cause)),
			h("td.number.c-rate", {}, p.fps, p.target), h("td.number.c-use", {}, p.use),
			h("td.number.c-cap", {}, p.cap, p.sold), h("td.number.c-broken", {}, p.broken),
			h("td.c-spark", {}, spark.element));
		const row = { id: first.id, element, button, spark, visible: false, update: (v) => this.#fill(row, p, v, several) };
		this.#rows.set(first.id, row);
		this.#watcher.observe(element);
		this.#mark(row);
		return row;
	}

	#fill(row, p, v, several) {
		const { kind, sign, word } = state_of(v);
		const notes = notes_of(v).map((n) => n[2]).filter((note) => !v.cause || note !== "overloaded"); /* the cause says more */
		const { rate, target } = rate_of(v);
		set_text(p.vm, [v.vm, several ? v.gpu : null].filter(Boolean).join(" · "));
		set(p.badge, "class", `badge ${kind}`);
		set_text(p.sign, `${sign} `);
		set_text(p.word, word);
		set_text(p.cause, [cause_text(v.cause), ...notes].filter(Boolean).join(", "));
		set(p.cause, "title", p.cause.textContent || null);
		set_text(p.fps, rate === null ? NONE : number(rate, rate < 100 ? 1 : 0));
		set_text(p.target, target > 0 ? ` / ${short(target)}` : "");
		set_text(p.use, percent(v.util_pct));
		set_text(p.cap, percent(v.cap_pct));
		set_text(p.sold, ` / ${number(v.initial_cap_pct)}`);
		set_text(p.broken, small_percent(v.broken_time_pct));
		set(row.element, "class", `s-${kind}${row.id === this.selected ? " is-selected" : ""}`);
	}
}
