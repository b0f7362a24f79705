// SPDX-License-Identifier: MIT
// Starts and stops the daemon of the test and sends REST requests from outside the browser. The daemon ends with this process.
import { spawn } from "node:child_process";
import { openSync } from "node:fs";
import { request } from "node:http";
import { until } from "./tap.mjs";

const { GOVER_D, CONF, PORT, LOG } = process.env;
export const url = `http://127.0.0.1:${PORT}`;
let child = null;

/** Returns {status, body} of a request on a unix socket. */
export function ask(socketPath, method, path, body) {
	return new Promise((resolve, reject) => {
		const headers = body === undefined ? {} : { "Content-Type": "application/json" };
		const r = request({ socketPath, method, path, headers }, (answer) => {
			let text = "";
			answer.setEncoding("utf8").on("data", (piece) => (text += piece));
			answer.on("end", () => resolve({ status: answer.statusCode, body: text.startsWith("{") ? JSON.parse(text) : text }));
		});
		r.on("error", reject);
		r.end(body === undefined ? undefined : JSON.stringify(body));
	});
}

export const rest = (method, path, body) => ask(CONF.replace(/[^/]*$/, "gover.sock"), method, path, body);
export const get = async (path) => (await rest("GET", path)).body;
export const sell = (body) => rest("POST", "/v1/vgpus", body);
export const load = (id, workload) => rest("PATCH", `/v1/vgpus/${id}`, { labels: { workload } });

export async function start() {
	const log = openSync(LOG, "a");
	child = spawn(GOVER_D, ["--config", CONF, "--listen", `127.0.0.1:${PORT}`], { stdio: ["ignore", log, log] });
	await until(async () => (await rest("GET", "/readyz")).status === 200);
}

export async function stop(signal) {
	const ended = new Promise((resolve) => child.once("exit", resolve));
	child.kill(signal);
	await ended;
	child = null;
}

process.on("exit", () => child?.kill("SIGKILL"));
