// SPDX-License-Identifier: MIT
// Active alerts, most severe first, each with a button to acknowledge it. Screen readers announce only
// changes of this section.
import { by_id, h, keyed, set_text } from "./dom.js";
import { rest } from "./rest.js";
import { clock, spaced } from "./words.js";

const SIGNS = { critical: "✕", warning: "▲", info: "i" };
const RANK = { critical: 0, warning: 1, info: 2 };

const rank = (a) => RANK[a.severity] + (a.acked_at || a.silenced ? 10 : 0);

export class Alerts {
	#live;
	#ask_for_token;

	/** @ask_for_token(error, then): asks for a token and calls then() after the user has entered a token. */
	constructor(live, ask_for_token) {
		this.#live = live;
		this.#ask_for_token = ask_for_token;
	}

	update() {
		const alerts = [...this.#live.alerts].sort((a, b) => rank(a) - rank(b) || b.id - a.id);
		keyed(by_id("alert-list"), alerts, (a) => a.id, (a) => this.#make(a));
		by_id("no-alerts").hidden = alerts.length > 0;
		by_id("alert-list").hidden = alerts.length === 0;
		set_text(by_id("alert-count"), alerts.length || "");
		document.title = alerts.length ? `(${alerts.length}) gover` : "gover";
	}

	#make(first) {
		const state = h("span.sub");
		const text = h("span.alert-text");
		const button = h("button", { type: "button", "aria-label": `Acknowledge: ${spaced(first.name)}${first.vgpu ? ` of ${first.vgpu}` : ""}`, onclick: () => this.#ack(first, button) }, "Acknowledge");
		const element = h(`li.alert.${first.severity}`, { "data-id": first.id, "data-name": first.name },
			h("span.sign", { "aria-hidden": "true" }, SIGNS[first.severity] ?? "·"),
			h("span.alert-words", {}, h("strong", {}, `${first.severity}: ${spaced(first.name)}`), " ",
				first.vgpu ? h("span.badge.note", {}, first.vgpu) : null, " ", text, " ", state),
			button);
		return {
			element,
			update: (a) => {
				const now = this.#live.now_ms();
				set_text(text, a.text);
				set_text(state, `since ${clock(a.raised_at, now)}${a.acked_at ? `, acknowledged ${clock(a.acked_at, now)}` : ""}${a.silenced ? ", silenced" : ""}`);
				button.hidden = Boolean(a.acked_at);
				element.classList.toggle("is-known", Boolean(a.acked_at || a.silenced));
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
