/* SPDX-License-Identifier: MIT */
/*
 * What the files of `simulate` share: what was asked, what the daemon told, and what the trials
 * came to.
 */
#ifndef GOVER_CTL_SIMULATE_SIMULATE_H
#define GOVER_CTL_SIMULATE_SIMULATE_H

#include "gover-ctl/ctl.h"
#include "gover-ctl/verb/time-arg.h"
#include "sim/experiment/recording.h"

#define SIMULATE_GPUS_MAX 64

/* What is set side by side. */
enum simulate_run {
	SIMULATE_RECORDED, /* what really happened */
	SIMULATE_MODEL, /* the policy in force, and nobody comes but who did: the model's error */
	SIMULATE_IN_FORCE, /* the same, and newcomers take what it offers */
	SIMULATE_TRIAL,	   /* what was asked for */
	SIMULATE_RUNS
};

struct simulate_gpu {
	char name[ID_MAX];
	int step_pct, floor_pct;
	bool weights; /* caps are relative slices */
	bool migrates;
	struct recording *recording;
	struct recording_facts facts;
	bool played; /* false: nothing was recorded of it, @why says what */
	struct err why;
	struct experiment_summary summaries[SIMULATE_RUNS];
};

struct simulate {
	/* asked */
	struct time_range range;
	const char *policy; /* NULL: that in force */
	const char *const *sets;
	size_t n_sets;
	uint64_t seed;
	bool newcomers;
	const char *newcomer_text;    /* NULL: drawn from what was recorded */
	struct workload newcomer;     /* it, read */
	struct trace *newcomer_trace; /* that it plays; NULL: none */
	bool from_given;
	/* told */
	json_t *in_force;		/* GET /v1/policy */
	char kept_from[CLOCK_TEXT_MAX]; /* "": all is */
	struct simulate_gpu gpus[SIMULATE_GPUS_MAX];
	int n_gpus;
	/* which are there: without newcomers IN_FORCE is MODEL, without a change TRIAL is IN_FORCE
	 */
	bool has[SIMULATE_RUNS];
	const char *policies[SIMULATE_RUNS];
};

/* Asks the daemon for all there is to know. Says what went wrong. */
enum ctl_exit simulate_fetch(struct ctl *ctl, const char *gpu, struct simulate *simulate);

/* Prints it: one answer, or tables. */
enum ctl_exit simulate_tell(struct ctl *ctl, const struct simulate *simulate);

#endif
