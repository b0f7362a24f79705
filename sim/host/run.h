/* SPDX-License-Identifier: MIT */
/* The commands of gover-sim: run, compare, replay and mount. */
#ifndef SIM_HOST_RUN_H
#define SIM_HOST_RUN_H

#include "base/err.h"
#include "sim/experiment/best-schedule.h"
#include "sim/host/tree.h"

/* --- gover-sim run: one experiment with one policy --- */

#define RUN_SETS_MAX 64

struct run_options {
	const char *scenario;		/* path */
	const char *policy;		/* name of a policy; NULL: the policy of the scenario */
	const char *sets[RUN_SETS_MAX]; /* KEY=VALUE */
	int n_sets;
	int seed;	 /* seed; -1: the seed of the scenario */
	const char *out; /* output folder; NULL: no files */
	bool json;
};

/* Runs the experiment and prints its summary to stdout. -errno with a message. */
int run_run(const struct run_options *options, struct err *reterr);

/* --- preparing an experiment --- */

/*
 * Loads the scenario at @path and applies @sets, each "KEY=VALUE". The caller frees *@ret_scenario
 * with run_free(). -errno with a message.
 */
int run_scenario(const char *path, const char *const *sets, int n_sets,
		 struct scenario **ret_scenario, struct err *reterr);

int run_sets(struct scenario *scenario, const char *const *sets, int n_sets, struct err *reterr);
void run_free(struct scenario *scenario); /* @scenario: may be NULL */

/*
 * The decisions that an experiment runs with: those of a policy, or those of the best schedule
 * found (best-schedule.h), which is computed with knowledge of the whole run.
 */
struct run_strategy {
	/* the policy, or the policy that sets the caps of the schedule found; NULL: its caps follow
	 * the future demand */
	const struct policy *policy;
	bool is_schedule;
	enum best_schedule_kind kind;
};

/* Writes the names of all policies, with @separator between them. */
void run_list_policies(const char *separator, char *text, size_t size);

/*
 * Finds the strategy @name: a policy, "best-found" or "best-found@POLICY". "oracle" is an alias of
 * best-found, "past-only" of best-found@qos, and "past-only@POLICY" of best-found@POLICY. -ENOENT
 * with a message that lists the valid names.
 */
int run_strategy(const char *name, struct run_strategy *ret_strategy, struct err *reterr);

/*
 * Creates an experiment. *@ret_schedule: the schedule that makes the decisions; NULL: @strategy is
 * a policy. The caller frees it after the experiment. -errno with a message.
 */
int run_experiment(const struct run_strategy *strategy, const struct scenario *scenario,
		   uint64_t seed,
		   void (*on_event)(void *userdata, const struct experiment_event *event),
		   void *userdata, struct experiment **ret_experiment,
		   struct best_schedule **ret_schedule, struct err *reterr);

/* --- gover-sim compare: each scenario under each policy with each seed --- */

#define COMPARE_SEEDS_MAX 1000

struct compare_options {
	char *const *scenarios; /* paths */
	int n_scenarios;
	/* policies, each as "NAME[:KEY=VALUE]...", separated by commas; NULL: all policies */
	const char *policies;
	int seeds;
	bool plot; /* draw a diagram; an output folder is required */
	/* sets, first seed and output; its scenario and policy are not used */
	const struct run_options *run;
};

/*
 * Runs all experiments on all CPUs, prints the comparison to stdout and writes its files. -errno
 * with a message.
 */
int compare_run(const struct compare_options *options, struct err *reterr);

/* --- gover-sim replay: the load that a daemon has recorded, under other policies --- */

/*
 * Replays the recording and prints the comparison as tables or JSON. -errno with a message;
 * -EINVAL: an argument is invalid.
 *
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
int replay_run(bool json, struct err *reterr);

/* --- gover-sim mount: the simulated sysfs tree as a file system in user space --- */

struct mount_options {
	const char *dir;
	enum tree_host host;
	int gpus, vgpus;
	double speed; /* simulated seconds per real second */
	bool allow_other;
};

/*
 * Mounts the tree and serves it until SIGTERM, SIGINT, SIGHUP or an umount. Then unmounts the tree.
 * -errno with a message.
 */
int mount_run(const struct mount_options *options, struct err *reterr);

#endif
