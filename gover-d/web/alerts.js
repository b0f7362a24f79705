// SPDX-License-Identifier: MIT
// Active alerts, most severe first, each with a button to acknowledge it, and the alert history. Screen readers announce only new active
// alerts.
import { by_id, h, keyed, set, set_text } from "./dom.js";
import { cause_text } from "./order.js";
import { get, rest } from "./rest.js";
import { clock, span, spaced } from "./words.js";

const SIGNS = { critical: "✕", warning: "▲", info: "i" };
const RANK = { critical: 0, warning: 1, info: 2 };
const PAST_SHOWN = 200;

const rank = (a) => (RANK[a.severity] ?? 1) + (a.acked_at || a.silenced ? 10 : 0);

/** The page of an alert in the runbook: a link if a browser can open it, otherwise its path. */
function runbook(url) {
	if (!url)
		return null;
	if (/^https?:\/\//.test(url))
		return h("a", { href: url, target: "_blank", rel: "noreferrer noopener" }, "Runbook");
	return h("span", {}, "Runbook: ", h("code", {}, url.replace(/^file:\/\//, "")));
}

/** The parts of an alert that do not change. */
function make(a, state, button) {
	const text = h("span.alert-text");
	const next = h("code");
	const next_row = h("span.alert-next", {}, "Next: ", next);
	const element = h(`li.alert.${a.severity}`, { "data-alert": a.id, "data-name": a.name },
		h("span.sign", { "aria-hidden": "true" }, SIGNS[a.severity] ?? "·"),
		h("div.alert-words", {},
			h("p", {}, h("strong", {}, `${a.severity}: ${spaced(a.name)}`), " ", a.vgpu ? h("span.badge.note", {}, a.vgpu) : null,
				a.cause ? h("span.badge.note", {}, cause_text(a.cause)) : null, " ", text),
			h("p.sub", {}, state, " ", next_row, " ", runbook(a.runbook_url))),
		button);
	return { element, fill(alert) {
		set_text(text, alert.text);
		set_text(next, alert.next ?? "");
		next_row.hidden = !alert.next;
	} };
}

export class Alerts {
	#live;
	#ask_for_token;
	#past = [];
	#shows_past = false;
	#asked = null;

	/** @ask_for_token(error, then): asks for a token and calls then() after the user has entered a token. */
	constructor(live, ask_for_token) {
		this.#live = live;
		this.#ask_for_token = ask_for_token;
		by_id("alerts-active").addEventListener("click", () => this.#show(false));
		by_id("alerts-past").addEventListener("click", () => this.#show(true));
	}

	/** Active and cleared alerts, as far as they were read. */
	get all() {
		const active = new Set(this.#live.alerts.map((a) => a.id));
		return [...this.#live.alerts, ...this.#past.filter((a) => !active.has(a.id))];
	}

	#show(past) {
		this.#shows_past = past;
		set(by_id("alerts-active"), "aria-pressed", String(!past));
		set(by_id("alerts-past"), "aria-pressed", String(past));
		this.update();
	}

	update() {
		const alerts = [...this.#live.alerts].sort((a, b) => rank(a) - rank(b) || b.id - a.id);
		keyed(by_id("alert-list"), alerts, (a) => a.id, (a) => this.#make(a));
		const past = this.#past.slice(0, PAST_SHOWN);
		keyed(by_id("past-list"), this.#shows_past ? past : [], (a) => a.id, (a) => this.#make_past(a));
		by_id("no-alerts").hidden = this.#shows_past || alerts.length > 0;
		by_id("alert-list").hidden = this.#shows_past || alerts.length === 0;
		by_id("no-past").hidden = !this.#shows_past || past.length > 0;
		by_id("past-list").hidden = !this.#shows_past || past.length === 0;
		set_text(by_id("alert-count"), alerts.length || "");
	}

	/** Reads the cleared alerts, if an alert was raised or cleared since the last call. */
	async load() {
		const state = this.#live.alerts.map((a) => a.id).join();
		if (this.#asked === state)
			return;
		this.#asked = state;
		const { alerts } = await get("/v1/alerts?all=true");
		this.#past = alerts.filter((a) => a.cleared_at).sort((a, b) => b.id - a.id);
		this.update();
	}

	#make(first) {
		const state = h("span");
		const button = h("button", { type: "button", "aria-label": `Acknowledge: ${spaced(first.name)}${first.vgpu ? ` of ${first.vgpu}` : ""}`, onclick: () => this.#ack(first, button) }, "Acknowledge");
		const part = make(first, state, button);
		return {
			element: part.element,
			update: (a) => {
				const now = this.#live.now_ms();
				part.fill(a);
				const acked = a.acked_at ? `, acknowledged ${clock(a.acked_at, now)}${a.acked_by ? ` by ${a.acked_by}` : ""}` : "";
				set_text(state, `since ${clock(a.raised_at, now)}${acked}${a.silenced ? ", silenced" : ""}`);
				button.hidden = Boolean(a.acked_at);
				part.element.classList.toggle("is-known", Boolean(a.acked_at || a.silenced));
			},
		};
	}

	#make_past(first) {
		const state = h("span");
		const part = make(first, state, null);
		part.element.classList.add("is-known");
		return {
			element: part.element,
			update: (a) => {
				const now = this.#live.now_ms();
				part.fill({ ...a, next: null });
				const lasted = span((Date.parse(a.cleared_at) - Date.parse(a.raised_at)) / 1000);
				set_text(state, `${clock(a.raised_at, now)}, lasted ${lasted}${a.acked_at ? `, acknowledged${a.acked_by ? ` by ${a.acked_by}` : ""}` : ", not acknowledged"}`);
			},
		};
	}

	async #ack(alert, button) {
		button.disabled = true;
		try {
			await rest("POST", `/v1/alerts/${alert.id}/ack`);
			await this.#live.refresh();
			by_id("alerts-title").focus(); /* the button that had the focus is hidden now */
		} catch (error) {
			if (error.denied)
				this.#ask_for_token(error, () => this.#ack(alert, button));
			else
				set_text(by_id("spoken"), `Acknowledging failed: ${error.message}`);
		} finally {
			button.disabled = false;
		}
	}
}
