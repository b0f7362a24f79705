/* SPDX-License-Identifier: MIT */
/* Workload many: many small kernels, whose cost is the cost of a submission. */
#include <stdlib.h>

#include "tests/workloads/kernels/workloads.h"

#define STEPS 16

enum { INPUT, DATA };

static void setup(struct load *load)
{
	load_add_random(load, load->size, UINT32_MAX);
	load_add_buffer(load, load->size * sizeof(uint32_t), NULL);
	load_set_buffer(load, 0, 1, DATA);
	load_set_uint(load, 0, 2, load->size);
}

static bool step(struct load *load, unsigned int step)
{
	load_set_buffer(load, 0, 0, step == 0 ? INPUT : DATA);
	load_set_uint(load, 0, 3, load->salt + step);
	load_launch_1d(load, 0, load->size);
	return step + 1 < STEPS;
}

static bool check(struct load *load)
{
	uint32_t *expected = load_read(load, INPUT), *got = load_read(load, DATA);
	bool ok;

	for (uint32_t i = 0; i < load->size; i++)
		for (uint32_t s = 0; s < STEPS; s++)
			expected[i] = expected[i] * 3 + load->salt + s;
	ok = load_same_uints("data", got, expected, load->size);
	free(expected);
	free(got);
	return ok;
}

const struct workload workload_many = {
	.name = "many",
	.summary = "multiply and add integers, sixteen small launches a round",
	.unit = "integers",
	.source = source_many,
	.kernels = {"many"},
	.size_min = 1,
	.size_max = 1u << 28,
	.size_default = 4096,
	.setup = setup,
	.step = step,
	.check = check,
};
