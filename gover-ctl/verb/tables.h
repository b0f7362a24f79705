/* SPDX-License-Identifier: MIT */
/* The tables that gover-ctl prints: columns and formats. */
#ifndef GOVER_CTL_VERB_TABLES_H
#define GOVER_CTL_VERB_TABLES_H

#include "gover-ctl/ctl.h"

struct table {
	const char *member; /* name of the array of rows in the reply */
	const char *none;   /* text printed if the array is empty */
	const struct writer_column *columns;
	size_t n_columns;
};

extern const struct table table_gpus, table_vgpus, table_alerts, table_offers, table_decisions,
	table_history, table_policy, table_silences;
extern const struct table table_accounts, table_flavors, table_earners; /* economics */
extern const struct table table_tokens;
extern const struct table table_audit; /* audit.c */
extern const struct table table_vgpu;  /* fields of one vGPU, for writer_record() */

/* Prints the rows in @answer, or @table->none, or nothing if a table without headings has no row.
 */
void tables_print_rows(const struct writer *writer, const struct table *table,
		       const json_t *answer);
#endif
