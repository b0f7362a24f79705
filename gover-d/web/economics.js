// SPDX-License-Identifier: MIT
// Revenue and penalties of overselling, compared with the same host without overselling.
import { by_id, h, keyed, set_text } from "./dom.js";
import { money, number } from "./words.js";

const MONEY = [
	["Revenue", (e) => e.revenue, money],
	["Penalties", (e) => 0 - (e.penalty ?? 0), money],
	["Profit", (e) => e.profit, money],
];
const AMOUNTS = [
	["Sold", (e) => e.sold_cap_hours, (x) => `${number(x, 1)} GPU h`],
	["Broken", (e) => e.broken_s, (x) => `${number(x)} s`],
];

/** True if the operator has set a price. An older daemon has no field "prices_set". */
export const has_prices = (e) => e.prices_set ?? e.profit !== null;

const signed = (x, format) => (Math.abs(x) < 1e-9 ? "±0" : `${x > 0 ? "+" : "−"}${format(Math.abs(x))}`);

function make([name]) {
	const cells = [h("td.figure"), h("td.figure"), h("td.figure")];
	return {
		element: h("tr", {}, h("th", { scope: "row" }, name), cells),
		update([, of, format, economics]) {
			const [with_it, without] = [of(economics), of(economics.without_overselling)];
			set_text(cells[0], format(with_it, economics.revenue));
			set_text(cells[1], format(without, economics.revenue));
			set_text(cells[2], signed(with_it - without, (x) => format(x, economics.revenue)));
		},
	};
}

export class Economics {
	#live;

	constructor(live) {
		this.#live = live;
		const select = by_id("economics-span");
		select.addEventListener("change", () => {
			live.economics_span_s = Number(select.value);
			live.read_economics().catch(() => {});
		});
	}

	update() {
		const economics = this.#live.economics;
		by_id("no-economics").hidden = Boolean(economics);
		by_id("economics-table").hidden = !economics;
		if (!economics)
			return;
		const priced = has_prices(economics);
		by_id("no-prices").hidden = priced;
		keyed(by_id("economics-rows"), (priced ? [...MONEY, ...AMOUNTS] : AMOUNTS).map((r) => [...r, economics]), (r) => r[0], make);
	}
}
