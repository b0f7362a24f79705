/* SPDX-License-Identifier: MIT */
/* A command line as a table: parses the options, and prints the help from the same rows. */
#ifndef BASE_TERMINAL_CMDLINE_H
#define BASE_TERMINAL_CMDLINE_H

#include <stddef.h>

#define CMDLINE_ROWS_MAX 32
#define CMDLINE_GO_ON	 (-1) /* not an exit status: the program continues */
#define CMDLINE_USAGE	 2    /* exit status after wrong usage */

enum cmdline_kind {
	CMDLINE_TEXT,	 /* no option: lines of the help */
	CMDLINE_FLAG,	 /* sets the bool at @at */
	CMDLINE_CHOICE,	 /* sets the int at @at to @min */
	CMDLINE_WORD,	 /* the option has an argument: sets the const char * at @at */
	CMDLINE_INT,	 /* sets the int at @at, @min to @max */
	CMDLINE_REAL,	 /* sets the double at @at, @min to @max */
	CMDLINE_CALL,	 /* calls @take; has an argument if @arg is set */
	CMDLINE_HELP,	 /* prints the help */
	CMDLINE_VERSION, /* prints name and version */
};

struct cmdline_row {
	const char *name, *arg, *help;
	enum cmdline_kind kind;
	void *at;
	double min, max;
	/* Takes the argument @text. Returns CMDLINE_GO_ON, or an exit status after a message. */
	int (*take)(void *at, const char *text);
	unsigned int verbs; /* for the program: which verbs have the option */
};

#define CMDLINE_LINES(HELP)    \
	{                      \
		.help = (HELP) \
	}
#define CMDLINE_ROW(KIND, NAME, ARG, AT, HELP, ...)                                               \
	{                                                                                         \
		.name = (NAME), .arg = (ARG), .help = (HELP), .kind = CMDLINE_##KIND, .at = (AT), \
		__VA_ARGS__                                                                       \
	}
#define CMDLINE_ENDS                                                       \
	CMDLINE_ROW(HELP, "help", NULL, NULL, "print this help and exit"), \
		CMDLINE_ROW(VERSION, "version", NULL, NULL, "print the version and exit")

/*
 * Parses the options of @argv. Returns CMDLINE_GO_ON, with the index of the first operand in
 * optind, or the exit status of the program @program after a text was printed. @order: "+" ends the
 * options at the first operand; "" does not. *@ret_used: the set of used rows, bit N for row N; may
 * be NULL.
 */
int cmdline_parse(const char *program, const struct cmdline_row *rows, int n_rows,
		  const char *order, int argc, char *argv[], unsigned int *ret_used);

#endif
