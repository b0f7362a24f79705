/* SPDX-License-Identifier: MIT */
/* Workload long: one kernel whose time is proportional to the size (FairGV Table 3: lavaMD
 * takes 1.9 s). */
#include <stdlib.h>

#include "tests/workloads/kernels/workloads.h"

#define ITEMS 4096

enum { SEEDS, OUTPUT };

static void setup(struct load *load)
{
	load_set_buffer(load, 0, 0, load_add_random(load, ITEMS, UINT32_MAX));
	load_set_buffer(load, 0, 1, load_add_buffer(load, ITEMS * sizeof(uint32_t), NULL));
	load_set_uint(load, 0, 2, ITEMS);
	load_set_uint(load, 0, 3, load->size);
}

static bool step(struct load *load, unsigned int step)
{
	(void)step;
	load_set_uint(load, 0, 4, load->salt);
	load_launch_1d(load, 0, ITEMS);
	return false;
}

/*
 * A step is x * a + c. Two such functions in sequence are again such a function, so @steps of them
 * are computed by repeated squaring.
 */
static void compose(uint32_t steps, uint32_t *ret_a, uint32_t *ret_c)
{
	uint32_t a = 1664525u, c = 1013904223u;

	*ret_a = 1;
	*ret_c = 0;
	for (; steps > 0; steps /= 2) {
		if (steps % 2 == 1) {
			*ret_c = *ret_c * a + c;
			*ret_a *= a;
		}
		c += c * a;
		a *= a;
	}
}

static bool check(struct load *load)
{
	uint32_t *expected = load_read(load, SEEDS), *got = load_read(load, OUTPUT), a, c;
	bool ok;

	compose(load->size, &a, &c);
	for (uint32_t i = 0; i < ITEMS; i++)
		expected[i] = (expected[i] + load->salt) * a + c;
	ok = load_same_uints("output", got, expected, ITEMS);
	free(expected);
	free(got);
	return ok;
}

const struct workload workload_long = {
	.name = "long",
	.summary = "iterate a linear congruence in 4,096 work-items",
	.unit = "iterations",
	.source = source_long,
	.kernels = {"long_steps"},
	.size_min = 1,
	.size_max = UINT32_MAX,
	.size_default = 500,
	.setup = setup,
	.step = step,
	.check = check,
};
