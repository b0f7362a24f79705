/* SPDX-License-Identifier: MIT */
/*
 * The experiments of FairGV (IEEE TPDS 2017) section 5 and VMCG (IEEE TPDS 2018) section 6 on the
 * simulated device, one function per figure. tests/bench/bench-compute-sim.c prints them, tests
 * assert them. Unless it says otherwise, a figure is of 20 s of virtual time after a second that
 * does not count. Seeds: 1..10 to choose constants, COMPUTE_SEED_REPORT and above to report.
 */
#ifndef TESTS_BENCH_COMPUTE_FIGURES_H
#define TESTS_BENCH_COMPUTE_FIGURES_H

#include "tests/bench/compute/device.h"

#define COMPUTE_SEED_REPORT 1001
#define COMPUTE_SEEDS	    10

/* The parameters of a run with tenants that always have work. The lists end with 0. */
struct compute_mix {
	const char *discipline;
	unsigned int weights[COMPUTE_TENANTS]; /* one per tenant */
	unsigned int caps[COMPUTE_TENANTS];
	unsigned int unit_us[COMPUTE_TENANTS]; /* the last one is repeated */
	unsigned int spread_pct;
};

struct compute_result {
	double mmr, lambda, busy_pct;
	double share_pct[COMPUTE_TENANTS];
};

struct compute_result compute_figure_mix(const struct compute_mix *mix, uint64_t seed);

/*
 * FairGV Fig. 10: utilisation in percent with a saturating tenant (BS) beside one (MM) that sleeps
 * for @sleep_pct of its time. @conserving false: an idle holder keeps its turn for its slice.
 */
double compute_figure_utilisation(unsigned int sleep_pct, bool conserving, uint64_t seed);

/* The three rows of Fig. 11. */
enum compute_scheduler { COMPUTE_CREDIT_BLIND, COMPUTE_CREDIT, COMPUTE_FAIR };

/*
 * FairGV Fig. 11: run time, as a multiple of the run time alone, of a tenant with units of
 * @unit_us beside a tenant with units of @other_us.
 */
double compute_figure_run_time(enum compute_scheduler scheduler, unsigned int unit_us,
			       unsigned int other_us, uint64_t seed);

/*
 * Mean and greatest response time, in ms, of a tenant with synchronous units of 0.4 ms and 0.1 ms
 * on the host between them, beside two saturating tenants.
 */
void compute_figure_response(const char *discipline, uint64_t seed, double *ret_mean_ms,
			     double *ret_max_ms);

/*
 * The time in ms for which a holder keeps its turn after it was stopped, with three tenants. The
 * seed gives the time at which it is stopped, after about a second.
 */
double compute_figure_stopped(const char *discipline, uint64_t seed);

#endif
