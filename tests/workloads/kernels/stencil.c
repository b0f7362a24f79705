/* SPDX-License-Identifier: MIT */
/* Workload stencil: steps of heat flow on a grid (FairGV Table 3, VMCG Table 2: hotspot). */
#include <stdlib.h>

#include "tests/workloads/kernels/workloads.h"

#define STEPS 4
/*
 * A value is at most 1 + 4 * 0.875 after four steps. A step makes at most ten roundings of a value
 * below 4 * 4.5, and four steps add them.
 */
#define BOUND (STEPS * 10 * 18 * LOAD_ROUNDING)

enum { INPUT, EVEN, ODD };

static void setup(struct load *load)
{
	size_t n = (size_t)load->size * load->size;
	float *content = load_alloc(n, sizeof(float));

	for (size_t i = 0; i < n; i++)
		content[i] = load_unit((uint32_t)i);
	load_add_buffer(load, n * sizeof(float), content);
	load_add_buffer(load, n * sizeof(float), NULL);
	load_add_buffer(load, n * sizeof(float), NULL);
	load_set_uint(load, 0, 2, load->size);
	free(content);
}

static bool step(struct load *load, unsigned int step)
{
	unsigned int to = step % 2 == 0 ? EVEN : ODD;

	load_set_buffer(load, 0, 0, step == 0 ? INPUT : to == EVEN ? ODD : EVEN);
	load_set_buffer(load, 0, 1, to);
	load_set_uint(load, 0, 3, load->salt);
	load_launch_2d(load, 0, load->size, load->size);
	return step + 1 < STEPS;
}

static void step_on_cpu(const double *from, double *to, uint32_t n, double power)
{
	for (uint32_t y = 0; y < n; y++) {
		for (uint32_t x = 0; x < n; x++) {
			size_t i = (size_t)y * n + x;
			double around = (x > 0 ? from[i - 1] : 0) + (x + 1 < n ? from[i + 1] : 0) +
					(y > 0 ? from[i - n] : 0) + (y + 1 < n ? from[i + n] : 0);

			to[i] = from[i] + 0.2 * (around - 4 * from[i]) +
				((x + y) % 8 == 0 ? power : 0);
		}
	}
}

static bool check(struct load *load)
{
	size_t n = (size_t)load->size * load->size;
	float *input = load_read(load, INPUT), *got = load_read(load, ODD);
	double *from = load_alloc(n, sizeof(double)), *to = load_alloc(n, sizeof(double));
	double bound = BOUND, *swapped;
	bool ok;

	for (size_t i = 0; i < n; i++)
		from[i] = (double)input[i];
	for (int i = 0; i < STEPS; i++) {
		step_on_cpu(from, to, load->size, 0.125 * (load->salt % 8));
		swapped = from;
		from = to;
		to = swapped;
	}
	ok = load_near_floats("odd", got, from, &bound, true, n);
	free(input);
	free(got);
	free(from);
	free(to);
	return ok;
}

const struct workload workload_stencil = {
	.name = "stencil",
	.summary = "compute a step of heat flow on a grid, four launches a round",
	.unit = "rows and columns",
	.source = source_stencil,
	.kernels = {"stencil"},
	.size_min = 1,
	.size_max = 16384,
	.size_default = 512,
	.setup = setup,
	.step = step,
	.check = check,
};
