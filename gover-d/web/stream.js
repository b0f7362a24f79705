// SPDX-License-Identifier: MIT
// Parses server-sent events from fetch(), because EventSource cannot send a token.

/** take() returns the complete events {id, kind, data} of a piece of text, and keeps the rest for the next call. */
export class Parser {
	#rest = "";
	#id = null;
	#kind = "";
	#data = [];

	*take(text) {
		const lines = (this.#rest + text).split(/\r\n|\n/);
		this.#rest = lines.pop();
		for (const line of lines) {
			if (line === "")
				yield* this.#end();
			else
				this.#field(line);
		}
	}

	#field(line) {
		const colon = line.indexOf(":");
		if (colon === 0)
			return; /* a comment of the protocol */
		const name = colon < 0 ? line : line.slice(0, colon);
		const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
		if (name === "id")
			this.#id = value;
		else if (name === "event")
			this.#kind = value;
		else if (name === "data")
			this.#data.push(value);
	}

	*#end() {
		if (this.#data.length)
			yield { id: this.#id, kind: this.#kind || "message", data: this.#data.join("\n") };
		this.#kind = "";
		this.#data = [];
	}
}

/** Yields the events of a response until the response ends. Calls @alive for each received piece. */
export async function* events_of(response, alive) {
	const parser = new Parser();
	const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
	for (;;) {
		const { value, done } = await reader.read();
		if (done)
			return;
		alive();
		yield* parser.take(value);
	}
}
