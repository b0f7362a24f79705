/* SPDX-License-Identifier: MIT */
/* The tables that gover-ctl prints: columns and formats. */
#ifndef GOVER_CTL_SHARED_TABLES_H
#define GOVER_CTL_SHARED_TABLES_H

#include "gover-ctl/shared/ctl.h"

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
extern const struct table table_vgpu; /* fields of one vGPU, for writer_record() */

/* Prints the rows in @answer, or @table->none, or nothing if a table without headings has no row.
 */
void tables_print_rows(const struct writer *writer, const struct table *table,
		       const json_t *answer);

/*
 * Lists: the verbs that print the rows of one reply, with the options --output, --no-headers,
 * --sort and --selector.
 */

/* The options of every list, for OPTIONS(). */
#define LISTING_OPTIONS OPTION_LIST_SORT, OPTION_NO_HEADERS

struct listing {
	const struct table *table;
	const struct writer_column *sort; /* NULL: in the order of the reply */
	bool by_age;			  /* true: the youngest row comes first */
	bool descending;
	const char *selector; /* NULL: all rows */
};

#define LISTING_KEY_MAX 32
/* Writes the name of a column as a sort key: "USED%" is "used", "ACKED BY" is "acked-by". */
void listing_name_key(const struct writer_column *column, char key[LISTING_KEY_MAX]);

/*
 * Checks the options of a list. Called before the request. Prints an error and returns CTL_USAGE if
 * a value is not allowed.
 */
enum ctl_exit listing_open(struct listing *listing, const struct args *args,
			   const struct table *table);

/*
 * Prints the selected rows in the wanted order and format. With --json prints the reply, which is
 * unchanged if all rows are wanted in their order. Returns CTL_DONE.
 */
enum ctl_exit listing_print(const struct listing *listing, const struct writer *writer,
			    const struct reply *reply);

/*
 * Runs a list: checks the options, requests the rows with GET of the path, and prints them. The
 * length of the path is below CLIENT_PATH_MAX.
 */
enum ctl_exit listing_run(struct ctl *ctl, const struct args *args, const struct table *table,
			  const char *path_format, ...) __attribute__((format(printf, 4, 5)));

#endif
