/* SPDX-License-Identifier: MIT */
/* Workload blackscholes: option prices (FairGV Table 3: BlackScholes). */
#include <math.h>
#include <stdlib.h>

#include "tests/workloads/kernels/workloads.h"

#define VOLATILITY 0.30
#define PER_ITEM   4 /* options of a work-item */

enum { PRICE, STRIKE, YEARS, CALL, PUT };

static unsigned int random_buffer(struct load *load, uint32_t seed, float min, float max)
{
	float *content = load_alloc(load->size, sizeof(float));
	unsigned int buffer;

	for (uint32_t i = 0; i < load->size; i++)
		content[i] = min + (max - min) * load_unit(seed + i);
	buffer = load_add_buffer(load, load->size * sizeof(float), content);
	free(content);
	return buffer;
}

static void setup(struct load *load)
{
	load_set_buffer(load, 0, 0, random_buffer(load, 1, 5, 30));
	load_set_buffer(load, 0, 1, random_buffer(load, 0x30000000, 1, 100));
	load_set_buffer(load, 0, 2, random_buffer(load, 0x60000000, 0.25f, 10));
	load_set_buffer(load, 0, 3, load_add_buffer(load, load->size * sizeof(float), NULL));
	load_set_buffer(load, 0, 4, load_add_buffer(load, load->size * sizeof(float), NULL));
	load_set_uint(load, 0, 5, load->size);
}

static bool step(struct load *load, unsigned int step)
{
	(void)step;
	load_set_uint(load, 0, 6, load->salt);
	load_launch_1d(load, 0, (load->size + PER_ITEM - 1) / PER_ITEM);
	return false;
}

static double normal(double d)
{
	return 0.5 * erfc(-d / sqrt(2));
}

/* The polynomial and the roundings of floats cost at most 2e-5 of the price and the strike. */
static bool check_option(double price, double strike, double years, double rate, const float *call,
			 const float *put)
{
	double d1 = (log(price / strike) + (rate + 0.5 * VOLATILITY * VOLATILITY) * years) /
		    (VOLATILITY * sqrt(years));
	double d2 = d1 - VOLATILITY * sqrt(years);
	double discounted = strike * exp(-rate * years);
	double expected_call = price * normal(d1) - discounted * normal(d2);
	double expected_put = discounted * normal(-d2) - price * normal(-d1);
	double bound = 2e-5 * (price + strike);

	return load_near_floats("call", call, &expected_call, &bound, true, 1) &&
	       load_near_floats("put", put, &expected_put, &bound, true, 1);
}

static bool check(struct load *load)
{
	float *data[5];
	double rate = 0.02 + 0.001 * (load->salt % 16);
	bool ok = true;

	for (unsigned int i = 0; i < 5; i++)
		data[i] = load_read(load, i);
	for (uint32_t i = 0; i < load->size && ok; i++)
		ok = check_option((double)data[PRICE][i], (double)data[STRIKE][i],
				  (double)data[YEARS][i], rate, &data[CALL][i], &data[PUT][i]);
	for (unsigned int i = 0; i < 5; i++)
		free(data[i]);
	return ok;
}

const struct workload workload_blackscholes = {
	.name = "blackscholes",
	.summary = "price European options",
	.unit = "options",
	.source = source_blackscholes,
	.kernels = {"blackscholes"},
	.size_min = 1,
	.size_max = 1u << 28,
	.size_default = 1u << 14,
	.setup = setup,
	.step = step,
	.check = check,
};
