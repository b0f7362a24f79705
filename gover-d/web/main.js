// SPDX-License-Identifier: MIT
// Connects the parts of the page. Each part draws its own section.
import "./theme.js";
import { Alerts } from "./alerts.js";
import { Decisions } from "./decisions.js";
import { by_id, set_text } from "./dom.js";
import { Economics } from "./economics.js";
import { Host } from "./host.js";
import { Live } from "./live.js";
import { Offers } from "./offers.js";
import { token } from "./rest.js";
import { theme } from "./theme.js";
import { Vgpus } from "./vgpus.js";

const live = new Live();
const decisions = new Decisions(live);
const host = new Host(live);
const vgpus = new Vgpus(live, (id) => decisions.explain(id));
const offers = new Offers(live);
const economics = new Economics(live);
const alerts = new Alerts(live, ask_for_token);

let resume_stream = null; /* continues the event stream after a token was entered */
let retry_action = null; /* repeats the action that needed the token */

function ask_for_token(error, then) {
	retry_action = then;
	set_text(by_id("sign-why"), error ? error.message : "The token is stored for this tab only and sent only to this daemon.");
	by_id("sign-token").value = "";
	if (!by_id("sign").open)
		by_id("sign").showModal();
}

token.changed = () => set_text(by_id("sign-button"), token.get() ? "Forget token" : "Enter token");

by_id("sign-button").addEventListener("click", () => {
	if (token.get())
		token.drop();
	else
		ask_for_token(null, null);
});
by_id("sign-cancel").addEventListener("click", () => by_id("sign").close());
by_id("sign-form").addEventListener("submit", (event) => {
	event.preventDefault();
	token.set(by_id("sign-token").value.trim());
	by_id("sign").close("given");
});
by_id("sign").addEventListener("close", () => {
	const [resume, retry] = [resume_stream, retry_action];
	retry_action = null;
	if (by_id("sign").returnValue !== "given")
		return;
	by_id("sign").returnValue = "";
	resume_stream = null;
	resume?.();
	retry?.();
});

by_id("theme").value = theme.chosen();
by_id("theme").addEventListener("change", (event) => theme.choose(event.target.value));

const handlers = {
	state: () => host.state(),
	host: () => {
		host.update();
		vgpus.update();
	},
	gpus: () => host.update(),
	tick: () => {
		host.update();
		vgpus.update();
		vgpus.tick();
		by_id("content").hidden = false;
		by_id("waiting").hidden = true;
	},
	decisions: () => {
		decisions.update();
		vgpus.mark(live.decisions);
	},
	alerts: () => alerts.update(),
	offers: () => offers.update(),
	economics: () => {
		economics.update();
		host.money(live.economics);
	},
	again: () => vgpus.reload(),
	denied: ({ error, again }) => {
		set_text(by_id("waiting"), error.message);
		resume_stream = again;
		ask_for_token(error, null);
	},
};
live.on((what, detail) => handlers[what]?.(detail));

token.changed();
live.run();
