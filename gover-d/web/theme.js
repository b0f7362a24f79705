// SPDX-License-Identifier: MIT
// Dark, light, or what the system prefers. Must run before anything is drawn, or the page would flash.

const KEY = "gover-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = [];

function chosen() {
	const kept = localStorage.getItem(KEY);
	return kept === "dark" || kept === "light" ? kept : "auto";
}

function apply() {
	const choice = chosen();
	document.documentElement.dataset.theme = choice === "auto" ? (system.matches ? "dark" : "light") : choice;
	for (const listener of listeners)
		listener();
}

system.addEventListener("change", apply);
apply();

export const theme = {
	chosen,
	choose(choice) {
		localStorage.setItem(KEY, choice);
		apply();
	},
	on: (listener) => listeners.push(listener),
	/** The value of a colour of gover.css, now. */
	colour: (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim(),
};
