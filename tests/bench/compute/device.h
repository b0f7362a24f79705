/* SPDX-License-Identifier: MIT */
/*
 * A compute device and its tenants in virtual time: one non-preemptive queue that the units of all
 * tenants enter in the order of submission, as FairGV (IEEE TPDS 2017) section 3.3 describes GPUs.
 * compute/arbiter decides which tenant may submit. The results are exact and
 * depend on the seed only. No clock, I/O or allocation. All times are in ns.
 */
#ifndef TESTS_BENCH_COMPUTE_DEVICE_H
#define TESTS_BENCH_COMPUTE_DEVICE_H

#include "compute/arbiter/arbiter.h"

#define COMPUTE_TENANTS	     16
#define COMPUTE_QUEUE	     4096  /* units that are submitted and not finished */
#define COMPUTE_DEPTH_MAX    256   /* of one tenant */
#define COMPUTE_HAND_OVER_NS 24000 /* grant to running on another core, p50, on a busy machine */

enum compute_pattern {
	COMPUTE_SATURATING,  /* always has another unit */
	COMPUTE_BURSTY,	     /* a burst of units, waits for the last one, then pauses */
	COMPUTE_INTERACTIVE, /* one unit, waits for it, then works on the host: synchronous calls */
};

/* What a tenant does. */
struct compute_workload {
	enum compute_pattern pattern;
	uint64_t unit_ns;	 /* mean device time of a unit */
	unsigned int spread_pct; /* a unit takes unit_ns +- this, evenly distributed; 0..100 */
	unsigned int burst;	 /* bursty: units of a burst */
	uint64_t pause_ns;    /* bursty: mean pause, 0..2x; interactive: host time between units */
	uint64_t stops_at_ns; /* it is stopped at this time, and never continues; 0: never */
};

struct compute_options {
	const char *discipline; /* of arbiter_disciplines[] */
	struct arbiter_options arbiter;
	uint64_t seed;
	uint64_t hand_over_ns; /* from a new grant to the first submission */
	/*
	 * No accounting of units, as the Credit-poll of FairGV section 5.3: a tenant submits as
	 * fast as @depth units allow, the arbiter does not know of work in flight, a turn ends by
	 * the clock, and this time is charged.
	 */
	bool blind;
	unsigned int depth; /* units that a tenant has in flight at most; 0: no limit of its own */
};

struct compute_tenant {
	struct arbiter_tenant tenant; /* first */
	struct compute_workload work;
	uint64_t random;
	unsigned int waiting;	 /* bursty, interactive: units to submit */
	unsigned int unfinished; /* bursty, interactive: units of the burst not finished */
	unsigned int in_flight;	 /* units */
	uint64_t predicted_ns;	 /* of the units in flight */
	uint64_t arrives_at_ns;	 /* time of the next burst or unit; ARBITER_NEVER: none planned */
	uint64_t arrived_at_ns;	 /* time of the present one */
	uint64_t busy_ns;	 /* device time that it really used */
	uint64_t units;
	uint64_t responses;	  /* bursts or units finished */
	uint64_t response_sum_ns; /* from arrival to the end */
	uint64_t response_max_ns;
};

/* One simulation. Callers only read this struct. */
struct compute_sim {
	struct compute_options options;
	struct arbiter arbiter;
	struct compute_tenant tenants[COMPUTE_TENANTS];
	int n_tenants;
	uint64_t now_ns;
	uint64_t began_ns;	/* of the figures: 0, or the last compute_forget() */
	uint64_t grant_id;	/* id of the last turn seen */
	uint64_t may_submit_ns; /* the holder has noticed its grant */
	uint64_t charged_to_ns; /* blind: end of the charged part of the turn */
	struct compute_unit {
		struct compute_tenant *tenant;
		uint64_t length_ns;
	} queue[COMPUTE_QUEUE];
	unsigned int head, count;
	uint64_t head_ends_ns; /* count > 0 */
	uint64_t busy_ns;
	uint64_t starved_ns; /* the device was idle while a tenant had a unit to submit */
};

/* Starts a simulation without tenants at time 0. The discipline must exist. */
void compute_start(struct compute_sim *sim, const struct compute_options *options);

/* Adds a tenant; there must be less than COMPUTE_TENANTS. */
struct compute_tenant *compute_add(struct compute_sim *sim, const struct arbiter_share *share,
				   const struct compute_workload *work);

/* Runs to @to_ns. */
void compute_run(struct compute_sim *sim, uint64_t to_ns);

/* Sets all figures to 0, for example after the first seconds. */
void compute_forget(struct compute_sim *sim);

/*
 * Returns the Min-Max Ratio (FairGV 5.4.1): the least device time divided by weight over the
 * greatest, 0 (unfair) to 1. Meaningful for tenants that always have work.
 */
double compute_mmr(const struct compute_sim *sim);

/* Returns lambda (VMCG 6.3): the sum of |weight - measured weight|; 0 is fair. */
double compute_lambda(const struct compute_sim *sim);

/* Returns the share of the device's time since compute_forget(), in percent. */
double compute_share_pct(const struct compute_sim *sim, const struct compute_tenant *tenant);

/* Returns the utilisation of the device, in percent. */
double compute_busy_pct(const struct compute_sim *sim);

#endif
