/* SPDX-License-Identifier: MIT */
/* The verbs, for main(), help and shell completion. */
#ifndef GOVER_CTL_MAIN_VERBS_H
#define GOVER_CTL_MAIN_VERBS_H

#include "gover-ctl/shared/ctl.h"

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

/* In table.c. */
extern const struct verb verbs_table[];
extern const size_t verbs_table_rows;

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

#endif
