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
	const before = [...parent.children];
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
	settle(parent, before);
	return parts;
}

/* Where the user has scrolled each box. Asking the box itself would cause a layout. */
const scrolled = new WeakMap();
document.addEventListener("scroll", ({ target }) => scrolled.set(target, target.scrollTop), { capture: true, passive: true });

/**
 * Attaches all children again if one that was visible has another place now. Browsers count moved elements as layout shifts, but not
 * attached ones. Not done while the focus is inside, because the focus would be lost.
 */
function settle(parent, before) {
	const now = [...parent.children];
	const last = before.findLastIndex((element) => element.parentNode === parent);
	const moved = before.slice(0, last + 1).some((element, i) => element !== now[i]);
	if (!moved || parent.contains(document.activeElement))
		return;
	const box = parent.closest(".scroll, .table-box") ?? parent;
	const top = scrolled.get(box) ?? 0;
	parent.replaceChildren(...now);
	if (top > 0)
		box.scrollTop = top;
}

/** Sets the width in percent, if it has changed by something that can be seen. */
export function set_width(element, percent) {
	const text = `${percent.toFixed(1)}%`;
	if (element.dataset.width !== text) {
		element.dataset.width = text;
		element.style.width = text;
	}
}

/** Creates a bar that shows a fraction (0 to 1; null: empty). Hidden from screen readers, because the number is next to the bar. */
export function meter(extra = "") {
	const fill = h("span.meter-fill");
	const element = h(`span.meter${extra}`, { "aria-hidden": "true" }, fill);
	return {
		element,
		update(fraction) {
			set_width(fill, 100 * Math.min(1, Math.max(0, fraction ?? 0)));
		},
	};
}
