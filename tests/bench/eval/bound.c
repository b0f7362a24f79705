/* SPDX-License-Identifier: MIT */
/*
 * Computes the bounds of bound.h. Sums are in percent x periods until the end. Period p of
 * bound.h has index p - 1 here.
 */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "sim/experiment/best-schedule.h"
#include "sim/experiment/experiment-state.h"
#include "tests/bench/eval/bound.h"

#define SERVED_SHARE 0.98
#define SLACK	     1e-6 /* covers rounding of demands to float, as a fraction of the GPU */
#define ROUNDS	     120  /* of the subgradient method */
#define PATIENCE     5	  /* rounds without an improvement until the step is halved */
#define GAP	     0.5  /* first estimate of the distance between bound and optimum */
#define GAP_MIN	     0.002

struct relaxation {
	const struct scenario *scenario;
	double limit;	  /* allowed share of broken vGPU-periods */
	int periods, gap; /* gap: smallest number of periods between two arrivals */
	int start, n;	  /* tenants that take offers, in order; the first @start arrive at 0 */
	int contract_pct[POLICY_VGPUS_MAX];
	float *demand[POLICY_VGPUS_MAX]; /* fractions of the GPU per period; NULL: all 0 */
	bool shared[POLICY_VGPUS_MAX];	 /* demand[] starts with the run, not with the arrival */
	/* vGPU-periods of the tenants with an arrival time, and the capacity sold to them */
	double own_periods, own_sold;
	/* the prices, and the subgradient of the bound */
	float *price, *steps;
	double broken_price, broken_step;
	/* best sum of tenants i, i + 1, ... if tenant i arrives at period k or later */
	double *best;
	double *value; /* value of tenant i if it arrives at period k */
};

/* --- places --- */

static double period_s(const struct scenario *scenario)
{
	return scenario->period_ms / 1000.0;
}

static int count_periods(const struct scenario *scenario, double seconds)
{
	return (int)ceil(seconds / period_s(scenario) - 1e-9);
}

static void add_own_times(struct relaxation *rx)
{
	const struct scenario *scenario = rx->scenario;

	for (int i = 0; i < scenario->n_tenants; i++) {
		const struct scenario_tenant *kind = &scenario->tenants[i];
		double stay = rx->periods;

		if (kind->arrive_s < 0)
			continue;
		stay -= floor(kind->arrive_s / period_s(scenario));
		if (kind->stay_s > 0)
			stay = fmin(stay, count_periods(scenario, kind->stay_s) + 1);
		stay = fmax(0, stay) * kind->count;
		rx->own_periods += stay;
		rx->own_sold += stay * scenario_terms(scenario, kind).initial_cap_pct;
	}
}

static double places(const struct relaxation *rx)
{
	const struct scenario *scenario = rx->scenario;
	double sold = rx->own_sold;
	int largest_pct = 0;

	for (int i = 0; i < scenario->n_tenants; i++) {
		int pct = scenario_terms(scenario, &scenario->tenants[i]).initial_cap_pct;

		if (scenario->drawn[i] && pct > largest_pct)
			largest_pct = pct;
	}
	for (int p = 0; p < rx->periods; p++) {
		int n = rx->start + (p > 0 ? 1 + (p - 1) / rx->gap : 0);

		sold += largest_pct * (n < rx->n ? n : rx->n);
	}
	return sold;
}

/* --- demand --- */

/* Returns the demands of tenant @i from the period after its arrival in period @k; NULL: all 0. */
static const float *demand_from(const struct relaxation *rx, int i, int k)
{
	return rx->demand[i] && rx->shared[i] ? rx->demand[i] + k : rx->demand[i];
}

/*
 * Sets the value of tenant @i for each arrival period. A tenant that arrives at the end of period k
 * is present from period k + 1.
 */
