// SPDX-License-Identifier: MIT
// Server-sent events over fetch(): EventSource cannot carry a token. Knows the format, not what the events mean.

/** Takes pieces of text, gives whole events {id, kind, data}; what is not whole yet waits. */
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
			return; /* a comment: a sign of life */
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

/** The events of an answer until it ends. @alive is called for every piece that comes. */
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
