/* SPDX-License-Identifier: MIT */
/* Workload nbody: the forces between all pairs of bodies. */
#include <math.h>
#include <stdlib.h>

#include "tests/workloads/kernels/workloads.h"

#define MAX_CHECKED 4096 /* bodies */

enum { BODIES, ACCELERATION };

static void setup(struct load *load)
{
	size_t bytes = load->size * 4 * sizeof(float);
	float *content = load_alloc(load->size, 4 * sizeof(float));

	for (uint32_t i = 0; i < load->size * 4; i++)
		content[i] = i % 4 == 3 ? 0.5f + load_unit(i) : 2 * load_unit(i) - 1;
	load_set_buffer(load, 0, 0, load_add_buffer(load, bytes, content));
	load_set_buffer(load, 0, 1, load_add_buffer(load, bytes, NULL));
	load_set_uint(load, 0, 2, load->size);
	free(content);
}

static bool step(struct load *load, unsigned int step)
{
	(void)step;
	load_set_uint(load, 0, 3, load->salt);
	load_launch_1d(load, 0, load->size);
	return false;
}

/*
 * Each term has at most 32 rounding errors, and the sum of n terms another n. Both are relative to
 * the magnitudes of the terms.
 */
static bool check_body(const struct load *load, const float *bodies, const float *got, uint32_t i)
{
	double sum[3] = {0}, bound[3] = {0};

	for (uint32_t k = 0; k < load->size; k++) {
		double d[3], square = 0.01 * (1 + load->salt % 4), factor;

		for (int c = 0; c < 3; c++) {
			d[c] = (double)bodies[4 * k + c] - (double)bodies[4 * i + c];
			square += d[c] * d[c];
		}
		factor = (double)bodies[4 * k + 3] / (square * sqrt(square));
		for (int c = 0; c < 3; c++) {
			sum[c] += d[c] * factor;
			bound[c] += fabs(d[c] * factor) * (load->size + 32) * LOAD_ROUNDING;
		}
	}
	return load_near_floats("acceleration", got + 4 * i, sum, bound, false, 3);
}

/* Checks at most 4,096 bodies, evenly distributed. */
static bool check(struct load *load)
{
	float *bodies = load_read(load, BODIES), *got = load_read(load, ACCELERATION);
	uint32_t stride = (load->size + MAX_CHECKED - 1) / MAX_CHECKED;
	bool ok = true;

	for (uint32_t i = 0; i < load->size && ok; i += stride)
		ok = check_body(load, bodies, got, i);
	free(bodies);
	free(got);
	return ok;
}

const struct workload workload_nbody = {
	.name = "nbody",
	.summary = "compute the forces between all pairs of bodies",
	.unit = "bodies",
	.source = source_nbody,
	.kernels = {"nbody"},
	.size_min = 2,
	.size_max = 1u << 20,
	.size_default = 512,
	.local_memory = true,
	.setup = setup,
	.step = step,
	.check = check,
};
