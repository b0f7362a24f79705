// SPDX-License-Identifier: MIT
// Connects the parts of the page. Each part draws its own section.
import { theme } from "./theme.js";
import { Alerts } from "./alerts.js";
import { Decisions } from "./decisions.js";
import { Details } from "./details.js";
import { by_id } from "./dom.js";
import { Economics, has_prices } from "./economics.js";
import { History, Host } from "./host.js";
import { Live } from "./live.js";
import { Offers } from "./offers.js";
import { Sign } from "./sign.js";
import { Strip } from "./strip.js";
import { Vgpus } from "./vgpus.js";
import { spaced } from "./words.js";

const live = new Live();
const sign = new Sign();
const strip = new Strip(live);
const host = new Host(live);
const history = new History(live);
const decisions = new Decisions(live);
const offers = new Offers(live);
const economics = new Economics(live);
const alerts = new Alerts(live, (error, then) => sign.ask(error, then));
const vgpus = new Vgpus(live, select);
const details = new Details(live, {
	closed: (id) => {
		vgpus.mark(null);
		if (id)
			vgpus.focus(id);
	},
	explain: (id) => decisions.explain(id),
});

function select(id) {
	vgpus.mark(id);
	details.select(id);
	details.chart.mark(marks_of((o) => o.vgpu === id || o.moves?.some((m) => m.vgpu === id), id));
}

/** Marks of decisions that changed a cap, and of alerts. @id: the vGPU whose cap is meant. */
function marks_of(wanted, id = null) {
	const marks = live.decisions.filter((d) => d.moves.length && wanted(d)).map((d) => {
		const move = id ? d.moves.find((m) => m.vgpu === id) : null;
		const up = move ? move.to_pct > move.from_pct : true;
		const change = move ? ` ${move.from_pct} → ${move.to_pct} %` : d.vgpu ? ` for ${d.vgpu}` : "";
		return id && !move ? null : { ms: Date.parse(d.time), alert: false, up, text: `${spaced(d.kind)}${change}` };
	});
	const flags = alerts.all.filter(wanted).map((a) => ({ ms: Date.parse(a.raised_at), alert: true, severity: a.severity, text: `${a.severity}: ${spaced(a.name)}${a.vgpu ? ` of ${a.vgpu}` : ""}` }));
	return [...marks.filter(Boolean), ...flags];
}

function mark() {
	history.mark(marks_of);
	const id = vgpus.selected;
	if (id)
		details.chart.mark(marks_of((o) => o.vgpu === id || o.moves?.some((m) => m.vgpu === id), id));
}

/** Selects the worst vGPU if there is a pane for it, and nothing else is selected. */
function select_worst() {
	if (details.is_wide && !vgpus.selected && vgpus.worst())
		select(vgpus.worst().id);
}

/** Reads what the page does not need at once. */
function read_more() {
	vgpus.load().then(() => vgpus.tick()).catch(() => {}); /* without a history, the lines begin empty */
	alerts.load().then(mark).catch(() => {});
}

const when_idle = globalThis.requestIdleCallback ?? ((f) => setTimeout(f, 200));

/** Shows the content when everything was read once, so that nothing moves later. */
function show_content() {
	by_id("waiting").hidden = true;
	by_id("content").hidden = false;
	when_idle(async () => {
		await vgpus.make_all();
		select_worst();
		read_more();
	}, { timeout: 500 });
}

const handlers = {
	state: () => {
		strip.state();
		strip.update();
		if (["hung", "away", "live"].includes(live.state)) {
			details.chart.draw();
			history.chart.draw();
		}
	},
	host: () => {
		host.update();
		history.update();
		vgpus.update();
		strip.state();
	},
	gpus: () => {
		host.update();
		history.tick();
	},
	tick: () => { /* "gpus" follows */
		vgpus.update();
		vgpus.tick();
		strip.update();
		details.update();
		details.tick();
	},
	decisions: () => {
		decisions.update();
		mark();
	},
	alerts: () => {
		alerts.update();
		strip.update();
		mark();
		if (!by_id("content").hidden)
			alerts.load().then(mark).catch(() => {});
	},
	offers: () => offers.update(),
	economics: () => {
		economics.update();
		host.money(live.economics, Boolean(live.economics) && has_prices(live.economics));
	},
	ready: show_content,
	again: () => {
		details.chart.reload();
		history.chart.reload();
		read_more();
	},
	denied: ({ error, again }) => sign.refused(error, again),
};
live.on((what, detail) => handlers[what]?.(detail));

by_id("theme").value = theme.chosen();
by_id("theme").addEventListener("change", (event) => theme.choose(event.target.value));
matchMedia("(min-width: 1200px)").addEventListener("change", select_worst);
live.run();
