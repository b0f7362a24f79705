/* SPDX-License-Identifier: MIT */
/* Prices of European options by Black and Scholes. Each work-item computes several options. */
#define VOLATILITY 0.30f

/* The cumulative normal distribution by a polynomial (Abramowitz and Stegun 26.2.17). */
static float normal(float d)
{
	float k = 1.0f / (1.0f + 0.2316419f * fabs(d));
	float poly = k * (0.319381530f +
			  k * (-0.356563782f +
			       k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
	float tail = 0.39894228f * exp(-0.5f * d * d) * poly;

	return d > 0 ? 1.0f - tail : tail;
}

__kernel void blackscholes(__global const float *price, __global const float *strike,
			   __global const float *years, __global float *call, __global float *put,
			   uint n, uint salt)
{
	float rate = 0.02f + 0.001f * (float)(salt % 16);

	for (uint i = get_global_id(0); i < n; i += get_global_size(0)) {
		float root = sqrt(years[i]);
		float d1 = (log(price[i] / strike[i]) +
			    (rate + 0.5f * VOLATILITY * VOLATILITY) * years[i]) /
			   (VOLATILITY * root);
		float d2 = d1 - VOLATILITY * root;
		float discounted = strike[i] * exp(-rate * years[i]);

		call[i] = price[i] * normal(d1) - discounted * normal(d2);
		put[i] = discounted * (1.0f - normal(d2)) - price[i] * (1.0f - normal(d1));
	}
}
