/* SPDX-License-Identifier: MIT */
/* Starts a program as a child, with the default action of each signal and no signal blocked. */
#ifndef BASE_LINUX_SPAWN_H
#define BASE_LINUX_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

#define SPAWN_NULL    (-1) /* /dev/null */
#define SPAWN_INHERIT (-2) /* the descriptor of this process */

struct spawn {
	const char *program;	      /* path; without '/': searched in $PATH */
	const char *const *arguments; /* from the name of the program up to a NULL */
	char *const *environment;     /* NULL: that of this process */
	/* standard input, output and error: a descriptor, SPAWN_NULL or SPAWN_INHERIT */
	int fds[3];
	bool group; /* the child has a process group of its own */
};

/* Returns 0 or a negative errno. */
int spawn_start(const struct spawn *spawn, pid_t *ret_pid);

#endif
