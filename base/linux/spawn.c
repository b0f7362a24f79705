/* SPDX-License-Identifier: MIT */
/* The signals get their default actions: a child that ignores SIGPIPE would not end at a write to a
 * closed pipe. */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <unistd.h>

#include "base/linux/spawn.h"

static int start_with(const struct spawn *spawn, posix_spawnattr_t *attributes,
		      posix_spawn_file_actions_t *actions, pid_t *ret_pid)
{
	int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF, r = 0;
	sigset_t none, all;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	(void)posix_spawnattr_setsigmask(attributes, &none);
	(void)posix_spawnattr_setsigdefault(attributes, &all);
	if (spawn->group)
		flags |= POSIX_SPAWN_SETPGROUP;
	(void)posix_spawnattr_setflags(attributes, (short)flags);
	for (int i = 0; r == 0 && i < 3; i++)
		if (spawn->fds[i] == SPAWN_NULL)
			r = posix_spawn_file_actions_addopen(
				actions, i, "/dev/null", i == STDIN_FILENO ? O_RDONLY : O_WRONLY,
				0);
		else if (spawn->fds[i] >= 0)
			r = posix_spawn_file_actions_adddup2(actions, spawn->fds[i], i);
	if (r == 0)
		r = posix_spawnp(ret_pid, spawn->program, actions, attributes,
				 (char *const *)(uintptr_t)spawn->arguments,
				 spawn->environment ? spawn->environment : environ);
	return -r;
}

int spawn_start(const struct spawn *spawn, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int r = -posix_spawnattr_init(&attributes);

	if (r < 0)
		return r;
	r = -posix_spawn_file_actions_init(&actions);
	if (r == 0) {
		r = start_with(spawn, &attributes, &actions, ret_pid);
		(void)posix_spawn_file_actions_destroy(&actions);
	}
	(void)posix_spawnattr_destroy(&attributes);
	return r;
}