static void set_values(const struct relaxation *rx, int i, double *value)
{
	double each = rx->contract_pct[i] + rx->limit * rx->broken_price;
	float most = (float)rx->broken_price;

	for (int k = 0; k <= rx->periods; k++) {
		const float *price = rx->price + k, *demand = demand_from(rx, i, k);
		int n = rx->periods - k;
		double cost = 0;

		for (int p = 0; demand && p < n; p++) {
			float at = price[p] * demand[p];

			cost += (double)(at < most ? at : most);
		}
		value[k] = n * each - cost;
	}
}

/* Returns the sum of the best arrivals of all tenants. Fills rx->value and rx->best. */
static double sum_best(struct relaxation *rx)
{
	int width = rx->periods + 1;
	double sum = 0;

	for (int i = rx->n - 1; i >= 0; i--) {
		double *best = rx->best + (size_t)i * (size_t)width, *value = rx->value;
		const double *next = best + width;

		set_values(rx, i, value);
		best[rx->periods] = 0;
		for (int k = rx->periods - 1; k >= 0; k--) {
			int then = k + rx->gap < rx->periods ? k + rx->gap : rx->periods;

			best[k] = fmax(best[k + 1], value[k] + next[then]);
		}
		if (i < rx->start)
			sum += value[0];
	}
	return sum + (rx->periods > 0 && rx->n > rx->start
			      ? rx->best[(size_t)rx->start * (size_t)width + 1]
			      : 0);
}

static void add_step(struct relaxation *rx, int i, int arrival)
{
	const float *demand = demand_from(rx, i, arrival);

	rx->broken_step += rx->limit * (rx->periods - arrival);
	for (int p = arrival; demand && p < rx->periods; p++) {
		float d = demand[p - arrival];

		if ((double)(rx->price[p] * d) > rx->broken_price)
			rx->broken_step--;
		else
			rx->steps[p] -= d;
	}
}

/* Sets the subgradient of the bound at the present prices. Returns the square of its length. */
static double set_steps(struct relaxation *rx)
{
	int width = rx->periods + 1, from = 1;
	double square;

	for (int p = 0; p < rx->periods; p++)
		rx->steps[p] = (float)(1 / SERVED_SHARE);
	rx->broken_step = rx->limit * rx->own_periods;
	for (int i = 0; i < rx->n; i++) {
		const double *best = rx->best + (size_t)i * (size_t)width;

		if (i < rx->start) {
			add_step(rx, i, 0);
			continue;
		}
		while (from < rx->periods && best[from] <= best[from + 1])
			from++;
		if (from >= rx->periods)
			break;
		add_step(rx, i, from);
		from += rx->gap;
	}
	square = rx->broken_step * rx->broken_step;
	for (int p = 0; p < rx->periods; p++)
		if (rx->price[p] > 0 || rx->steps[p] < 0)
			square += (double)(rx->steps[p] * rx->steps[p]);
	return square;
}

static void change_prices(struct relaxation *rx, double by)
{
	for (int p = 0; p < rx->periods; p++)
		rx->price[p] = fmaxf(0, rx->price[p] - (float)by * rx->steps[p]);
	rx->broken_price = fmax(0, rx->broken_price - by * rx->broken_step);
}

static double minimize(struct relaxation *rx)
{
	double least = INFINITY, gap = GAP;
	int unchanged = 0;

	for (int round = 0; round < ROUNDS; round++) {
		double sum = sum_best(rx) + rx->own_sold, square;

		for (int p = 0; p < rx->periods; p++)
			sum += (double)rx->price[p] * (1 + SLACK) / SERVED_SHARE;
		sum += rx->limit * rx->broken_price * rx->own_periods;
		unchanged = sum < least * (1 - 1e-5) ? 0 : unchanged + 1;
		least = fmin(least, sum);
		if (unchanged >= PATIENCE) {
			gap /= 2;
			unchanged = 0;
		}
		square = set_steps(rx);
		if (square <= 0 || gap < GAP_MIN)
			break;
		change_prices(rx, (sum - least * (1 - gap)) / square);
	}
	return least;
}

