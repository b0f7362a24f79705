// SPDX-License-Identifier: MIT
// The daemon's state as this page knows it: read once, then kept true by its events; read again when events were
// lost, and asked for again, with patience, when the daemon is away. Must never draw.
import { get, headers, problem_of, token } from "./rest.js";
import { events_of } from "./stream.js";

const DECISIONS_KEPT = 300;
const BACK_OFF_MS = [250, 500, 1000, 2000, 4000, 8000];
const SILENCE_MS = 40000; /* the daemon says something each 15 s */
const RESTING_MS = 15000;

/** The page is seen again, or @ms have passed. */
function seen_or(ms) {
	return new Promise((resolve) => {
		const timer = setTimeout(done, ms);
		function done() {
			clearTimeout(timer);
			document.removeEventListener("visibilitychange", done);
			resolve();
		}
		document.addEventListener("visibilitychange", done);
	});
}

/** @listener is told "state" (of the line), "host", "tick", "decisions", "alerts", "offers", "economics", "denied", "again". */
export class Live {
	host = null;
	gpus = [];
	vgpus = [];
	decisions = []; /* newest first */
	alerts = [];
	offers = [];
	economics = null;
	economics_span_s = 86400;
	state = "connecting"; /* live, away, resting (nobody looks), denied */
	why = ""; /* away, though a daemon answers */
	skew_ms = 0; /* the daemon's clock less ours */
	#listeners = [];
	#after = null;
	#was_live = false;
	#due = new Map();

	on(listener) {
		this.#listeners.push(listener);
	}

	#tell(what, detail) {
		for (const listener of this.#listeners)
			listener(what, detail);
	}

	now_ms() {
		return Date.now() + this.skew_ms;
	}

	#become(state, why = "") {
		this.why = why;
		this.state = state;
		this.#tell("state");
	}

	/** Runs for as long as the page is there. */
	async run() {
		let refused = null; /* a token: what was said of it */
		for (let failures = 0; ; ) {
			try {
				await this.#rest();
				await this.#follow(() => (failures = 0));
				this.#become("away");
			} catch (error) {
				if (document.hidden)
					continue;
				if (error.status === 401 && token.get()) { /* revoked, or never good: perhaps none is needed */
					token.drop();
					refused = error;
					continue;
				}
				this.#become(error.denied ? "denied" : "away", error.status ? error.message : "");
				if (error.denied)
					await new Promise((resolve) => this.#tell("denied", { error: refused ?? error, again: resolve }));
				refused = null;
			}
			await this.#pause(BACK_OFF_MS[Math.min(failures++, BACK_OFF_MS.length - 1)]);
		}
	}

	/** While nobody looks it keeps no line: a browser opens six to one daemon, for all its tabs. Alerts it still counts. */
	async #rest() {
		while (document.hidden) {
			this.#become("resting");
			await seen_or(RESTING_MS);
			if (document.hidden)
				await this.#read_alerts().catch(() => {});
		}
	}

	/** Or until the network, or the person, is back. */
	#pause(ms) {
		return new Promise((resolve) => {
			const timer = setTimeout(done, ms * (0.75 + Math.random() / 2));
			function done() {
				clearTimeout(timer);
				window.removeEventListener("online", done);
				resolve();
			}
			window.addEventListener("online", done);
		});
	}

	async #read_all() {
		await this.#read_host();
		await Promise.all([this.#read_alerts(), this.#read_offers(), this.#read_decisions(), this.read_economics()]);
	}

	async #read_host() {
		const host = await get("/v1/host");
		this.skew_ms = Date.parse(host.time) - Date.now();
		this.host = host;
		this.gpus = host.gpus;
		this.vgpus = host.vgpus;
		this.#tell("host");
		this.#tell("tick");
	}

	async #read_alerts() {
		this.alerts = (await get("/v1/alerts")).alerts;
		this.#tell("alerts");
	}

	async #read_offers() {
		this.offers = (await get("/v1/offers")).offers;
		this.#tell("offers");
	}

	async #read_decisions() {
		this.decisions = (await get(`/v1/decisions?limit=${DECISIONS_KEPT}`)).decisions.reverse();
		this.#tell("decisions");
	}

	async read_economics() {
		try {
			const from = Math.floor(this.now_ms() / 1000) - this.economics_span_s;
			this.economics = await get(`/v1/economics?from=${from}`);
		} catch (error) {
			if (error.denied)
				throw error;
			this.economics = null; /* a daemon without a history has none */
		}
		this.#tell("economics");
	}

	/** One reading of a kind for all that ask for it within a moment, and by the earliest time that was asked for. */
	#soon(what, read, ms = 120) {
		const due = Date.now() + ms;
		const waiting = this.#due.get(what);
		if (waiting && waiting.due <= due)
			return;
		clearTimeout(waiting?.timer);
		const timer = setTimeout(() => {
			this.#due.delete(what);
			read.call(this).catch(() => {}); /* the line itself tells when the daemon is away */
		}, ms);
		this.#due.set(what, { due, timer });
	}

	async #follow(succeeded) {
		const stop = new AbortController();
		let timer;
		const alive = () => {
			clearTimeout(timer);
			timer = setTimeout(() => stop.abort(new Error("the daemon has gone silent")), SILENCE_MS);
		};
		const unseen = () => document.hidden && stop.abort(new Error("nobody looks"));
		document.addEventListener("visibilitychange", unseen);
		alive();
		try {
			const more = this.#after ? { "Last-Event-ID": this.#after } : {};
			const response = await fetch("/v1/events", { headers: headers(more), cache: "no-store", credentials: "omit", signal: stop.signal });
			if (!response.ok)
				throw await problem_of(response);
			await this.#read_all(); /* with the line open already: nothing falls between */
			this.#become("live");
			succeeded();
			if (this.#was_live)
				this.#tell("again");
			this.#was_live = true;
			for await (const event of events_of(response, alive))
				this.#take(event);
		} finally {
			clearTimeout(timer);
			document.removeEventListener("visibilitychange", unseen);
			stop.abort();
		}
	}

	#take({ id, kind, data }) {
		const object = JSON.parse(data);
		if (id)
			this.#after = id;
		if (kind === "tick")
			this.#ticked(object);
		else if (kind === "decision")
			this.#decided(object);
		else if (kind === "alert")
			this.#soon("alerts", this.#read_alerts);
		else if (kind === "offer")
			this.#soon("offers", this.#read_offers);
		else if (kind === "change")
			this.#soon("host", this.#read_host);
		else if (kind === "lost")
			this.#soon("all", this.#read_all, 0);
	}

	#ticked({ vgpus }) {
		this.vgpus = vgpus;
		this.#tell("tick");
		this.#soon("gpus", this.#read_gpus, 0);
		this.#soon("host", this.#read_host, 10000);
		this.#soon("economics", this.read_economics, 30000);
	}

	async #read_gpus() {
		this.gpus = (await get("/v1/gpus")).gpus;
		this.#tell("gpus");
	}

	#decided(decision) {
		const at = this.decisions.findIndex((d) => d.id <= decision.id);
		if (at >= 0 && this.decisions[at].id === decision.id)
			this.decisions[at] = decision;
		else
			this.decisions.splice(at < 0 ? this.decisions.length : at, 0, decision);
		this.decisions.length = Math.min(this.decisions.length, DECISIONS_KEPT);
		this.#tell("decisions");
	}

	/** What a person has just changed is read at once. */
	async refresh() {
		await Promise.allSettled([this.#read_host(), this.#read_alerts(), this.#read_offers()]);
	}
}
