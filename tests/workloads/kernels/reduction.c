/* SPDX-License-Identifier: MIT */
/* Workload reduction: the sum of integers. */
#include <stdlib.h>

#include "tests/workloads/kernels/workloads.h"

#define PER_ITEM 32 /* integers of a work-item, about */

enum { INPUT, PARTIAL, TOTAL };
enum { REDUCE, REDUCE_PARTIAL };

static uint32_t n_groups(const struct load *load)
{
	return load->size / (load->local * PER_ITEM) + 1;
}

static void setup(struct load *load)
{
	load_add_random(load, load->size, UINT32_MAX);
	load_add_buffer(load, n_groups(load) * sizeof(uint32_t), NULL);
	load_add_buffer(load, sizeof(uint32_t), NULL);
	load_set_buffer(load, REDUCE, 0, INPUT);
	load_set_buffer(load, REDUCE, 1, PARTIAL);
	load_set_uint(load, REDUCE, 2, load->size);
	load_set_buffer(load, REDUCE_PARTIAL, 0, PARTIAL);
	load_set_buffer(load, REDUCE_PARTIAL, 1, TOTAL);
	load_set_uint(load, REDUCE_PARTIAL, 2, n_groups(load));
}

static bool step(struct load *load, unsigned int step)
{
	if (step == REDUCE_PARTIAL) {
		load_launch_group(load, REDUCE_PARTIAL);
		return false;
	}
	load_set_uint(load, REDUCE, 3, load->salt);
	load_launch_1d(load, REDUCE, (size_t)n_groups(load) * load->local);
	return true;
}

static bool check(struct load *load)
{
	uint32_t *input = load_read(load, INPUT), *got = load_read(load, TOTAL), expected = 0;
	bool ok;

	for (uint32_t i = 0; i < load->size; i++)
		expected += input[i] * (2 * load->salt + 1);
	ok = load_same_uints("total", got, &expected, 1);
	free(input);
	free(got);
	return ok;
}

const struct workload workload_reduction = {
	.name = "reduction",
	.summary = "add integers, two launches a round",
	.unit = "integers",
	.source = source_reduction,
	.kernels = {"reduce", "reduce_partial"},
	.size_min = 1,
	.size_max = 1u << 28,
	.size_default = 1u << 20,
	.local_memory = true,
	.setup = setup,
	.step = step,
	.check = check,
};
