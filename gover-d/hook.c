/* SPDX-License-Identifier: MIT */
/* Running an operator's program. Must never wait for it, nor hand it a descriptor of ours. */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/hook.h"
#include "gover-d/log.h"

#define VARIABLES    5
#define VARIABLE_MAX 1200

struct hooks {
	sd_event *event;
	int running;
};

int hooks_new(sd_event *event, struct hooks **ret_hooks)
{
	struct hooks *hooks = calloc(1, sizeof(*hooks));

	if (!hooks)
		return -ENOMEM;
	hooks->event = sd_event_ref(event);
	*ret_hooks = hooks;
	return 0;
}

struct hooks *hooks_free(struct hooks *hooks)
{
	if (!hooks)
		return NULL;
	sd_event_unref(hooks->event);
	free(hooks);
	return NULL;
}

static int on_exit_of(sd_event_source *source, const siginfo_t *si, void *userdata)
{
	struct hooks *hooks = userdata;

	(void)source;
	hooks->running--;
	if (si->si_code != CLD_EXITED || si->si_status != 0)
		log_warning("on_migrate program (pid %d) ended with %s %d", (int)si->si_pid,
			    si->si_code == CLD_EXITED ? "status" : "signal", si->si_status);
	return 0;
}

static int spawn(const char *program, char *const environment[], pid_t *ret_pid)
{
	char *const arguments[] = {strdup(program), NULL};
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int r;

	if (!arguments[0])
		return -ENOMEM;
	r = posix_spawnattr_init(&attributes);
	if (r == 0) {
		sigemptyset(&none);
		sigfillset(&all);
		(void)posix_spawnattr_setsigmask(&attributes, &none);
		(void)posix_spawnattr_setsigdefault(&attributes, &all);
		(void)posix_spawnattr_setflags(&attributes,
					       POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
		r = posix_spawn(ret_pid, program, NULL, &attributes, arguments, environment);
		(void)posix_spawnattr_destroy(&attributes);
	}
	free(arguments[0]);
	return -r;
}

static bool is_ours(const char *variable, char ours[VARIABLES][VARIABLE_MAX])
{
	for (int i = 0; i < VARIABLES; i++)
		if (strncmp(variable, ours[i], strcspn(ours[i], "=") + 1) == 0)
			return true;
	return false;
}

/* @ours and the rest of the daemon's own environment; the caller frees the array, not the texts. */
static char **extend_environment(char ours[VARIABLES][VARIABLE_MAX])
{
	size_t n = 0;
	char **all;

	while (environ[n])
		n++;
	all = calloc(n + VARIABLES + 1, sizeof(char *));
	if (!all)
		return NULL;
	for (n = 0; n < VARIABLES; n++)
		all[n] = ours[n];
	for (char **variable = environ; *variable; variable++)
		if (!is_ours(*variable, ours))
			all[n++] = *variable;
	return all;
}

int hooks_run(struct hooks *hooks, const char *program, const char *happening, const char *gpu,
	      const char *vgpu, const char *vm, const char *why)
{
	char ours[VARIABLES][VARIABLE_MAX];
	CLEANUP_FREE char **environment = NULL;
	pid_t pid;
	int r;

	if (program[0] == '\0')
		return 0;
	snprintf(ours[0], VARIABLE_MAX, "GOVER_EVENT=%s", happening);
	snprintf(ours[1], VARIABLE_MAX, "GOVER_GPU=%s", gpu);
	snprintf(ours[2], VARIABLE_MAX, "GOVER_VGPU=%s", vgpu);
	snprintf(ours[3], VARIABLE_MAX, "GOVER_VM=%s", vm);
	snprintf(ours[4], VARIABLE_MAX, "GOVER_WHY=%s", why);
	environment = extend_environment(ours);
	if (!environment)
		r = -ENOMEM;
	else
		r = hooks->running >= HOOKS_MAX ? -EAGAIN : spawn(program, environment, &pid);
	if (r < 0) {
		log_warning("Failed to run on_migrate program '%s' for vGPU %s: %s", program, vgpu,
			    strerror(-r));
		return r;
	}
	hooks->running++;
	r = sd_event_add_child(hooks->event, NULL, pid, WEXITED, on_exit_of, hooks);
	if (r < 0)
		log_warning("Failed to watch on_migrate program '%s': %s", program, strerror(-r));
	return r;
}
