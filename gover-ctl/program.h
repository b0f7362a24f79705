/* SPDX-License-Identifier: MIT */
/* Runs another program of this package, with a pipe to it or from it. */
#ifndef GOVER_CTL_PROGRAM_H
#define GOVER_CTL_PROGRAM_H

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/err.h"

struct program {
	pid_t pid;
	FILE *pipe;
};

/* Writes the path of this program, or "". */
void program_own_path(char ret_path[PATH_MAX]);

/*
 * Starts the program argv[0], which is searched in the folder of this program, in ../sbin relative
 * to it, and in PATH. @end: the end of the pipe in the program, STDIN_FILENO or STDOUT_FILENO.
 * The caller ends it with program_wait(). Writing to a pipe without a reader is an error (EPIPE).
 */
int program_start(const char *const *argv, int end, struct program *ret_program,
		  struct err *reterr);

/* Closes the pipe, and returns the exit status of the program; 128 and the signal that ended it. */
int program_wait(struct program *program);

/*
 * Runs the program argv[0], and reads the JSON that it prints. Its exit status is not judged. The
 * caller frees the result. Returns NULL with a message if it does not run or prints no JSON.
 */
json_t *program_read_json(const char *const *argv, struct err *reterr);

#endif
