// SPDX-License-Identifier: MIT
// Daemons with 3, 20 and 64 simulated vGPUs for the tests of the page, each in a folder of its own. Every host has promises that are
// kept and promises that are broken. The daemons end with this process.
import { spawn } from "node:child_process";
import { mkdirSync, openSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { ask } from "./daemon.mjs";
import { until } from "./tap.mjs";

export const SIZES = [3, 20, 64];
export const PERIOD_MS = 1000;

const LONG = "render-node-of-a-customer-with-a-long-name-eu-central-1b";
const vm = (i) => (i % 7 === 3 ? `${LONG}-${i}` : `vm-${i}`);
const labels = (i, workload) => ({ workload, tier: ["gold", "silver", "bronze"][i % 3], ...(i % 5 ? {} : { customer: `customer-${i}` }) });

/* Together they want 108 % of the GPU, so the promise of c is broken. */
const THREE = [
	{ id: "a", vm: "vm-a", initial_cap_pct: 50, labels: labels(0, "load:pct=30") },
	{ id: "b", vm: LONG, initial_cap_pct: 50, labels: labels(1, "load:pct=30") },
	{ id: "c", vm: "vm-c", initial_cap_pct: 50, target_fps: 60, labels: labels(2, "frame:gpu_ms=8,cpu_ms=1") },
];

/** @n contracts of @cap_pct. Each eighth is held at a cap that is too small for its target. */
function many(n, cap_pct) {
	const half_ms = (cap_pct / 60) * 10 * 0.5; /* GPU time of a frame: half of the cap at 60 FPS */
	const kinds = [
		(i) => ({ target_fps: 60, labels: labels(i, `frame:gpu_ms=${half_ms.toFixed(3)},cpu_ms=4,fps_max=61`) }),
		(i) => ({ labels: labels(i, `load:pct=${(cap_pct * 0.4).toFixed(1)}`) }),
		(i) => ({ target_fps: 30, labels: labels(i, `frame:gpu_ms=${half_ms.toFixed(3)},cpu_ms=8,fps_max=31`) }),
		(i) => ({ labels: labels(i, `square:period_s=20,low_pct=${(cap_pct * 0.2).toFixed(1)},high_pct=${cap_pct}`) }),
	];
	return Array.from({ length: n }, (_, i) => {
		const id = i % 9 === 4 ? `gpu-instance-with-a-long-name-${i}` : `v${i}`;
		const rest = i % 8 === 7
			? { target_fps: 60, held: true, labels: labels(i, `frame:gpu_ms=${(half_ms * 6).toFixed(3)},cpu_ms=1`) }
			: kinds[i % 4](i);
		return { id, vm: vm(i), initial_cap_pct: cap_pct, ...rest };
	});
}

const TENANTS = { 3: THREE, 20: many(20, 4), 64: many(64, 1) };

function free_port() {
	return new Promise((resolve) => {
		const server = createServer().listen(0, "127.0.0.1", () => {
			const { port } = server.address();
			server.close(() => resolve(port));
		});
	});
}

export const is_broken = (v) => v.promise === "broken" || (v.promise === undefined && v.broken);

export class SimHost {
	#child = null;

	constructor(folder, size) {
		this.size = size;
		this.folder = `${folder}/host-${size}`;
		this.socket = `${this.folder}/gover.sock`;
	}

	/** Starts the daemon, and sells the contracts. */
	async start() {
		const port = await free_port();
		this.url = `http://127.0.0.1:${port}`;
		mkdirSync(`${this.folder}/poke`, { recursive: true });
		writeFileSync(`${this.folder}/gover.conf`, `[daemon]
socket = ${this.socket}
state_dir = ${this.folder}/state
period_ms = ${PERIOD_MS}
listen = 127.0.0.1:${port}
[gpu gpu0]
backend = sim
root = ${this.folder}/poke
sharing = hard
[fps]
socket = ${this.folder}/fps.sock
[policy]
fund_window_s = 2
[offer]
price_per_cap_hour = 2
penalty_per_broken_s = 0.01
[access]
anonymous = read
requests_per_s = 0
`);
		const log = openSync(`${this.folder}/log`, "a");
		this.#child = spawn(process.env.GOVER_D, ["--config", `${this.folder}/gover.conf`], { stdio: ["ignore", log, log] });
		process.on("exit", () => this.#child?.kill("SIGKILL"));
		await until(async () => (await this.rest("GET", "/readyz")).status === 200);
		for (const tenant of TENANTS[this.size])
			await this.#sell(tenant);
	}

	/** A contract beyond 100 % can be sold only after the unused capacity of the others was measured. */
	async #sell({ held, ...contract }) {
		await until(async () => {
			const { status, body } = await this.rest("POST", "/v1/vgpus", contract);
			if (status !== 201 && status !== 409)
				throw new Error(JSON.stringify(body));
			return status === 201;
		}, 60);
		if (held)
			await this.rest("PATCH", `/v1/vgpus/${contract.id}`, { held });
	}

	rest(method, path, body) {
		return ask(this.socket, method, path, body);
	}

	async vgpus() {
		return (await this.rest("GET", "/v1/vgpus")).body.vgpus;
	}

	signal(name) {
		this.#child.kill(name);
	}
}
