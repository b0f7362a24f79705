/* SPDX-License-Identifier: MIT */
/* The shortest round of quanta for a vector of caps. */
#include "gpu/xe/quanta.h"

/* A relative error of the arithmetic must not decide between two rounds. */
#define EPSILON_PT 1e-6

static int sum_caps(const struct xe_slice *slices, int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += slices[i].cap_pct;
	return sum;
}

/* The share that a cap promises: less than the cap if all caps exceed the GPU. */
static double promised_pct(int cap_pct, int sum_pct)
{
	return sum_pct > 100 ? 100.0 * cap_pct / sum_pct : cap_pct;
}

static uint32_t quantum_of(const struct xe_quanta_limits *limits, int cap_pct, int sum_pct,
			   uint32_t round_ms)
{
	uint32_t whole = sum_pct > 100 ? (uint32_t)sum_pct : 100;
	uint32_t quantum_ms = (2 * (uint32_t)cap_pct * round_ms + whole) / (2 * whole);

	return quantum_ms < (uint32_t)limits->least_ms ? (uint32_t)limits->least_ms : quantum_ms;
}

/* The physical function takes the rest of the round, and not less than its own quantum. */
static uint32_t rest_of(const struct xe_slice *slices, int n, uint32_t round_ms, uint32_t own_ms)
{
	uint32_t used_ms = 0;

	for (int i = 0; i < n; i++)
		if (slices[i].cap_pct > 0)
			used_ms += slices[i].quantum_ms;
	return used_ms + own_ms < round_ms ? round_ms - used_ms : own_ms;
}

void xe_quanta_measure(uint32_t pf_ms, const struct xe_slice *slices, int n,
		       struct xe_round *ret_round)
{
	int sum_pct = sum_caps(slices, n);
	struct xe_round round = {.pf_ms = pf_ms, .total_ms = pf_ms};
	uint32_t least_ms = pf_ms;

	for (int i = 0; i < n; i++) {
		if (slices[i].cap_pct == 0)
			continue;
		round.total_ms += slices[i].quantum_ms;
		if (slices[i].quantum_ms < least_ms)
			least_ms = slices[i].quantum_ms;
	}
	for (int i = 0; i < n; i++) {
		double share_pct, error_pt;

		if (slices[i].cap_pct == 0 || round.total_ms == 0)
			continue;
		share_pct = 100.0 * slices[i].quantum_ms / round.total_ms;
		error_pt = share_pct - promised_pct(slices[i].cap_pct, sum_pct);
		if (error_pt < 0)
			error_pt = -error_pt;
		if (error_pt > round.worst_pt)
			round.worst_pt = error_pt;
	}
	round.wait_ms = round.total_ms - least_ms;
	*ret_round = round;
}

/* Fills in the quanta of a round of about @round_ms. Its length grows by the own quantum. */
static void fill(const struct xe_quanta_limits *limits, uint32_t own_ms, uint32_t round_ms,
		 struct xe_slice *slices, int n, struct xe_round *ret_round)
{
	int sum_pct = sum_caps(slices, n);

	for (int i = 0; i < n; i++)
		if (slices[i].cap_pct > 0)
			slices[i].quantum_ms =
				quantum_of(limits, slices[i].cap_pct, sum_pct, round_ms);
	xe_quanta_measure(rest_of(slices, n, round_ms, own_ms), slices, n, ret_round);
}

/* Returns the length to fill in for the best round. */
static uint32_t find_length(const struct xe_quanta_limits *limits, uint32_t own_ms,
			    struct xe_slice *slices, int n)
{
	uint32_t best_ms = (uint32_t)limits->longest_ms;
	double best_pt = 0;
	bool found = false;

	for (uint32_t ms = 1; ms <= (uint32_t)limits->longest_ms; ms++) {
		struct xe_round round;

		fill(limits, own_ms, ms, slices, n, &round);
		if (round.total_ms > (uint32_t)limits->longest_ms && found)
			break;
		if (found && round.worst_pt >= best_pt - EPSILON_PT)
			continue;
		found = true;
		best_ms = ms;
		best_pt = round.worst_pt;
		if (best_pt <= limits->tolerance_pt + EPSILON_PT)
			break;
	}
	return best_ms;
}

/*
 * Keeps the length of the present round and each quantum that is still good enough. Returns false
 * if this is not within the tolerance.
 */
static bool keep(const struct xe_quanta_limits *limits, uint32_t own_ms, uint32_t present_ms,
		 struct xe_slice *slices, int n, struct xe_round *ret_round)
{
	double allowed_pt = limits->tolerance_pt + EPSILON_PT;
	int sum_pct = sum_caps(slices, n);

	for (int i = 0; i < n; i++) {
		double error_pt;

		if (slices[i].cap_pct == 0)
			continue;
		error_pt = 100.0 * slices[i].quantum_ms / present_ms -
			   promised_pct(slices[i].cap_pct, sum_pct);
		if (slices[i].changed || slices[i].quantum_ms < (uint32_t)limits->least_ms ||
		    error_pt > allowed_pt || error_pt < -allowed_pt)
			slices[i].quantum_ms =
				quantum_of(limits, slices[i].cap_pct, sum_pct, present_ms);
	}
	xe_quanta_measure(rest_of(slices, n, present_ms, own_ms), slices, n, ret_round);
	return ret_round->total_ms <= (uint32_t)limits->longest_ms &&
	       ret_round->worst_pt <= allowed_pt;
}

void xe_quanta_plan(const struct xe_quanta_limits *limits, uint32_t own_ms, uint32_t pf_ms,
		    struct xe_slice *slices, int n, struct xe_round *ret_round)
{
	struct xe_slice fresh[XE_VFS_MAX];
	struct xe_round present, best;

	for (int i = 0; i < n; i++)
		fresh[i] = slices[i];
	fill(limits, own_ms, find_length(limits, own_ms, fresh, n), fresh, n, &best);
	xe_quanta_measure(pf_ms, slices, n, &present);
	if (pf_ms > 0 && present.total_ms > 0 && present.total_ms < 2 * best.total_ms &&
	    keep(limits, own_ms, present.total_ms, slices, n, ret_round))
		return;
	for (int i = 0; i < n; i++)
		slices[i] = fresh[i];
	*ret_round = best;
}

int xe_quanta_cap_pct(uint32_t quantum_ms, uint32_t total_ms)
{
	uint64_t pct;

	if (quantum_ms == 0)
		return 0;
	if (total_ms < quantum_ms)
		total_ms = quantum_ms;
	pct = (200 * (uint64_t)quantum_ms + total_ms) / (2 * (uint64_t)total_ms);
	return pct < 1 ? 1 : (int)pct;
}
