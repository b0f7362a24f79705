/* SPDX-License-Identifier: MIT */
/*
 * gover-sim replay: replays the load that a daemon has recorded, under other policies.
 * `gover-ctl simulate` writes the recording to standard input, as a sequence of JSON values. The
 * first one has the arguments and replies of the daemon:
 *   from, to	 the range
 *   policy	 policy of the trial; null: the policy in force
 *   set	 arguments of --set
 *   values	 the parameters in @set, with the types of those in force
 *   seed
 *   newcomers	 a workload, or "none" or "recorded"
 *   gpus	 the GPUs, as in GET /v1/gpus
 *   in_force, vgpus, economics    replies to GET /v1/policy, /v1/vgpus and /v1/economics
 * For each GPU follow the replies to GET /v1/gpus/NAME/history, up to one without next_from.
 */
#ifndef SIM_HOST_REPLAY_H
#define SIM_HOST_REPLAY_H

#include <jansson.h>

#include "base/clock.h"
#include "sim/experiment/recording.h"

#define REPLAY_GPUS_MAX 64

/* The compared runs. Each run is a column of the table. */
enum replay_run {
	REPLAY_RECORDED, /* the recording itself, without a simulation */
	REPLAY_MODEL,	 /* policy in force with the recorded vGPUs only */
	REPLAY_IN_FORCE, /* policy in force; newcomers (new vGPUs) claim the offers */
	/* policy and parameters of --policy and --set; newcomers, if any, claim the offers */
	REPLAY_TRIAL,
	REPLAY_RUNS
};

struct replay_gpu {
	char name[ID_MAX];
	int step_pct, floor_pct;
	bool weights; /* true: caps are relative weights, not limits */
	enum policy_sharing sharing;
	bool migrates;
	struct recording *recording;
	struct recording_facts facts;
	bool played; /* false: the recording is not usable; @why is the reason */
	struct err why;
	struct experiment_summary summaries[REPLAY_RUNS];
};

struct replay {
	json_t *head; /* the first JSON value; owns the strings below */
	const json_t *in_force;
	uint64_t seed;
	bool newcomers;
	const char *newcomer_text;    /* NULL: newcomers have recorded loads */
	struct workload newcomer;     /* the parsed @newcomer_text */
	struct trace *newcomer_trace; /* trace of @newcomer; NULL: the workload has no trace */
	/* time of the first available period; "": the whole range is available */
	char kept_from[CLOCK_TEXT_MAX];
	struct replay_gpu gpus[REPLAY_GPUS_MAX];
	int n_gpus;
	/*
	 * true: the run is made. REPLAY_IN_FORCE is made only if there are newcomers, and
	 * REPLAY_TRIAL only with --policy or --set: otherwise the result would be that of another
	 * run.
	 */
	bool has[REPLAY_RUNS];
	const char *policies[REPLAY_RUNS];
};

/*
 * Replays the recording and prints the comparison as tables or JSON. -errno with a message;
 * -EINVAL: an argument is invalid.
 */
int replay_run(bool json, struct err *reterr);

#endif
