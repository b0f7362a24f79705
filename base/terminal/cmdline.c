/* SPDX-License-Identifier: MIT */
/* Parses options with getopt_long(). */
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/terminal/cmdline.h"

#define OPTION_BASE 256 /* getopt_long() returns this value for row 0 */

static int print_help(const struct cmdline_row *rows, int n_rows)
{
	char head[64];
	int width = 0;

	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < n_rows; i++) {
			const struct cmdline_row *row = &rows[i];
			int n = snprintf(head, sizeof(head), "  --%s%s%s",
					 row->name ? row->name : "", row->arg ? " " : "",
					 row->arg ? row->arg : "");

			if (pass == 0 && n > width)
				width = n;
			else if (pass == 1 && row->kind == CMDLINE_TEXT)
				fputs(row->help, stdout);
			else if (pass == 1)
				printf("%-*s  %s\n", width, head, row->help);
		}
	return 0;
}

static int take_number(const char *program, const struct cmdline_row *row)
{
	int64_t number;
	int r;

	if (row->kind == CMDLINE_INT) {
		r = parse_int(optarg, (int64_t)row->min, (int64_t)row->max, &number);
		if (r == 0)
			*(int *)row->at = (int)number;
	} else {
		r = parse_double(optarg, row->min, row->max, row->at);
	}
	if (r == 0)
		return CMDLINE_GO_ON;
	fprintf(stderr, "%s: --%s %s: not valid (allowed: %.15g to %.15g)\n", program, row->name,
		optarg, row->min, row->max);
	return CMDLINE_USAGE;
}

static int take(const char *program, const struct cmdline_row *rows, int n_rows, int index)
{
	const struct cmdline_row *row = &rows[index];

	switch (row->kind) {
	case CMDLINE_FLAG:
		*(bool *)row->at = true;
		break;
	case CMDLINE_CHOICE:
		*(int *)row->at = (int)row->min;
		break;
	case CMDLINE_WORD:
		*(const char **)row->at = optarg;
		break;
	case CMDLINE_INT:
	case CMDLINE_REAL:
		return take_number(program, row);
	case CMDLINE_CALL:
		return row->take(row->at, optarg);
	case CMDLINE_HELP:
		return print_help(rows, n_rows);
	case CMDLINE_VERSION:
		printf("%s %s\n", program, GOVER_VERSION);
		return 0;
	case CMDLINE_TEXT:
		break;
	}
	return CMDLINE_GO_ON;
}

int cmdline_parse(const char *program, const struct cmdline_row *rows, int n_rows,
		  const char *order, int argc, char *argv[], unsigned int *ret_used)
{
	struct option longs[CMDLINE_ROWS_MAX + 1] = {{0}};
	int c, n = 0, r = CMDLINE_GO_ON;
	unsigned int used = 0;

	for (int i = 0; i < n_rows; i++)
		if (rows[i].name)
			longs[n++] = (struct option){.name = rows[i].name,
						     .has_arg = rows[i].arg != NULL,
						     .val = OPTION_BASE + i};
	while (r == CMDLINE_GO_ON && (c = getopt_long(argc, argv, order, longs, NULL)) >= 0) {
		if (c < OPTION_BASE) {
			r = CMDLINE_USAGE; /* getopt_long() has printed the error */
		} else {
			used |= 1u << (c - OPTION_BASE);
			r = take(program, rows, n_rows, c - OPTION_BASE);
		}
	}
	if (r == CMDLINE_USAGE)
		fprintf(stderr, "Try '%s --help'.\n", program);
	if (ret_used)
		*ret_used = used;
	return r;
}
