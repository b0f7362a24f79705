// SPDX-License-Identifier: MIT
// A copy of the daemon's state: read once, then updated by events. The state is read again after lost events. While the daemon
// is not reachable, the page tries again with increasing delays. Other files draw the state.
import { get, headers, problem_of, token } from "./rest.js";
import { events_of } from "./stream.js";

const DECISIONS_KEPT = 300;
const DECISIONS_FIRST = 10; /* read before the page is shown; the others follow */
const AGAIN_MS = 1500; /* after the first reading */
const BACK_OFF_MS = [250, 500, 1000, 2000, 4000, 8000];
const SILENCE_MS = 40000; /* after this time without data the page connects again */
/* The daemon hangs if no tick arrived for 2.5 periods, so that this is visible within 3. The minimum tolerates a slow network. */
const HUNG_PERIODS = 2.5;
const HUNG_MIN_MS = 1500;
const PAUSED_POLL_MS = 15000;

/** Waits until the page becomes visible, but at most @ms milliseconds. */
function visible_or(ms) {
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

/** Listeners receive "state", "host", "gpus", "tick", "decisions", "alerts", "offers", "economics", "denied", "ready" and "again". */
export class Live {
	host = null;
	gpus = [];
	vgpus = [];
	decisions = []; /* newest first */
	alerts = [];
	offers = [];
	economics = null;
	economics_span_s = 86400;
	state = "connecting"; /* connecting, live, hung (no ticks), away, paused (page hidden), denied */
	why = ""; /* reason for state "away" if the daemon answers with an error */
	skew_ms = 0; /* clock of the daemon minus clock of the browser */
	seen_ms = 0; /* time of the newest values, by the clock of the daemon; 0: none */
	fresh_ms = performance.now(); /* the same by the clock of this page, which is never set */
	#hung_timer = 0;
	#listeners = [];
	#after = null;
	#was_live = false;
	#due = new Map();

	on(listener) {
		this.#listeners.push(listener);
	}

	#notify(what, detail) {
		for (const listener of this.#listeners)
			listener(what, detail);
	}

	now_ms() {
		return Date.now() + this.skew_ms;
	}

	#become(state, why = "") {
		this.why = why;
		this.state = state;
		this.#notify("state");
	}

	/** Notes that values have arrived, and expects the next ones within a few periods. */
	#fresh() {
		this.seen_ms = this.now_ms();
		this.fresh_ms = performance.now();
		if (this.state === "hung")
			this.#become("live");
		clearTimeout(this.#hung_timer);
		this.#hung_timer = setTimeout(() => {
			if (this.state === "live")
				this.#become("hung");
		}, Math.max(HUNG_PERIODS * (this.host?.period_ms ?? 1000), HUNG_MIN_MS));
	}

	/** Runs until the page is closed. */
	async run() {
		let refused = null; /* error of the daemon for an invalid token */
		for (let failures = 0; ; ) {
			try {
				await this.#wait_until_visible();
				await this.#follow(() => (failures = 0));
				this.#become("away");
			} catch (error) {
				if (document.hidden)
					continue;
				if (error.status === 401 && token.get()) { /* the token is invalid: try without a token */
					token.drop();
					refused = error;
					continue;
				}
				this.#become(error.denied ? "denied" : "away", error.status ? error.message : "");
				if (error.denied)
					await new Promise((resolve) => this.#notify("denied", { error: refused ?? error, again: resolve }));
				refused = null;
			}
			await this.#pause(BACK_OFF_MS[Math.min(failures++, BACK_OFF_MS.length - 1)]);
		}
	}

	/** A hidden page closes its stream, because a browser opens at most six connections to a host. It still polls alerts. */
	async #wait_until_visible() {
		while (document.hidden) {
			this.#become("paused");
			await visible_or(PAUSED_POLL_MS);
			if (document.hidden)
				await this.#read_alerts().catch(() => {});
		}
	}

	/** Waits about @ms milliseconds, or until the network is back. */
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

	async #read_all(decisions = DECISIONS_KEPT) {
		await Promise.all([this.#read_host(), this.#read_lists(decisions), this.read_economics()]);
	}

	async #read_lists(decisions = DECISIONS_KEPT) {
		await Promise.all([this.#read_alerts(), this.#read_offers(), this.#read_decisions(decisions)]);
	}

	async #read_host() {
		const host = await get("/v1/host");
		this.skew_ms = Date.parse(host.time) - Date.now();
		this.host = host;
		this.gpus = host.gpus;
		this.vgpus = host.vgpus;
		this.#fresh();
		this.#notify("host");
		this.#notify("tick");
	}

	async #read_alerts() {
		this.alerts = (await get("/v1/alerts")).alerts;
		this.#notify("alerts");
	}

	async #read_offers() {
		this.offers = (await get("/v1/offers")).offers;
		this.#notify("offers");
	}

	async #read_decisions(limit) {
		this.decisions = (await get(`/v1/decisions?limit=${limit}`)).decisions.reverse();
		this.#notify("decisions");
	}

	async read_economics() {
		try {
			const from = Math.floor(this.now_ms() / 1000) - this.economics_span_s;
			this.economics = await get(`/v1/economics?from=${from}`);
		} catch (error) {
			if (error.denied)
				throw error;
			this.economics = null; /* the daemon has no history */
		}
		this.#notify("economics");
	}

	/** Calls @read after @ms. Several calls with the same @what cause one read, at the earliest requested time. */
	#soon(what, read, ms = 120) {
		const due = Date.now() + ms;
		const waiting = this.#due.get(what);
		if (waiting && waiting.due <= due)
			return;
		clearTimeout(waiting?.timer);
		const timer = setTimeout(() => {
			this.#due.delete(what);
			read.call(this).catch(() => {}); /* the stream reports a lost connection */
		}, ms);
		this.#due.set(what, { due, timer });
	}

	async #follow(succeeded) {
		const stop = new AbortController();
		let timer;
		const alive = () => {
			clearTimeout(timer);
			timer = setTimeout(() => stop.abort(new Error("no data from the daemon")), SILENCE_MS);
		};
		const hidden = () => document.hidden && stop.abort(new Error("page hidden"));
		document.addEventListener("visibilitychange", hidden);
		alive();
		try {
			const more = this.#after ? { "Last-Event-ID": this.#after } : {};
			const opened = fetch("/v1/events", { headers: headers(more), cache: "no-store", credentials: "omit", signal: stop.signal });
			const early = this.#was_live ? null : this.#read_all(DECISIONS_FIRST);
			early?.catch(() => {}); /* awaited below; the stream may fail first */
			const response = await opened;
			if (!response.ok)
				throw await problem_of(response);
			/* Read after the stream is open, so that no event is missed. The first page is read earlier, and its lists again. */
			await (early ?? this.#read_all());
			if (early)
				this.#soon("lists", this.#read_lists, AGAIN_MS);
			this.#become("live");
			this.#fresh();
			succeeded();
			if (!this.#was_live)
				this.#notify("ready");
			if (this.#was_live)
				this.#notify("again");
			this.#was_live = true;
			for await (const event of events_of(response, alive))
				this.#take(event);
		} finally {
			clearTimeout(timer);
			document.removeEventListener("visibilitychange", hidden);
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
		this.#fresh();
		this.#notify("tick");
		this.#soon("gpus", this.#read_gpus, 0);
		this.#soon("host", this.#read_host, 10000);
		this.#soon("economics", this.read_economics, 30000);
	}

	async #read_gpus() {
		this.gpus = (await get("/v1/gpus")).gpus;
		this.#notify("gpus");
	}

	#decided(decision) {
		const at = this.decisions.findIndex((d) => d.id <= decision.id);
		if (at >= 0 && this.decisions[at].id === decision.id)
			this.decisions[at] = decision;
		else
			this.decisions.splice(at < 0 ? this.decisions.length : at, 0, decision);
		this.decisions.length = Math.min(this.decisions.length, DECISIONS_KEPT);
		this.#notify("decisions");
	}

	/** Reads the state again after a change by the user. */
	async refresh() {
		await Promise.allSettled([this.#read_host(), this.#read_alerts(), this.#read_offers()]);
	}
}
