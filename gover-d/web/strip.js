// SPDX-License-Identifier: MIT
// The strip below the header: whether the page is up to date, and how many promises are broken. Its space is reserved, so that a
// message moves nothing.
import { by_id, h, set, set_text } from "./dom.js";
import { state_of } from "./order.js";
import { clock, span } from "./words.js";

const WORDS = ["missing", "broken", "short", "unknown", "kept"];

export class Strip {
	#live;

	constructor(live) {
		this.#live = live;
		this.parts = new Map(WORDS.map((word) => [word, h(`span.tally.t-${word}`)]));
		this.alerts = h("a.tally", { href: "#alerts" });
		this.vgpus = h("span.sub");
		by_id("state").append(this.vgpus);
		by_id("summary").append(...this.parts.values(), this.alerts);
		setInterval(() => this.state(), 1000);
	}

	/** Shows how many vGPUs are in which state. */
	update() {
		const { vgpus, alerts } = this.#live;
		const count = new Map();
		for (const v of vgpus) {
			const { word } = state_of(v);
			count.set(word, (count.get(word) ?? 0) + 1);
		}
		for (const [word, part] of this.parts) {
			part.hidden = !count.get(word);
			set_text(part, `${count.get(word) ?? 0} ${word}`);
		}
		set_text(this.vgpus, `· ${vgpus.length} vGPU${vgpus.length === 1 ? "" : "s"}`);
		const open = alerts.filter((a) => !a.acked_at && !a.silenced).length;
		set_text(this.alerts, `${alerts.length} alert${alerts.length === 1 ? "" : "s"}${alerts.length && open < alerts.length ? `, ${open} new` : ""}`);
		set(this.alerts, "class", `tally ${alerts.some((a) => a.severity === "critical") ? "t-broken" : alerts.length ? "t-short" : ""}`);
		const broken = (count.get("broken") ?? 0) + (count.get("missing") ?? 0);
		document.title = `${broken ? `${broken} broken · ` : ""}${alerts.length ? `(${alerts.length}) ` : ""}gover`;
	}

	#text() {
		const { state, why, fresh_ms, seen_ms } = this.#live;
		const time = seen_ms ? clock(seen_ms, this.#live.now_ms()) : "";
		const values = time ? ` Values are from ${time}.` : "";
		const age = span(Math.max(1, (performance.now() - fresh_ms) / 1000));
		const texts = {
			hung: `Daemon does not answer: no data for ${age}.${values}`,
			away: why ? `Disconnected (${why}), trying again.${values}` : `Daemon not reachable${time ? ` since ${time} (${age})` : ""}, trying again.`,
			denied: "Not signed in",
		};
		return texts[state] ?? state;
	}

	/** Shows whether the page is up to date. */
	state() {
		set_text(by_id("state-text"), this.#text());
		const { state } = this.#live;
		set(document.documentElement, "data-line", state);
		const old = ["hung", "away"].includes(state);
		by_id("summary").hidden = this.vgpus.hidden = old || !this.#live.host;
	}
}
