// SPDX-License-Identifier: MIT
// Making and renewing elements. Must never take text from the daemon as markup: all of it goes through text nodes.

/** h("p.note", {title: "x", onclick: f, "aria-label": "y"}, "text", element, null) */
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

/** Writes only what is new, so that a screen reader and the layout are left in peace. */
export function say(element, text) {
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
 * The children of @parent become those of @items, one each, in order: @make(item) gives {element, update(item)} for
 * a new @key, and what stands already is only updated, with its focus. @gone(part) is told of those that leave.
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

/** A bar of @fraction (0 to 1, or null), for eyes only: the number stands beside it. */
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
