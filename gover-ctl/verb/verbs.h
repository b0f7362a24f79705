/* SPDX-License-Identifier: MIT */
/*
 * The table of verbs, for main(), help and shell completion. A test compares the table with the
 * manual page. To add a verb, add a function and a row.
 */
#ifndef GOVER_CTL_VERB_VERBS_H
#define GOVER_CTL_VERB_VERBS_H

#include "gover-ctl/ctl.h"

struct table;

typedef enum ctl_exit (*verb_fn)(struct ctl *ctl, const struct args *args);

/* The groups of the help and of the manual page. */
enum verb_group { VERB_WATCH, VERB_CONTRACTS, VERB_SELLING, VERB_POLICY, VERB_HOST, VERB_GROUPS };

struct verb_group_info {
	const char *name, *summary;
};

struct verb {
	const char *words; /* "vgpu add" */
	enum verb_group group;
	const char *args; /* arguments of the verb in the help; "": none */
	int min_args, max_args;
	const enum option_id *required,
		*optional;	   /* OPTIONS(), without the global options; NULL: none */
	const struct table *table; /* the table that a list prints; NULL: not a list */
	bool json;		   /* true: the verb accepts --json */
	bool command;		   /* true: the arguments are the command line of a program */
	/* true: the verb is for scripts, and is neither listed nor completed */
	bool hidden;
	const char *summary;
	verb_fn run;
};

const struct verb_group_info *verbs_group(enum verb_group group);

/* Returns the visible verb with the number @index; NULL past the last visible verb. */
const struct verb *verbs_at(size_t index);

/*
 * Returns the verb that @words begin with, or NULL if there is none. *ret_used: number of words in
 * the name of the verb.
 */
const struct verb *verbs_find(char *const *words, int n_words, int *ret_used);

/* Returns the options of a verb, with the global options. */
struct option_set verbs_options(const struct verb *verb);

/* Prints the reply to GET /v1/host as `status` does; `top --once` prints it, too (status.c). */
void status_print(struct ctl *ctl, const json_t *host);

/*
 * Adds @pair to @body, with the type of the value in @policy (GET /v1/policy). "KEY=" and
 * "KEY=default" add null, which restores the value of the configuration file. Returns 0 or -EINVAL.
 */
int policy_set_add_pair(json_t *body, const char *pair, const json_t *policy, struct err *reterr);

/* The functions of the verbs. */
enum ctl_exit verb_status(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_vgpu_list(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_vgpu_show(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_vgpu_add(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_vgpu_set(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_vgpu_remove(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_vgpu_hold(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_vgpu_release(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_gpu_freeze(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_gpu_thaw(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_gpu_drain(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_run(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_history(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_economics(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_simulate(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_alerts(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_alert_ack(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_silence_add(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_silence_list(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_silence_remove(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_decisions(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_why(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_offers(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_offer_claim(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_policy_show(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_policy_set(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_token_list(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_token_add(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_token_remove(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_audit(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_top(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_watch(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_doctor(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_config_check(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_support(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_completion(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_complete(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_help(struct ctl *ctl, const struct args *args);

#endif
