/* SPDX-License-Identifier: MIT */
/*
 * An upper bound of the capacity that any policy can sell in a scenario, with any caps and any
 * discipline, while at most a given share of the vGPU-seconds is broken. The bound relaxes the
 * scenario, so it may be out of reach. sim/experiment/best-schedule.h searches for a schedule below
 * it.
 *
 * Bound by places. Each sale needs a probation, and the next offer opens one period after the
 * probation. A newcomer that fails keeps its offer live until it leaves. So in period p at most
 * start + 1 + (p - 2) / m vGPUs that take offers are present, where m is the length of a probation
 * in periods plus 1, and at most max_vgpus. Each of them is sold with the largest contract. A
 * tenant with an arrival time is sold for its whole stay.
 *
 * Bound by demand, if no vGPU ever leaves. Tenant i arrives in period a_i and then demands
 * d_i(p - a_i) (with shared_clock: d_i(p)), at most its contract c_i, in each period p after a_i.
 * This demand does not depend on the policy. The tenants arrive in a fixed order, at least m
 * periods apart. In each period, the served work is at most the GPU, and a vGPU without frames is
 * not broken only if 98 % of its demand is served. Therefore, with x_i(p) = 1 if vGPU i is not
 * broken in period p, else 0:
 *
 *   (1) for each p: sum over i of x_i(p) d_i(p - a_i) <= 1 / 0.98
 *   (2) sum over i and p of (1 - x_i(p)) <= limit * number of vGPU-periods
 *
 * For any prices l(p) >= 0 of (1) and u >= 0 of (2), a run that keeps (1) and (2) sells at most
 *
 *   sum over p of l(p) / 0.98
 *   + sum over i and p > a_i of [c_i + limit * u - l(p) x_i(p) d_i(p - a_i) - u (1 - x_i(p))],
 *
 * because each added term is a price times a difference that is not negative. The largest value of
 * the bracket is c_i + limit * u - min(l(p) d_i(p - a_i), u). Dynamic programming finds the times
 * a_i, in the given order and distance, with the largest sum. This sum is an upper bound for all
 * runs, whatever the prices are. A subgradient method looks for prices that make it small. The
 * demand of a tenant with frames, or with an arrival time, is taken as 0, which only raises the
 * bound.
 */
#ifndef TESTS_BENCH_EVAL_BOUND_H
#define TESTS_BENCH_EVAL_BOUND_H

#include "sim/experiment/scenario.h"

#define BOUND_PERIODS_MAX 4000 /* longer scenarios have no bound by demand */

struct bound {
	double sold_pct_s;   /* the smaller one of the two bounds, percent x seconds */
	double places_pct_s; /* the bound by places */
	bool by_demand;	     /* true: the bound by demand was computed */
};

/* @broken_pct: allowed broken time, percent of the vGPU-seconds. -EINVAL. */
int bound_compute(const struct scenario *scenario, uint64_t seed, double broken_pct,
		  struct bound *ret_bound, struct err *reterr);

#endif
