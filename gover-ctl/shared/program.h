/* SPDX-License-Identifier: MIT */
/* Finds the libraries of this package, and runs its programs with a pipe to them or from them. */
#ifndef GOVER_CTL_SHARED_PROGRAM_H
#define GOVER_CTL_SHARED_PROGRAM_H

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

/* A library that is loaded into programs of customers. */
struct program_library {
	const char *name;
	const char *override; /* environment variable with another path of the library */
	const char *list;     /* environment variable that makes the program load it */
};

extern const struct program_library program_library_fps; /* counts frames */
extern const struct program_library program_library_cl;	 /* submits OpenCL work in turns */

/*
 * Finds a library. @override is the value of the environment variable of this name; if it is set,
 * it is the path. Otherwise the library is searched in the folder of the program @exe, then in
 * ../lib/gover relative to this folder. Returns -ENOENT if the library is not found, -EINVAL if the
 * list cannot contain its path.
 */
int program_find_library(const struct program_library *library, const char *override,
			 const char *exe, char ret_path[PATH_MAX], struct err *reterr);

#endif
