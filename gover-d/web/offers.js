// SPDX-License-Identifier: MIT
// Offers, and the dialog that claims one. Each claim has an idempotency key: pressing the button again, or retrying after a
// lost answer, does not sell twice.
import { by_id, h, keyed, meter, set_text, set } from "./dom.js";
import { rest, token } from "./rest.js";
import { counts_work, number, percent, rate_of, span } from "./words.js";

/** The promise of an offer in words; "": no promise. */
function promise(offer, frames, work) {
	const { target } = rate_of(offer);
	return target ? `${number(target)} ${counts_work(offer) ? work : frames}` : "";
}

/** The flavours of an offer besides the leading one, in words; "": none. */
function others(offer) {
	return offer.flavors.slice(1).map((f) => `${f.flavor} (${percent(f.initial_cap_pct)})`).join(" or ");
}

/** The flavour, the first cap or the vGPU, and the holder. */
function describe(offer) {
	return [
		offer.flavor && `flavour ${offer.flavor}`,
		offer.state === "open" && `first cap ${percent(offer.fundable_pct)}`,
		offer.state === "open" && others(offer) && `or ${others(offer)}`,
		offer.vgpu && `vGPU ${offer.vgpu}`,
		offer.held_by && `held by ${offer.held_by}`,
	].filter(Boolean).join(", ");
}

const STATES = {
	open: "open", probation: "sold, on probation", failed: "failed", kept: "kept", expired: "expired", closed: "closed",
};

export class Offers {
	#live;
	#offer = null;
	#key = "";

	constructor(live) {
		this.#live = live;
		this.dialog = by_id("claim");
		this.form = by_id("claim-form");
		this.form.addEventListener("submit", (event) => {
			event.preventDefault();
			this.#claim();
		});
		by_id("claim-flavor").addEventListener("change", () => this.#show_flavor());
		by_id("claim-cancel").addEventListener("click", () => this.dialog.close());
		setInterval(() => this.#count_down(), 1000);
	}

	update() {
		const offers = [...this.#live.offers].reverse();
		this.#parts = keyed(by_id("offer-list"), offers, (o) => o.id, (o) => this.#make(o));
		by_id("no-offers").hidden = offers.length > 0;
		this.#explain_none();
	}
	#parts = new Map();

	#explain_none() {
		const gpus = this.#live.gpus;
		const stopped = gpus.length > 0 && gpus.every((g) => g.no_sale_reason !== null);
		set_text(by_id("no-offers"), stopped ? `No offers: ${gpus.map((g) => g.no_sale_reason).join("; ")}.` :
			"No offer at present. An offer is made after enough calm periods, in which no contract lacked capacity.");
	}

	#make(first) {
		const title = h("strong");
		const state = h("span.badge");
		const what = h("p.sub");
		const reason = h("p.why-text");
		const left = h("span.sub");
		const bar = meter();
		const button = h("button.primary", { type: "button", onclick: () => this.#ask(part.offer) }, "Claim");
		const element = h("li.offer", { "data-id": first.id },
			h("div.head", {}, title, state, button), what, reason, h("div.left", {}, bar.element, left));
		const part = {
			element,
			update: (o) => {
				part.offer = o;
				set_text(title, `${percent(o.initial_cap_pct)} of ${o.gpu}${rate_of(o).target ? ` at ${promise(o, "FPS", "units/s")}` : ""}`);
				set_text(state, STATES[o.state] ?? o.state);
				set(state, "class", `badge ${o.state === "failed" ? "bad" : o.state === "open" ? "good" : "note"}`);
				set_text(what, describe(o));
				set_text(reason, o.reason ?? "");
				reason.hidden = !o.reason;
				button.hidden = o.state !== "open" || o.held_by !== null; /* only the holder can claim it */
				set(button, "aria-label", `Claim offer ${o.id}: ${percent(o.initial_cap_pct)} of ${o.gpu}`);
				part.count();
			},
			count: () => {
				const o = part.offer;
				const now = this.#live.now_ms();
				const open = o.state === "open" && o.expires_at;
				const left_s = open ? (Date.parse(o.expires_at) - now) / 1000 : null;
				const whole_s = open ? (Date.parse(o.expires_at) - Date.parse(o.created_at)) / 1000 : 1;
				set_text(left, open ? `${span(Math.max(0, left_s))} left` : o.state === "probation" && o.probation_left_s !== null ? "watched until the end of its probation" : "");
				bar.element.hidden = !open;
				bar.update(open ? left_s / whole_s : 0);
			},
		};
		return part;
	}

	#count_down() {
		for (const part of this.#parts.values())
			part.count();
	}

	/** The flavour that is chosen in the dialog. */
	#chosen() {
		return this.#offer.flavors[by_id("claim-flavor").selectedIndex] ?? this.#offer;
	}

	#show_flavor() {
		const flavor = this.#chosen();
		const { target } = rate_of(flavor);
		set_text(by_id("claim-what"), `${percent(flavor.initial_cap_pct)} of ${this.#offer.gpu}${target ? `, ${promise(flavor, "frames per second", "units of work per second")}` : ""}; first cap ${percent(flavor.fundable_pct)}.`);
		by_id("claim-target").placeholder = target ? number(target) : "none";
	}

	#ask(offer) {
		this.#offer = offer;
		this.#key = crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;
		this.form.reset();
		by_id("claim-flavor").replaceChildren(...offer.flavors.map((f) =>
			h("option", { value: f.flavor ?? "" }, `${f.flavor ?? ""}: ${percent(f.initial_cap_pct)}`)));
		by_id("claim-flavor-row").hidden = offer.flavors.length < 2;
		this.#show_flavor();
		set_text(by_id("claim-target-name"), counts_work(offer) ? "Target units of work per second" : "Target frame rate");
		by_id("claim-target").max = counts_work(offer) ? 1000000 : 10000;
		this.#needs_token(false);
		this.#show_error("");
		this.dialog.showModal();
	}

