// SPDX-License-Identifier: MIT
// State, filter and order of the vGPUs. Pure: no DOM, clock or network.
import { rate_of, spaced } from "./words.js";

/** States of a promise, worst first: rank, CSS class, sign and word. */
const STATES = {
	missing: [0, "bad", "✕", "missing"],
	broken: [1, "bad", "✕", "broken"],
	short: [2, "warn", "▽", "short"],
	unknown: [3, "note", "?", "unknown"],
	kept: [4, "good", "✓", "kept"],
};

/** The state of the promise of a vGPU. An older daemon has no field "promise": the state is then derived from the last period. */
export function promise_of(v) {
	if (v.state === "missing" || v.promise === "missing")
		return "missing";
	if (v.promise === "broken" || (v.promise === undefined && v.broken))
		return "broken";
	if (v.short)
		return "short";
	return v.promise === "unknown" ? "unknown" : "kept";
}

export const state_of = (v) => {
	const [rank, kind, sign, word] = STATES[promise_of(v)];
	return { rank, kind, sign, word };
};

const CAUSES = {
	contract_too_small: "contract too small",
	gpu_overcommitted: "GPU overcommitted",
	held: "held by an operator",
	guest_limit: "limited by the guest",
	donors_at_floor: "donors at their floor",
	foreign_cap: "cap of another program",
	caps_not_enforced: "caps not enforced",
	cap_write_failed: "cap not written",
	not_acting: "daemon does not act",
	policy_idle: "policy gives nothing",
	adjusting: "caps are being adjusted",
	telemetry_stale: "GPU readings are old",
	frames_missing: "no frame reports",
	gpu_stalled: "GPU serves nothing",
	service_unknown: "gets nothing, cause unknown",
};

/** A cause in words; "": no cause. */
export const cause_text = (cause) => (cause ? (CAUSES[cause] ?? spaced(cause)) : "");

/** Missing part of the promise, 0 to 1; 0: no target, or the rate is unknown. */
export function distance(v) {
	const { rate, target } = rate_of(v);
	return target > 0 && typeof rate === "number" ? Math.max(0, (target - rate) / target) : 0;
}

/** Further states of a vGPU as [class, sign, text, meaning]. */
export function notes_of(v) {
	const list = [];
	if (v.overloaded)
		list.push(["warn", "▲", "overloaded", "wants more than it has, and receives unused capacity up to its contract"]);
	if (v.held)
		list.push(["note", "▮", "held", "an operator has fixed its cap"]);
	if (v.state === "probation")
		list.push(["note", "◷", "probation", "sold recently; the offer can still fail"]);
	if (v.found)
		list.push(["note", "?", "no contract", "found on this host, not sold"]);
	if (v.burst)
		list.push(["note", "⇡", "burst", "its cap may exceed the sold cap"]);
	return list;
}

/* An overloaded vGPU follows the broken promises. The distance counts in tenths, so that small changes move no row. */
const rank = (v) => {
	const state = state_of(v).rank;
	return v.overloaded && state > 2 ? 2.5 : state;
};

const by_id = (a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
const most = (of) => (a, b) => (of(b) ?? -1) - (of(a) ?? -1) || by_id(a, b);
const worst = (a, b) => rank(a) - rank(b) || Math.round(10 * distance(b)) - Math.round(10 * distance(a)) || by_id(a, b);

export const ORDERS = {
	worst,
	name: by_id,
	load: most((v) => v.load_pct),
	broken: most((v) => v.broken_time_pct),
};

/** Names the vGPUs whose promise is broken: a change requires a new order at once. */
export const broken_ids = (vgpus) => vgpus.filter((v) => rank(v) < 2).map((v) => v.id).sort().join();

function words_of(v) {
	const labels = Object.entries(v.labels ?? {}).map(([name, value]) => `${name}=${value}`);
	const notes = notes_of(v).map((n) => n[2]);
	return [v.id, v.vm, v.gpu, v.flavor, v.state, state_of(v).word, v.cause, cause_text(v.cause), ...labels, ...notes]
		.filter(Boolean).join(" ").toLowerCase();
}

/** Returns a function that is true for vGPUs that contain all words of @text. */
export function matcher(text) {
	const words = text.toLowerCase().split(/\s+/).filter(Boolean);
	return words.length ? (v) => words.every((word) => words_of(v).includes(word)) : () => true;
}
