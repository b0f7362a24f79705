/* SPDX-License-Identifier: MIT */
/*
 * The data of `simulate`: options, replies of the daemon, and summaries of the experiments.
 */
#ifndef GOVER_CTL_SIMULATE_SIMULATE_H
#define GOVER_CTL_SIMULATE_SIMULATE_H

#include "gover-ctl/ctl.h"
#include "gover-ctl/verb/time-arg.h"
#include "sim/experiment/recording.h"

#define SIMULATE_GPUS_MAX 64

/* The compared runs. Each run is a column of the table. */
enum simulate_run {
	SIMULATE_RECORDED, /* the recording itself, without a simulation */
	SIMULATE_MODEL,	   /* policy in force with the recorded vGPUs only */
	SIMULATE_IN_FORCE, /* policy in force; newcomers (new vGPUs) claim the offers */
	/* policy and parameters of --policy and --set; newcomers, if any, claim the offers */
	SIMULATE_TRIAL,
	SIMULATE_RUNS
};

struct simulate_gpu {
	char name[ID_MAX];
	int step_pct, floor_pct;
	bool weights; /* true: caps are relative weights, not limits */
	enum policy_sharing sharing;
	bool migrates;
	struct recording *recording;
	struct recording_facts facts;
	bool played; /* false: the recording is not usable; @why is the reason */
	struct err why;
	struct experiment_summary summaries[SIMULATE_RUNS];
};

struct simulate {
	/* options */
	struct time_range range;
	const char *policy; /* argument of --policy; NULL: the policy in force */
	const char *const *sets;
	size_t n_sets;
	uint64_t seed;
	bool newcomers;
	const char *newcomer_text; /* argument of --newcomer; NULL: newcomers have recorded loads */
	struct workload newcomer;  /* the parsed @newcomer_text */
	struct trace *newcomer_trace; /* trace of @newcomer; NULL: the workload has no trace */
	bool from_given;
	/* data fetched from the daemon */
	json_t *in_force; /* reply to GET /v1/policy */
	/* time of the first available period; "": the whole range is available */
	char kept_from[CLOCK_TEXT_MAX];
	struct simulate_gpu gpus[SIMULATE_GPUS_MAX];
	int n_gpus;
	/*
	 * true: the run is made. SIMULATE_IN_FORCE is made only if there are newcomers, and
	 * SIMULATE_TRIAL only with --policy or --set: otherwise the result would be that of another
	 * run.
	 */
	bool has[SIMULATE_RUNS];
	const char *policies[SIMULATE_RUNS];
};

/* Fetches GPUs, contracts, prices, the policy and the history from the daemon. Prints errors. */
enum ctl_exit simulate_fetch(struct ctl *ctl, const char *gpu, struct simulate *simulate);

/* Prints the comparison as tables or JSON. */
enum ctl_exit simulate_print(struct ctl *ctl, const struct simulate *simulate);

#endif
