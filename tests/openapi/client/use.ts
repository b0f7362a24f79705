/* SPDX-License-Identifier: MIT */
/*
 * use.js SOCKET: lists, sells, holds, changes, claims and removes vGPUs with the generated client, as an orchestrator does.
 * It must use only generated functions and types, so that an error in the description is a compile error.
 */
import http from 'node:http';
import { createClient } from './gen/client/index.js';
import {
	changeGpu,
	changePolicy,
	changeVgpu,
	claimOffer,
	createVgpu,
	deleteVgpu,
	getHost,
	getPolicy,
	getVgpu,
	getVgpuHistory,
	listDecisions,
	listOffers,
	listVgpus,
} from './gen/sdk.gen.js';
import type { Problem, Vgpu } from './gen/types.gen.js';

const socketPath = process.argv[2];

/* fetch() over a unix socket. */
async function unixFetch(request: Request): Promise<Response> {
	const url = new URL(request.url);
	const body = request.body ? Buffer.from(await request.arrayBuffer()) : undefined;

	return new Promise((resolve, reject) => {
		const call = http.request(
			{
				socketPath,
				method: request.method,
				path: url.pathname + url.search,
				headers: Object.fromEntries(request.headers),
			},
			(answer) => {
				const pieces: Buffer[] = [];

				answer.on('data', (piece) => pieces.push(piece));
				answer.on('end', () => {
					const status = answer.statusCode ?? 500;
					const headers = new Headers();

					for (const [name, value] of Object.entries(answer.headers))
						headers.set(name, String(value));
					resolve(new Response(status === 204 || status === 304 ? null : Buffer.concat(pieces),
						{ status, headers }));
				});
			},
		);

		call.on('error', reject);
		call.end(body);
	});
}

const client = createClient({ baseUrl: 'http://gover', fetch: unixFetch as typeof fetch });

function wanted<T>(what: string, answer: { data?: T; error?: unknown; response: Response }): T {
	if (answer.error !== undefined || answer.data === undefined)
		throw new Error(`${what}: ${answer.response.status} ${JSON.stringify(answer.error)}`);
	return answer.data;
}

function refused(what: string, status: number, answer: { error?: Problem; response: Response }): void {
	if (answer.response.status !== status || answer.error?.status !== status)
		throw new Error(`${what}: ${answer.response.status} instead of ${status}`);
	console.log(`${what} is refused with ${status}: ${answer.error.detail}`);
}

async function listAll(): Promise<Vgpu[]> {
	const all: Vgpu[] = [];
	let after: string | undefined;

	for (;;) {
		const page = wanted('a page', await listVgpus({ client, query: { limit: 1, after } }));

		all.push(...page.vgpus);
		if (page.next === null)
			return all;
		after = page.next;
	}
}

async function sell(id: string): Promise<void> {
	const request = {
		client,
		headers: { 'Idempotency-Key': `sale-${id}` },
		body: { id, initial_cap_pct: 30, target_fps: 60, labels: { workload: 'idle' } },
	};

	wanted('a sale', await createVgpu(request));
	wanted('the repeated sale', await createVgpu(request));
	refused('another sale with the same key', 422,
		await createVgpu({ ...request, body: { ...request.body, initial_cap_pct: 31 } }));
}

async function change(id: string): Promise<void> {
	const seen = await getVgpu({ client, path: { id } });
	const tag = seen.response.headers.get('ETag') ?? '';
	const before = wanted('the vGPU', seen);
	const after = wanted('the change', await changeVgpu({
		client,
		path: { id },
		headers: { 'If-Match': tag },
		body: { target_fps: (before.target_fps ?? 0) / 2 },
	}));

	console.log(`${id}: the target changes from ${before.target_fps} to ${after.target_fps} frames a second`);
	refused('a change with an old ETag', 412,
		await changeVgpu({ client, path: { id }, headers: { 'If-Match': tag }, body: { burst: true } }));
	refused('a cap of 101', 422, await changeVgpu({ client, path: { id }, body: { initial_cap_pct: 101 } }));
}

async function hold(id: string): Promise<void> {
	const held = wanted('the hold', await changeVgpu({
		client, path: { id }, body: { held: true, held_cap_pct: 25 },
	}));

	console.log(`${id}: held is ${held.held} at ${held.cap_pct} %`);
	wanted('the release', await changeVgpu({ client, path: { id }, body: { held: false } }));
}

async function claim(id: string): Promise<void> {
	for (let tries = 0; tries < 600; tries++) {
		const { offers } = wanted('the offers', await listOffers({ client }));
		const open = offers.find((offer) => offer.state === 'open');

		if (!open) {
			await new Promise((resolve) => setTimeout(resolve, 100));
			continue;
		}
		const sale = wanted('the claim', await claimOffer({
			client,
			path: { id: open.id },
			headers: { 'Idempotency-Key': `claim-${id}` },
			body: { id, vm: `vm-${id}`, target_fps: 0, labels: { workload: 'idle' } },
		}));

		console.log(`offer ${sale.offer.id} is claimed for ${sale.vgpu?.id}, ${sale.vgpu?.state}`);
		return;
	}
	throw new Error('no offer was opened');
}

async function main(): Promise<void> {
	const host = wanted('the host', await getHost({ client }));

	for (const gpu of host.gpus) {
		console.log(`GPU ${gpu.name} of backend ${gpu.backend} has ${gpu.free_pct} % of free cap`);
		wanted('the GPU', await changeGpu({ client, path: { name: gpu.name }, body: { mode: 'act', selling: 'on' } }));
	}
	await sell('a');
	await sell('b');
	await hold('a');
	await change('a');
	await claim('c');
	console.log(`vGPUs: ${(await listAll()).map((vgpu) => vgpu.id).join(', ')}`);

	const history = wanted('the history', await getVgpuHistory({ client, path: { id: 'a' }, query: { step: 1 } }));
	const { decisions } = wanted('the decisions', await listDecisions({ client, query: { after: 0 } }));

	console.log(`points of ${history.step_s} s; kinds of decisions: ${[...new Set(decisions.map((d) => d.kind))].sort().join(', ')}`);
	wanted('the policy', await changePolicy({ client, body: { name: 'qos', overload_pct: 90 } }));
	console.log(`the policy is ${wanted('the policy', await getPolicy({ client })).params.name}`);
	const gone = await deleteVgpu({ client, path: { id: 'c' } });

	console.log(`c is removed: ${gone.response.status}`);
}

main().catch((error) => {
	console.error(error);
	process.exit(1);
});
