/* SPDX-License-Identifier: MIT */
/*
 * Workload bfs: breadth-first search in an irregular graph (VMCG Table 2: Bfs). After
 * each level the host reads whether another level follows, so launches are never in flight for
 * long.
 */
#include <stdlib.h>

#include "tests/workloads/kernels/workloads.h"

#define UNREACHED 0xffffffffu

enum { FIRST, EDGES, LEVELS, FOUND };
enum { START, LEVEL };

/* Most nodes have 1 to 4 edges, one of 64 has 64. An edge leads to a node not far away. */
static uint32_t degree(uint32_t node)
{
	return load_mix(node) % 64 == 0 ? 64 : 1 + load_mix(node) % 4;
}

static uint32_t target(uint32_t n, uint32_t node, uint32_t edge)
{
	uint32_t reach = n / 32 + 2, far = load_mix(node * 64 + edge) % (2 * reach);

	return (node + n + far - reach % n) % n;
}

static void setup(struct load *load)
{
	uint32_t n = load->size, n_edges = 0;
	uint32_t *first = load_alloc(n + 1, sizeof(uint32_t)), *edges;

	for (uint32_t i = 0; i < n; i++) {
		first[i] = n_edges;
		n_edges += degree(i);
	}
	first[n] = n_edges;
	edges = load_alloc(n_edges, sizeof(uint32_t));
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t e = first[i]; e < first[i + 1]; e++)
			edges[e] = target(n, i, e - first[i]);
	load_add_buffer(load, (n + 1) * sizeof(uint32_t), first);
	load_add_buffer(load, n_edges * sizeof(uint32_t), edges);
	load_add_buffer(load, n * sizeof(uint32_t), NULL);
	load_add_buffer(load, n * sizeof(uint32_t), NULL);
	load_set_buffer(load, START, 0, LEVELS);
	load_set_buffer(load, START, 1, FOUND);
	load_set_uint(load, START, 2, n);
	for (unsigned int buffer = FIRST; buffer <= FOUND; buffer++)
		load_set_buffer(load, LEVEL, buffer, buffer);
	load_set_uint(load, LEVEL, 4, n);
	free(first);
	free(edges);
}

static bool step(struct load *load, unsigned int step)
{
	uint32_t found = 0;

	if (step == 0) {
		load_set_uint(load, START, 3, load->salt % load->size);
		load_launch_1d(load, START, load->size);
		return true;
	}
	load_set_uint(load, LEVEL, 5, step - 1);
	load_launch_1d(load, LEVEL, load->size);
	load_expect(clEnqueueReadBuffer(load->queue, load->buffers[FOUND].mem, CL_TRUE,
					(step - 1) * sizeof(found), sizeof(found), &found, 0, NULL,
					NULL),
		    "clEnqueueReadBuffer");
	return found != 0;
}

/* Writes the level of each node that @source reaches. */
static void search(const uint32_t *first, const uint32_t *edges, uint32_t *levels, uint32_t n,
		   uint32_t source)
{
	uint32_t *queue = load_alloc(n, sizeof(uint32_t)), head = 0, tail = 1;

	for (uint32_t i = 0; i < n; i++)
		levels[i] = UNREACHED;
	levels[source] = 0;
	queue[0] = source;
	while (head < tail) {
		uint32_t node = queue[head++];

		for (uint32_t e = first[node]; e < first[node + 1]; e++) {
			if (levels[edges[e]] != UNREACHED)
				continue;
			levels[edges[e]] = levels[node] + 1;
			queue[tail++] = edges[e];
		}
	}
	free(queue);
}

static bool check(struct load *load)
{
	uint32_t *first = load_read(load, FIRST), *edges = load_read(load, EDGES);
	uint32_t *got = load_read(load, LEVELS);
	uint32_t *expected = load_alloc(load->size, sizeof(uint32_t));
	bool ok;

	search(first, edges, expected, load->size, load->salt % load->size);
	ok = load_same_uints("levels", got, expected, load->size);
	free(first);
	free(edges);
	free(got);
	free(expected);
	return ok;
}

const struct workload workload_bfs = {
	.name = "bfs",
	.summary = "search an irregular graph, a launch and a read per level",
	.unit = "nodes",
	.source = source_bfs,
	.kernels = {"bfs_start", "bfs_level"},
	.size_min = 4,
	.size_max = 1u << 24,
	.size_default = 1u << 16,
	.setup = setup,
	.step = step,
	.check = check,
};
