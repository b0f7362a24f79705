/* SPDX-License-Identifier: MIT */
/*
 * The data of `simulate`: options, answers of the daemon, and summaries of the experiments.
 */
#ifndef GOVER_CTL_SIMULATE_SIMULATE_H
#define GOVER_CTL_SIMULATE_SIMULATE_H

#include "gover-ctl/ctl.h"
#include "gover-ctl/verb/time-arg.h"
#include "sim/experiment/recording.h"

#define SIMULATE_GPUS_MAX 64

/* The columns of the comparison. */
enum simulate_run {
	SIMULATE_RECORDED, /* as recorded */
	SIMULATE_MODEL,	   /* policy in force, recorded vGPUs only: shows the error of the model */
	SIMULATE_IN_FORCE, /* the policy in force, with new tenants for the GPU's offers */
	SIMULATE_TRIAL,	   /* the policy and parameters to try */
	SIMULATE_RUNS
};

struct simulate_gpu {
	char name[ID_MAX];
	int step_pct, floor_pct;
	bool weights; /* the vGPUs share the GPU by relative slices */
	bool migrates;
	struct recording *recording;
	struct recording_facts facts;
	bool played; /* false: there is no usable recording, for the reason @why */
	struct err why;
	struct experiment_summary summaries[SIMULATE_RUNS];
};

struct simulate {
	/* options */
	struct time_range range;
	const char *policy; /* NULL: the policy in force */
	const char *const *sets;
	size_t n_sets;
	uint64_t seed;
	bool newcomers;
	const char *newcomer_text;    /* NULL: new tenants are drawn from the recording */
	struct workload newcomer;     /* the parsed @newcomer_text */
	struct trace *newcomer_trace; /* trace of @newcomer; NULL: none */
	bool from_given;
	/* data fetched from the daemon */
	json_t *in_force;		/* reply to GET /v1/policy */
	char kept_from[CLOCK_TEXT_MAX]; /* start of the data; "": the range is complete */
	struct simulate_gpu gpus[SIMULATE_GPUS_MAX];
	int n_gpus;
	/* false: the run is not needed. Without newcomers IN_FORCE equals MODEL. Without a change
	 * of the policy TRIAL equals IN_FORCE. */
	bool has[SIMULATE_RUNS];
	const char *policies[SIMULATE_RUNS];
};

/* Fetches everything from the daemon. Errors are printed. */
enum ctl_exit simulate_fetch(struct ctl *ctl, const char *gpu, struct simulate *simulate);

/* Prints the comparison as tables or JSON. */
enum ctl_exit simulate_print(struct ctl *ctl, const struct simulate *simulate);

#endif
