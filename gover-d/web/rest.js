// SPDX-License-Identifier: MIT
// Requests to the daemon. The token is stored for this tab only and sent only to this daemon.

const KEY = "gover-token";

/* Texts of the daemon for these answers are meant for programs. */
const FOR_PEOPLE = {
	401: () => (token.get() ? "This token is not valid: it is mistyped, revoked or expired." : "This needs a token."),
	403: () => "The role of this token does not permit this.",
	429: () => "Too many requests. Try again in a moment.",
	503: (detail) => detail || "The daemon is busy. Try again in a moment.",
};

export class Problem extends Error {
	constructor(status, detail) {
		super(FOR_PEOPLE[status]?.(detail) ?? detail);
		this.status = status;
		this.had_token = Boolean(token.get());
	}
	/** True if the daemon requires a token, or a token with more rights. */
	get denied() {
		return this.status === 401 || this.status === 403;
	}
}

export const token = {
	changed: () => {}, /* called after set() and drop() */
	get: () => sessionStorage.getItem(KEY),
	set(text) {
		sessionStorage.setItem(KEY, text);
		token.changed();
	},
	drop() {
		sessionStorage.removeItem(KEY);
		token.changed();
	},
};

export function headers(more = {}) {
	return token.get() ? { Authorization: `Bearer ${token.get()}`, ...more } : more;
}

export async function problem_of(response) {
	let detail = "";
	try {
		const document = await response.json();
		detail = document.detail || document.title;
	} catch {
		/* a proxy answered, without JSON */
	}
	return new Problem(response.status, detail || `the daemon answered ${response.status}`);
}

/** Returns the JSON of the answer; null: status 204. Throws a Problem, or a TypeError if the daemon is not reachable. */
export async function rest(method, path, body, more = {}) {
	const typed = body === undefined ? more : { "Content-Type": "application/json", ...more };
	const response = await fetch(path, {
		method,
		headers: headers(typed),
		body: body === undefined ? undefined : JSON.stringify(body),
		cache: "no-store",
		credentials: "omit",
		signal: AbortSignal.timeout(15000),
	});
	if (!response.ok)
		throw await problem_of(response);
	return response.status === 204 ? null : response.json();
}

export const get = (path) => rest("GET", path);
