/* SPDX-License-Identifier: MIT */
/*
 * `simulate`: fetches GPUs, contracts, prices, the policy and the recorded history from the daemon,
 * and writes them to `gover-sim replay`, which plays and prints them (sim/host/run.h).
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/terminal/field.h"
#include "gover-ctl/shared/program.h"
#include "gover-ctl/shared/time-arg.h"
#include "gover-ctl/verb/policy.h"
#include "gover-ctl/verb/simulate.h"

#define DAY_S	     (24 * 3600)
#define SEED_DEFAULT 1

/* Adds the reply to a GET of @path to @head. */
static enum ctl_exit fetch(struct ctl *ctl, json_t *head, const char *key, const char *path)
{
	CLEANUP_REPLY struct reply reply = {0};
	enum ctl_exit r = ctl_request(ctl, "GET", NULL, &reply, "%s", path);

	if (r == CTL_DONE)
		(void)json_object_set(head, key, reply.json);
	return r;
}

/* Adds the list of all GPUs, or of the GPU @only. */
static enum ctl_exit fetch_gpus(struct ctl *ctl, json_t *head, const char *only)
{
	CLEANUP_REPLY struct reply reply = {0};
	enum ctl_exit r = ctl_request(ctl, "GET", NULL, &reply, "/v1/gpus");
	json_t *gpus = json_array(), *gpu;
	size_t i;

	json_array_foreach (json_object_get(reply.json, "gpus"), i, gpu)
		if (!only || strcmp(only, field_text(gpu, "name")) == 0)
			(void)json_array_append(gpus, gpu);
	(void)json_object_set_new(head, "gpus", gpus);
	if (r == CTL_DONE && json_array_size(gpus) == 0)
		return only ? ctl_fail(CTL_FAILED, "GPU %s: not found", only)
			    : ctl_fail(CTL_FAILED, "the daemon controls no GPU");
	return r;
}

/* Adds the arguments of --set, and their values with the types of the parameters in force. */
static enum ctl_exit add_sets(const struct args *args, json_t *head)
{
	const json_t *in_force = json_object_get(head, "in_force");
	const json_t *file = json_object_get(in_force, "file");
	json_t *sets = json_array(), *values = json_object(), *value;
	const char *key;
	struct err err;
	int r = 0;

	for (size_t i = 0; i < args->n_labels; i++) {
		(void)json_array_append_new(sets, json_string(args->labels[i]));
		if (r == 0)
			r = policy_set_add_pair(values, args->labels[i], in_force, &err);
	}
	if (r == 0 && json_object_get(values, "name"))
		r = err_fail(&err, EINVAL, "name: not allowed (use --policy)");
	json_object_foreach (values, key, value)
		if (json_is_null(value))
			(void)json_object_set(values, key, json_object_get(file, key));
	(void)json_object_set_new(head, "set", sets);
	(void)json_object_set_new(head, "values", values);
	return r < 0 ? ctl_fail(CTL_USAGE, "--set %s", err.msg) : CTL_DONE;
}

static enum ctl_exit make_head(struct ctl *ctl, const struct args *args,
			       const struct time_range *range, json_t *head)
{
	char economics[CLIENT_PATH_MAX];
	enum ctl_exit r = fetch_gpus(ctl, head, args->values[OPTION_ON_GPU]);

	snprintf(economics, sizeof(economics), "/v1/economics?from=%s&to=%s", range->from,
		 range->to);
	if (r == CTL_DONE)
		r = fetch(ctl, head, "in_force", "/v1/policy");
	if (r == CTL_DONE)
		r = fetch(ctl, head, "vgpus", "/v1/vgpus");
	if (r == CTL_DONE)
		r = fetch(ctl, head, "economics", economics);
	return r == CTL_DONE ? add_sets(args, head) : r;
}

