// SPDX-License-Identifier: MIT
// Selects dark colours, light colours, or the preference of the system. Imported first, so that the page is not drawn in the wrong colours.

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
	/** Returns the current value of a colour of gover.css. */
	colour: (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim(),
};
