// SPDX-License-Identifier: MIT
// Formats numbers and times for the page. Pure: no DOM, clock or network.

export const NONE = "–";

const is_number = (x) => typeof x === "number" && Number.isFinite(x);

/* Creating a formatter takes longer than using it, so each is created once. */
const formats = new Map();

function number_format(least, most) {
	const key = 10 * least + most;
	if (!formats.has(key))
		formats.set(key, new Intl.NumberFormat("en", { minimumFractionDigits: least, maximumFractionDigits: most }));
	return formats.get(key);
}

export function number(x, digits = 0) {
	return is_number(x) ? number_format(digits, digits).format(x) : NONE;
}

/** Formats a number; below 10 with one decimal if needed: 0.4, 7.3, 42. */
export function short(x) {
	return is_number(x) ? number(x, Math.abs(x) < 10 && x % 1 ? 1 : 0) : NONE;
}

export function percent(x, digits = 0) {
	return is_number(x) ? `${number(x, digits)} %` : NONE;
}

/** Formats a percentage that is never rounded to zero: 0.004 % becomes "< 0.1 %". */
export function small_percent(x) {
	if (!is_number(x))
		return NONE;
	return x > 0 && x < 0.1 ? "< 0.1 %" : percent(x, x < 10 ? 1 : 0);
}

/** Formats money with four decimals if @among, the largest sum of the same table, is below 10; otherwise with two. */
export function money(x, among = x) {
	return is_number(x) ? number(x, Math.abs(among) < 10 ? 4 : 2).replace("-", "−") : NONE;
}

/** Formats an amount of memory with up to one decimal: 3.5 MiB, 512 MiB, 1.5 GiB. */
export function memory(mib) {
	if (!is_number(mib))
		return NONE;
	const [amount, unit] = mib < 1024 ? [mib, "MiB"] : [mib / 1024, "GiB"];
	return `${number_format(0, 1).format(amount)} ${unit}`;
}

/** Formats a duration with its two largest units. */
export function span(s) {
	if (!is_number(s))
		return NONE;
	if (s < 60)
		return `${Math.round(s)} s`;
	const [days, hours, minutes] = [Math.floor(s / 86400), Math.floor(s / 3600) % 24, Math.floor(s / 60) % 60];
	if (days)
		return `${days} d ${hours} h`;
	if (hours)
		return `${hours} h ${minutes} min`;
	return `${minutes} min${s < 600 && Math.floor(s % 60) ? ` ${Math.floor(s % 60)} s` : ""}`;
}

/** Formats an age: "just now", "12 s ago", "3 h 2 min ago". */
export const ago = (s) => (!is_number(s) ? NONE : s < 1.5 ? "just now" : `${span(s)} ago`);

export function milliseconds(us) {
	return is_number(us) ? `${number(us / 1000, us < 10000 ? 1 : 0)} ms` : NONE;
}

const TIME = { hour: "2-digit", minute: "2-digit", second: "2-digit" };
const OF_DAY = new Intl.DateTimeFormat("en-GB", TIME);
const WITH_DATE = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", ...TIME });

/** Formats a time of day, with the date if the date is not that of @now_ms. */
export function clock(text, now_ms) {
	if (!text)
		return NONE;
	const time = new Date(text);
	return (time.toDateString() === new Date(now_ms).toDateString() ? OF_DAY : WITH_DATE).format(time);
}

/** True if a vGPU, an offer or a point of the history counts units of work instead of frames. */
export const counts_work = (o) => typeof o.target_rate === "number";
/** The rate and the target of a vGPU, an offer or a point of the history, in the unit of its GPU. */
export const rate_of = (o) => (counts_work(o) ? { rate: o.rate, target: o.target_rate } : { rate: o.fps, target: o.target_fps });

/** Replaces each underscore by a space. */
export const spaced = (name) => name.replaceAll("_", " ");
