/* SPDX-License-Identifier: MIT */
/* What stands in each column of every table gover-ctl prints. Data only. */
#ifndef GOVER_CTL_VERB_TABLES_H
#define GOVER_CTL_VERB_TABLES_H

#include "gover-ctl/ctl.h"

struct table {
	const char *member; /* of the answer: the array of rows */
	const char *none;   /* what to say where it is empty */
	const struct writer_column *columns;
	size_t n_columns;
};

extern const struct table table_gpus, table_vgpus, table_alerts, table_offers, table_decisions,
	table_history, table_policy, table_silences;
extern const struct table table_accounts, table_flavors, table_earners; /* economics */
extern const struct table table_tokens;
extern const struct table table_vgpu; /* one vGPU, its columns as lines */

/* Prints the rows of @answer, or that there are none. */
enum ctl_exit tables_print_rows(const struct writer *writer, const struct table *table,
				const json_t *answer);

/* The same, or with --json the answer as it came. */
enum ctl_exit tables_print_reply(const struct writer *writer, const struct table *table,
				 const struct reply *reply);

#endif
