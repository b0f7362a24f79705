// SPDX-License-Identifier: MIT
// Creates and updates elements. Text from the daemon is only ever put into text nodes, never into markup.

/** Creates an element, for example h("p.note", {title: "x", onclick: f}, "text", child). Ignores children that are null. */
export function h(what, props = {}, ...children) {
	const [tag, ...classes] = what.split(".");
	const element = document.createElement(tag || "div");
	if (classes.length)
		element.className = classes.join(" ");
	for (const [name, value] of Object.entries(props)) {
		if (value === undefined || value === null || value === false)
			continue;
		if (name.startsWith("on"))
			element.addEventListener(name.slice(2), value);
		else
			element.setAttribute(name, value === true ? "" : value);
	}
	element.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
	return element;
}

export const by_id = (id) => document.getElementById(id);

/** Sets the text only if it has changed: otherwise screen readers would repeat the text. */
export function set_text(element, text) {
	if (element.textContent !== String(text))
		element.textContent = text;
}

export function set(element, name, value) {
	if (value === null || value === undefined || value === false)
		element.removeAttribute(name);
	else if (element.getAttribute(name) !== String(value))
		element.setAttribute(name, value);
}

/**
 * Gives @parent one child per item, in order. @make(item) returns {element, update(item)} for a new @key. Existing
 * children are updated and keep the focus. @gone(part) is called for each removed child.
 */
export function keyed(parent, items, key, make, gone = () => {}) {
	const parts = parent.parts ?? (parent.parts = new Map());
	const wanted = new Set(items.map(key));
	for (const [k, part] of parts) {
		if (!wanted.has(k)) {
			gone(part);
			part.element.remove();
			parts.delete(k);
		}
	}
	let at = parent.firstElementChild;
	for (const item of items) {
		let part = parts.get(key(item));
		if (!part) {
			part = make(item);
			parts.set(key(item), part);
		}
		part.update(item);
		if (part.element === at)
			at = at.nextElementSibling;
		else
			parent.insertBefore(part.element, at);
	}
	return parts;
}

/** Creates a bar that shows a fraction (0 to 1; null: empty). Hidden from screen readers, because the number is next to the bar. */
export function meter(extra = "") {
	const fill = h("span.meter-fill");
	const element = h(`span.meter${extra}`, { "aria-hidden": "true" }, fill);
	return {
		element,
		update(fraction) {
			fill.style.width = `${100 * Math.min(1, Math.max(0, fraction ?? 0))}%`;
		},
	};
}