/* --- set-up --- */

static void load_demand(struct relaxation *rx, struct experiment *experiment, uint64_t seed)
{
	struct profiles *profiles = profiles_new(rx->scenario, seed);

	for (int i = 0; i < rx->n; i++) {
		const struct scenario_tenant *kind = tenants_kind(experiment, i);

		rx->contract_pct[i] = scenario_terms(rx->scenario, kind).initial_cap_pct;
		rx->shared[i] = kind->shared_clock;
		if (kind->workload.kind == WORKLOAD_FRAMES)
			continue;
		rx->demand[i] = xcalloc((size_t)rx->periods + 1, sizeof(float));
		for (int p = 0; p < rx->periods; p++)
			rx->demand[i][p] = (float)(profiles_need_pct(profiles, kind, (uint64_t)i,
								     (uint64_t)p) /
						   100);
	}
	profiles_free(profiles);
}

static void allocate(struct relaxation *rx)
{
	size_t width = (size_t)rx->periods + 1;

	rx->price = xcalloc(width, sizeof(*rx->price));
	rx->steps = xcalloc(width, sizeof(*rx->steps));
	rx->best = xcalloc(width * ((size_t)rx->n + 1), sizeof(*rx->best));
	rx->value = xcalloc(width, sizeof(*rx->value));
}

static void fini(struct relaxation *rx)
{
	for (int i = 0; i < rx->n; i++)
		free(rx->demand[i]);
	free(rx->price);
	free(rx->steps);
	free(rx->best);
	free(rx->value);
}

static void init(struct relaxation *rx, const struct experiment *experiment)
{
	const struct scenario *scenario = rx->scenario;

	rx->periods = count_periods(scenario, scenario->seconds);
	rx->gap = count_periods(scenario, scenario->probation_s) + 1;
	rx->start = scenario->start;
	rx->n = scenario->max_vgpus > rx->start ? scenario->max_vgpus : rx->start;
	if (scenario->draw != SCENARIO_INDEPENDENT && rx->n > experiment->n_bag)
		rx->n = experiment->n_bag;
	if (experiment->n_bag == 0)
		rx->n = 0;
	add_own_times(rx);
}

/* Returns true if no tenant that takes an offer ever leaves. */
static bool all_stay(const struct scenario *scenario)
{
	bool stay = !scenario->migrate && scenario->remove_s == 0;

	for (int i = 0; i < scenario->n_tenants; i++)
		stay = stay && !(scenario->drawn[i] && scenario->tenants[i].stay_s > 0);
	return stay;
}

static void compute(struct relaxation *rx, struct experiment *experiment, uint64_t seed,
		    struct bound *ret_bound)
{
	double period = period_s(rx->scenario);
	struct bound bound = {0};

	init(rx, experiment);
	bound.places_pct_s = places(rx) * period;
	bound.sold_pct_s = bound.places_pct_s;
	if (rx->periods <= BOUND_PERIODS_MAX && all_stay(rx->scenario)) {
		load_demand(rx, experiment, seed);
		allocate(rx);
		bound.sold_pct_s = fmin(bound.sold_pct_s, minimize(rx) * period);
		bound.by_demand = true;
	}
	*ret_bound = bound;
}

int bound_compute(const struct scenario *scenario, uint64_t seed, double broken_pct,
		  struct bound *ret_bound, struct err *reterr)
{
	CLEANUP_FREE struct relaxation *rx = xcalloc(1, sizeof(*rx));
	struct experiment *experiment;
	int r;

	rx->scenario = scenario;
	rx->limit = broken_pct / 100;
	/* only for the order of the tenants */
	r = experiment_new(scenario, policy_at(0), seed, NULL, &experiment, reterr);
	if (r < 0)
		return r;
	compute(rx, experiment, seed, ret_bound);
	fini(rx);
	experiment_free(experiment);
	return 0;
}
