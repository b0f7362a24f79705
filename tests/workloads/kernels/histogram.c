/* SPDX-License-Identifier: MIT */
/* Workload histogram: 256 bins with atomic additions (FairGV Table 3: histogram). */
#include <stdlib.h>

#include "tests/workloads/kernels/workloads.h"

#define N_BINS	 256
#define PER_ITEM 16 /* integers of a work-item */

enum { INPUT, BINS };
enum { CLEAR, COUNT };

static void setup(struct load *load)
{
	uint32_t *content = load_alloc(load->size, sizeof(uint32_t));

	/* Small numbers are more frequent, as in a picture. */
	for (uint32_t i = 0; i < load->size; i++)
		content[i] = (load_mix(i) & 0xff) & (load_mix(~i) | 0x0f);
	load_add_buffer(load, load->size * sizeof(uint32_t), content);
	load_add_buffer(load, N_BINS * sizeof(uint32_t), NULL);
	load_set_buffer(load, CLEAR, 0, BINS);
	load_set_buffer(load, COUNT, 0, INPUT);
	load_set_buffer(load, COUNT, 1, BINS);
	load_set_uint(load, COUNT, 2, load->size);
	free(content);
}

static bool step(struct load *load, unsigned int step)
{
	if (step == CLEAR) {
		load_launch_1d(load, CLEAR, N_BINS);
		return true;
	}
	load_set_uint(load, COUNT, 3, load->salt);
	load_launch_1d(load, COUNT, (load->size + PER_ITEM - 1) / PER_ITEM);
	return false;
}

static bool check(struct load *load)
{
	uint32_t *input = load_read(load, INPUT), *got = load_read(load, BINS);
	uint32_t expected[N_BINS] = {0};
	bool ok;

	for (uint32_t i = 0; i < load->size; i++)
		expected[(input[i] + load->salt) % N_BINS]++;
	ok = load_same_uints("bins", got, expected, N_BINS);
	free(input);
	free(got);
	return ok;
}

const struct workload workload_histogram = {
	.name = "histogram",
	.summary = "count integers in 256 bins, two launches a round",
	.unit = "integers",
	.source = source_histogram,
	.kernels = {"histogram_clear", "histogram"},
	.size_min = 1,
	.size_max = 1u << 28,
	.size_default = 1u << 18,
	.local_memory = true,
	.setup = setup,
	.step = step,
	.check = check,
};
