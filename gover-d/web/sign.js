// SPDX-License-Identifier: MIT
// Signing in and out: the dialog that asks for a token, and the button in the header.
import { by_id, set_text } from "./dom.js";
import { token } from "./rest.js";

export class Sign {
	#resume = null; /* continues the event stream after signing in */
	#retry = null; /* repeats the action that needed the token */

	constructor() {
		const dialog = by_id("sign");
		token.changed = () => this.#show();
		by_id("sign-button").addEventListener("click", () => (token.get() ? this.#out() : this.ask(null, null)));
		by_id("waiting-sign").addEventListener("click", () => this.ask(null, null));
		by_id("sign-cancel").addEventListener("click", () => dialog.close());
		by_id("sign-form").addEventListener("submit", (event) => {
			event.preventDefault();
			token.set(by_id("sign-token").value.trim());
			dialog.close("given");
		});
		dialog.addEventListener("close", () => this.#closed(dialog));
		this.#show();
	}

	/** Asks for a token and calls then() after the user has entered one. @error: reason for the question; null: the user asked. */
	ask(error, then) {
		this.#retry = then;
		const text = error && (error.status !== 401 || error.had_token) ? error.message : "";
		set_text(by_id("sign-why"), text);
		by_id("sign-why").hidden = !text;
		set_text(by_id("sign-scope"), error?.status === 403 || then ? "operate" : "read");
		by_id("sign-token").value = "";
		if (!by_id("sign").open)
			by_id("sign").showModal();
	}

	/** The daemon refused to be read: the page waits, and @again continues it. */
	refused(error, again) {
		this.#resume = again;
		set_text(by_id("waiting-text"), "Sign in to see this host.");
		by_id("waiting-sign").hidden = false;
		this.ask(error, null);
	}

	#show() {
		set_text(by_id("sign-button"), token.get() ? "Sign out" : "Sign in");
	}

	/* A reload closes the event stream, which was opened with the token, and removes what it has shown. */
	#out() {
		token.drop();
		location.reload();
	}

	#closed(dialog) {
		const [resume, retry] = [this.#resume, this.#retry];
		this.#retry = null;
		if (dialog.returnValue !== "given")
			return;
		dialog.returnValue = "";
		this.#resume = null;
		resume?.();
		retry?.();
	}
}