	#needs_token(needed) {
		by_id("claim-token-row").hidden = !needed;
		by_id("claim-token").required = needed;
	}

	#show_error(text) {
		set_text(by_id("claim-error"), text);
		by_id("claim-error").hidden = !text;
	}

	#labels() {
		const lines = by_id("claim-labels").value.split("\n").map((l) => l.trim()).filter(Boolean);
		return Object.fromEntries(lines.map((l) => [l.split("=", 1)[0].trim(), l.slice(l.indexOf("=") + 1).trim()]));
	}

	#body() {
		const body = { id: by_id("claim-id").value.trim() };
		const [vm, target] = [by_id("claim-vm").value.trim(), by_id("claim-target").value.trim()];
		if (this.#offer.flavors.length > 1)
			body.flavor = by_id("claim-flavor").value;
		if (vm)
			body.vm = vm;
		if (target)
			body[counts_work(this.#offer) ? "target_rate" : "target_fps"] = Number(target);
		if (by_id("claim-labels").value.trim())
			body.labels = this.#labels();
		return body;
	}

	async #claim() {
		const given = by_id("claim-token").value.trim();
		const button = by_id("claim-send");
		if (given)
			token.set(given);
		button.disabled = true;
		try {
			const answer = await rest("POST", `/v1/offers/${this.#offer.id}/claim`, this.#body(), { "Idempotency-Key": this.#key });
			this.dialog.close();
			set_text(by_id("spoken"), `Offer ${this.#offer.id} was claimed: vGPU ${answer.vgpu?.id ?? ""} has a cap of ${percent(answer.vgpu?.cap_pct)}.`);
			await this.#live.refresh();
			by_id("offers-title").focus();
		} catch (error) {
			if (error.denied && given)
				token.drop();
			this.#needs_token(Boolean(error.denied));
			this.#show_error(error.status ? error.message : `The daemon does not answer. Trying again does not sell twice. (${error.message})`);
			if (error.denied)
				by_id("claim-token").focus();
		} finally {
			button.disabled = false;
		}
	}
}
