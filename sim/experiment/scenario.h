/* SPDX-License-Identifier: MIT */
/*
 * A scenario: the host, prices, offers and tenants of an experiment, from an INI file
 * (gover-scenario(5)). Any error in the file is reported as "FILE:LINE: problem (allowed: ...)".
 */
#ifndef SIM_EXPERIMENT_SCENARIO_H
#define SIM_EXPERIMENT_SCENARIO_H

#include <stdint.h>

#include "base/config/setting.h"
#include "policy/policy.h"
#include "sim/model/workload.h"

#define SCENARIO_NAME_MAX    32 /* size of a name in bytes, including NUL */
#define SCENARIO_FLAVORS_MAX 64
#define SCENARIO_TENANTS_MAX 256  /* maximum number of kinds of tenants */
#define SCENARIO_COUNT_MAX   256  /* maximum number of tenants of one kind */
#define SCENARIO_TEXT_MAX    180  /* maximum characters of a workload or of a list of names */
#define SCENARIO_MOVES_MAX   1024 /* maximum number of vGPUs in one experiment: all may move */
#define SCENARIO_BY_OFFER    (-1.0)

struct scenario_flavor {
	char name[SCENARIO_NAME_MAX];
	int line;
	int cap_pct;
	double target_fps;
	double price_per_cap_hour, penalty_per_broken_s;
};

/*
 * A kind of tenant. A value that is not set comes from the flavor. Not set means negative or, for
 * contract_pct, 0.
 */
struct scenario_tenant {
	char name[SCENARIO_NAME_MAX];
	int line;
	char workload_text[SCENARIO_TEXT_MAX + 1]; /* "": not set */
	struct workload workload;
	char flavor_name[SCENARIO_NAME_MAX];
	int flavor; /* index of the flavor; -1: the values of [offer] and [price] */
	int contract_pct, min_cap_pct;
	double target_fps, weight;
	bool burst;
	/* true: a tenant that does not fit at its arrival waits for capacity; false: it is
	 * refused */
	bool waits;
	double arrive_s; /* time of arrival; SCENARIO_BY_OFFER: the tenant takes an offer */
	/* true: the workload started with the run, so its demand depends only on the time of the
	 * run; false: the workload starts when the tenant arrives */
	bool shared_clock;
	int start_cap_pct; /* cap at the start; 0: the contract, or less if the GPU is oversold */
	double stay_s;	   /* time between arrival and departure; 0: no departure */
	int count;
};

enum scenario_draw { SCENARIO_INDEPENDENT, SCENARIO_SHUFFLE, SCENARIO_LISTED };

struct scenario {
	/* [scenario] */
	int seconds, period_ms, seed;
	bool migrate;
	int migrate_s;		   /* time from a decision until the vGPU leaves */
	double migrate_blackout_s; /* time in which a vGPU that moves gets nothing */
	int migrate_capacity;	   /* number of vGPUs that other hosts can take */
	/* time after which a newcomer leaves if its sale failed; 0: only migration removes it */
	int remove_s;
	/* [host] */
	char discipline[16]; /* "cap" or "weight"; not used with POLICY_SHARING_GUARANTEE */
	enum policy_sharing sharing;
	int step_pct, floor_pct;
	/* [policy]; params also contains [price] */
	char policy[16];
	struct policy_params params; /* fund_window_periods is not set; use scenario_params() */
	int fund_window_s;
	/* [offer] */
	int flavor_cap_pct, max_vgpus, probation_s;
	double flavor_target_fps, probation_broken_pct, customer_s;
	/* one element for each [flavor NAME] and [tenant NAME] */
	struct scenario_flavor flavors[SCENARIO_FLAVORS_MAX];
	struct scenario_tenant tenants[SCENARIO_TENANTS_MAX];
	int n_flavors, n_tenants;
	/* traces of the workloads, owned by the scenario */
	struct trace *traces[SCENARIO_TENANTS_MAX];
	int n_traces;
	/* [arrivals] */
	int start;
	enum scenario_draw draw;
	char from[SCENARIO_TEXT_MAX + 1]; /* value of the key "from" */
	bool drawn[SCENARIO_TENANTS_MAX]; /* true: tenants of this kind take offers */
};

/*
 * Reads the scenario file @path and its traces, whose names are relative to the folder of @path.
 * struct scenario is too large for the stack. A copy of the struct is valid until scenario_fini()
 * of the original. -EINVAL with a message "FILE:LINE: ...", or an error of reading a file.
 */
int scenario_load(const char *path, struct scenario *ret_scenario, struct err *reterr);

/*
 * Functions to create a scenario without a file. scenario_default() sets the defaults without
 * tenants. scenario_add_tenant() adds a kind of tenant, of which there are fewer than
 * SCENARIO_TENANTS_MAX, with the defaults and a valid name. The caller sets its workload, and its
 * workload_text to any text that is not empty. Then the caller calls scenario_check(). -EINVAL.
 */
void scenario_default(struct scenario *ret_scenario);
struct scenario_tenant *scenario_add_tenant(struct scenario *scenario, const char *name);
int scenario_check(struct scenario *scenario, struct err *reterr);

/* Frees the traces of @scenario, not @scenario. */
void scenario_fini(struct scenario *scenario);

/*
 * Sets one value. @key: a key of [policy], or SECTION.KEY for a key of another section, but not of
 * [flavor NAME] or [tenant NAME]. After the last value, the caller calls scenario_check(), because
 * [policy] and [offer] limit each other. -ENOENT, -EINVAL.
 */
int scenario_set(struct scenario *scenario, const char *key, const char *value, struct err *reterr);

/* Returns the parameters of the policy, including fund_window_periods. */
struct policy_params scenario_params(const struct scenario *scenario);

/* Returns the contract and the prices of a tenant. */
struct policy_terms scenario_terms(const struct scenario *scenario,
				   const struct scenario_tenant *tenant);
double scenario_price_per_cap_hour(const struct scenario *scenario,
				   const struct scenario_tenant *tenant);
double scenario_penalty_per_broken_s(const struct scenario *scenario,
				     const struct scenario_tenant *tenant);

/* Returns row number @index of the table of keys; NULL past the last row. */
const struct setting *scenario_key_at(size_t index);

#endif
