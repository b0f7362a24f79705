/* SPDX-License-Identifier: MIT */
/* Workload scan: prefix sums of integers (FairGV Table 3: scan). */
#include <stdlib.h>

#include "tests/workloads/kernels/workloads.h"

enum { INPUT, OUTPUT, SUMS };
enum { SCAN_GROUPS, SCAN_SUMS, SCAN_ADD };

static void setup(struct load *load)
{
	size_t bytes = load->size * sizeof(uint32_t);
	uint32_t groups = (load->size + load->local - 1) / load->local;

	load_add_random(load, load->size, 0xff);
	load_add_buffer(load, bytes, NULL);
	load_add_buffer(load, groups * sizeof(uint32_t), NULL);
	load_set_buffer(load, SCAN_GROUPS, 0, INPUT);
	load_set_buffer(load, SCAN_GROUPS, 1, OUTPUT);
	load_set_buffer(load, SCAN_GROUPS, 2, SUMS);
	load_set_uint(load, SCAN_GROUPS, 3, load->size);
	load_set_buffer(load, SCAN_SUMS, 0, SUMS);
	load_set_uint(load, SCAN_SUMS, 1, groups);
	load_set_buffer(load, SCAN_ADD, 0, OUTPUT);
	load_set_buffer(load, SCAN_ADD, 1, SUMS);
	load_set_uint(load, SCAN_ADD, 2, load->size);
}

static bool step(struct load *load, unsigned int step)
{
	if (step == SCAN_SUMS) {
		load_launch_group(load, SCAN_SUMS);
		return true;
	}
	if (step == SCAN_GROUPS)
		load_set_uint(load, SCAN_GROUPS, 4, load->salt);
	load_launch_1d(load, step, load->size);
	return step != SCAN_ADD;
}

static bool check(struct load *load)
{
	uint32_t *expected = load_read(load, INPUT), *got = load_read(load, OUTPUT), sum = 0;
	bool ok;

	for (uint32_t i = 0; i < load->size; i++)
		expected[i] = sum += expected[i] + load->salt % 16;
	ok = load_same_uints("output", got, expected, load->size);
	free(expected);
	free(got);
	return ok;
}

const struct workload workload_scan = {
	.name = "scan",
	.summary = "compute prefix sums, three launches a round",
	.unit = "integers",
	.source = source_scan,
	.kernels = {"scan_groups", "scan_sums", "scan_add"},
	.size_min = 1,
	.size_max = 1u << 28,
	.size_default = 1u << 18,
	.local_memory = true,
	.setup = setup,
	.step = step,
	.check = check,
};
