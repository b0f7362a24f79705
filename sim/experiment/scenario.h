/* SPDX-License-Identifier: MIT */
/*
 * What an experiment plays: a host, what it sells and for how much, and who comes when, from an INI
 * file (gover-scenario(5)). Strict: what is not understood is refused with "FILE:LINE: what is
 * wrong and what is allowed". Must never give a tenant what the file does not say.
 */
#ifndef SIM_EXPERIMENT_SCENARIO_H
#define SIM_EXPERIMENT_SCENARIO_H

#include <stdint.h>

#include "base/setting.h"
#include "policy/policy.h"
#include "sim/model/workload.h"

#define SCENARIO_NAME_MAX    32 /* with its NUL */
#define SCENARIO_FLAVORS_MAX 64
#define SCENARIO_TENANTS_MAX 256 /* kinds of them */
#define SCENARIO_COUNT_MAX   256 /* of one kind */
#define SCENARIO_TEXT_MAX    180 /* of a workload, of names */
#define SCENARIO_BY_OFFER    (-1.0)

struct scenario_flavor {
	char name[SCENARIO_NAME_MAX];
	int line;
	int cap_pct;
	double target_fps;
	double price_per_cap_hour, penalty_per_broken_s;
};

/* A kind of tenant. What is not said (below 0, or 0 for contract_pct) comes from its flavor. */
struct scenario_tenant {
	char name[SCENARIO_NAME_MAX];
	int line;
	char workload_text[SCENARIO_TEXT_MAX + 1]; /* "": not given */
	struct workload workload;
	char flavor_name[SCENARIO_NAME_MAX];
	int flavor; /* index; -1: what [offer] sells, at the prices of [price] */
	int contract_pct, min_cap_pct;
	double target_fps, weight;
	bool burst;
	bool waits; /* for room, and goes when it would have gone; else it is refused for good */
	double arrive_s;   /* SCENARIO_BY_OFFER: when an offer is made */
	int start_cap_pct; /* where it is there from the start; 0: its part of 100 */
	double stay_s;	   /* 0: to the end */
	int count;
};

enum scenario_draw { SCENARIO_INDEPENDENT, SCENARIO_SHUFFLE, SCENARIO_LISTED };

struct scenario {
	/* [scenario] */
	int seconds, period_ms, seed;
	bool migrate;
	int migrate_s;
	int remove_s; /* somebody ends a sale that failed; 0: nobody, but as migrate says */
	/* [host] */
	char discipline[16]; /* of sched/ */
	int step_pct, floor_pct;
	/* [policy], and [price] in its params */
	char policy[16];
	struct policy_params params; /* without fund_window_periods: use scenario_params() */
	int fund_window_s;
	/* [offer] */
	int flavor_cap_pct, max_vgpus, probation_s;
	double flavor_target_fps, probation_broken_pct, customer_s;
	/* [flavor NAME], [tenant NAME] */
	struct scenario_flavor flavors[SCENARIO_FLAVORS_MAX];
	struct scenario_tenant tenants[SCENARIO_TENANTS_MAX];
	int n_flavors, n_tenants;
	struct trace *traces[SCENARIO_TENANTS_MAX]; /* that workloads play */
	int n_traces;
	/* [arrivals] */
	int start;
	enum scenario_draw draw;
	char from[SCENARIO_TEXT_MAX + 1]; /* as given */
	bool drawn[SCENARIO_TENANTS_MAX]; /* which kinds come when an offer is made */
};

/*
 * Reads @path and the traces it names, relative to its folder. Large: the caller's scenario is on
 * the heap. -EINVAL with "FILE:LINE: ...", -ENOMEM, or why it cannot be read. A plain copy may be
 * made and changed, and is good as long as the first is not done with.
 */
int scenario_load(const char *path, struct scenario *ret_scenario, struct err *reterr);

/*
 * A scenario made by hand instead: the defaults, without tenants; then who adds kinds to tenants[]
 * fills in all of each (workload_text too, if only with a name), and has it looked at. -EINVAL.
 */
void scenario_default(struct scenario *ret_scenario);
int scenario_check(struct scenario *scenario, struct err *reterr);

/* Lets go of its traces. */
void scenario_fini(struct scenario *scenario);

/* One value from text, @key as [policy] has it or SECTION.KEY of a section without a name.
 * -ENOENT, -EINVAL. */
int scenario_set(struct scenario *scenario, const char *key, const char *value, struct err *reterr);

/* The parameters of the policy, in periods. */
struct policy_params scenario_params(const struct scenario *scenario);

/* What a tenant is sold, and at what price. */
struct policy_terms scenario_terms(const struct scenario *scenario,
				   const struct scenario_tenant *tenant);
double scenario_price_per_cap_hour(const struct scenario *scenario,
				   const struct scenario_tenant *tenant);
double scenario_penalty_per_broken_s(const struct scenario *scenario,
				     const struct scenario_tenant *tenant);

/* The table of keys; NULL past its end. */
const struct setting *scenario_key_at(size_t index);

#endif
