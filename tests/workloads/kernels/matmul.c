/* SPDX-License-Identifier: MIT */
/* Workload matmul: C = A * B + salt in tiles (FairGV Table 3: matrixMul). */
#include <math.h>
#include <stdlib.h>

#include "tests/workloads/kernels/workloads.h"

#define MAX_CHECKED 64 /* checked elements of each row */

enum { A, B, C };

static float *random_matrix(uint32_t n, uint32_t seed)
{
	float *m = load_alloc((size_t)n * n, sizeof(float));

	for (uint32_t i = 0; i < n * n; i++)
		m[i] = 2 * load_unit(seed + i) - 1;
	return m;
}

static void setup(struct load *load)
{
	size_t bytes = (size_t)load->size * load->size * sizeof(float);
	float *a = random_matrix(load->size, 1), *b = random_matrix(load->size, 0x40000000);

	load_set_buffer(load, 0, 0, load_add_buffer(load, bytes, a));
	load_set_buffer(load, 0, 1, load_add_buffer(load, bytes, b));
	load_set_buffer(load, 0, 2, load_add_buffer(load, bytes, NULL));
	load_set_uint(load, 0, 3, load->size);
	free(a);
	free(b);
}

static bool step(struct load *load, unsigned int step)
{
	(void)step;
	load_set_uint(load, 0, 4, load->salt);
	load_launch_2d(load, 0, load->size, load->size);
	return false;
}

/*
 * An element is a sum of n products, so its error is at most (n + 2) rounding errors of the sum of
 * their magnitudes. Of each row at most 64 elements are checked, in every tile of columns up to
 * n = 1024.
 */
static bool check_row(const struct load *load, const float *a, const float *b, const float *c,
		      uint32_t row)
{
	uint32_t n = load->size, stride = (n + MAX_CHECKED - 1) / MAX_CHECKED;

	for (uint32_t column = row % stride; column < n; column += stride) {
		double sum = load->salt % 16, magnitude = sum, bound;

		for (uint32_t k = 0; k < n; k++) {
			double product = (double)a[row * n + k] * (double)b[k * n + column];

			sum += product;
			magnitude += fabs(product);
		}
		bound = (n + 2) * LOAD_ROUNDING * magnitude;
		if (!load_near_floats("c", &c[row * n + column], &sum, &bound, true, 1))
			return false;
	}
	return true;
}

static bool check(struct load *load)
{
	float *a = load_read(load, A), *b = load_read(load, B), *c = load_read(load, C);
	bool ok = true;

	for (uint32_t row = 0; row < load->size && ok; row++)
		ok = check_row(load, a, b, c, row);
	free(a);
	free(b);
	free(c);
	return ok;
}

const struct workload workload_matmul = {
	.name = "matmul",
	.summary = "multiply two square matrices in tiles",
	.unit = "rows and columns",
	.source = source_matmul,
	.kernels = {"matmul"},
	.size_min = 16,
	.size_max = 16384,
	.size_default = 96,
	.local_memory = true,
	.setup = setup,
	.step = step,
	.check = check,
};