/* Copies the history of one GPU, a reply a line, until a reply has no next_from. */
static enum ctl_exit copy_history(struct ctl *ctl, const char *gpu, const struct time_range *range,
				  FILE *out, char kept_from[CLOCK_TEXT_MAX])
{
	char from[CLOCK_TEXT_MAX];
	enum ctl_exit r = CTL_DONE;

	snprintf(from, sizeof(from), "%s", range->from);
	while (r == CTL_DONE && from[0] != '\0' && !ferror(out)) {
		CLEANUP_REPLY struct reply reply = {0};
		const char *next;

		r = ctl_request(ctl, "GET", NULL, &reply, "/v1/gpus/%s/history?from=%s&to=%s", gpu,
				from, range->to);
		if (r != CTL_DONE)
			return r;
		next = field_text(reply.json, "next_from");
		if (strcmp(next, from) == 0)
			return ctl_fail(CTL_FAILED,
					"invalid reply from the daemon about the history");
		fwrite(reply.text, 1, reply.length, out);
		fputc('\n', out);
		snprintf(from, sizeof(from), "%s", next);
		snprintf(kept_from, CLOCK_TEXT_MAX, "%s", field_text(reply.json, "kept_from"));
	}
	return r;
}

static enum ctl_exit replay(struct ctl *ctl, const struct args *args,
			    const struct time_range *range, const json_t *head)
{
	const char *argv[] = {"gover-sim", "replay", ctl->writer.json ? "--json" : NULL, NULL};
	char kept_from[CLOCK_TEXT_MAX] = "";
	enum ctl_exit r = CTL_DONE;
	struct program sim;
	const json_t *gpu;
	struct err err;
	size_t i;
	int status;

	if (program_start(argv, STDIN_FILENO, &sim, &err) < 0)
		return ctl_fail(CTL_FAILED, "%s", err.msg);
	(void)json_dumpf(head, sim.pipe, JSON_COMPACT);
	json_array_foreach (json_object_get(head, "gpus"), i, gpu)
		if (r == CTL_DONE)
			r = copy_history(ctl, field_text(gpu, "name"), range, sim.pipe, kept_from);
	if (r != CTL_DONE)
		kill(sim.pid, SIGTERM); /* it would report a recording that is too short */
	status = program_wait(&sim);
	if (r == CTL_DONE && status == 0 && args_has(args, OPTION_FROM) &&
	    strcmp(range->from, kept_from) < 0)
		ctl_fail(CTL_DONE,
			 "--from: the values of each period are kept only from %s on; the "
			 "simulation starts at this time",
			 kept_from);
	return r == CTL_DONE ? (enum ctl_exit)status : r;
}

enum ctl_exit verb_simulate(struct ctl *ctl, const struct args *args)
{
	const char *newcomer = args->values[OPTION_NEWCOMER_WORKLOAD];
	const char *gpu = args->values[OPTION_ON_GPU];
	bool none = args_has(args, OPTION_NO_NEWCOMERS);
	struct time_range range;
	enum ctl_exit r = time_arg_get_range(args, "simulate", DAY_S, &range);
	json_t *head;

	if (r == CTL_DONE && gpu)
		r = ctl_check_id("GPU", gpu);
	if (r == CTL_DONE && newcomer && none)
		r = ctl_fail(CTL_USAGE, "--newcomer and --no-newcomers are mutually exclusive");
	if (r != CTL_DONE)
		return r;
	head = json_pack("{s:s, s:s, s:s?, s:I, s:s}", "from", range.from, "to", range.to, "policy",
			 args->values[OPTION_POLICY], "seed",
			 args_has(args, OPTION_SEED)
				 ? (json_int_t)args_get_number(args, OPTION_SEED)
				 : (json_int_t)SEED_DEFAULT,
			 "newcomers",
			 none	    ? "none"
			 : newcomer ? newcomer
				    : "recorded");
	r = make_head(ctl, args, &range, head);
	if (r == CTL_DONE)
		r = replay(ctl, args, &range, head);
	json_decref(head);
	return r;
}
