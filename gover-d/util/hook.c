/* SPDX-License-Identifier: MIT */
/*
 * Runs hooks without blocking. Programs inherit no descriptors of the daemon. The input is a file
 * in memory, which is complete before the program starts; a pipe would need writes while the
 * program runs.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/linux/spawn.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "gover-d/util/hook.h"
#include "gover-d/util/log.h"

#define VARIABLES    5
#define VARIABLE_MAX 1200

static const struct log_fields failed = {.kind = LOG_HOOK_FAILED};

static const char *const variables[VARIABLES] = {"GOVER_EVENT", "GOVER_GPU", "GOVER_VGPU",
						 "GOVER_VM", "GOVER_WHY"};

/* Copy of a hook call. The call must wait, because HOOKS_MAX programs are already running. */
struct waiting {
	struct waiting *next; /* next call in hooks.waiting */
	enum hook hook;
	char *program, *json;
	char variables[VARIABLES][VARIABLE_MAX];
};

struct running {
	struct running *next; /* next program in hooks.running */
	struct hooks *hooks;
	enum hook hook;
	pid_t pid; /* process id and process group of the program */
	bool killed;
	sd_event_source *child, *timer;
};

struct hooks {
	sd_event *event;
	int timeout_s;
	struct running *running;
	struct waiting *waiting; /* waiting calls, oldest first */
	int n_running, n_waiting;
	struct hook_stats stats[HOOKS];
};

const char *hook_name(enum hook hook)
{
	static const char *const names[HOOKS] = {"on_alert", "on_offer", "on_migrate"};

	return names[hook];
}

struct hooks *hooks_new(sd_event *event, int timeout_s)
{
	struct hooks *hooks = xcalloc(1, sizeof(*hooks));

	hooks->event = sd_event_ref(event);
	hooks->timeout_s = timeout_s;
	return hooks;
}

static void free_waiting(struct waiting *w)
{
	free(w->program);
	free(w->json);
	free(w);
}

static void free_running(struct running *r)
{
	struct running **at = &r->hooks->running;

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	r->hooks->n_running--;
	sd_event_source_disable_unref(r->child);
	sd_event_source_disable_unref(r->timer);
	free(r);
}

static struct waiting *take_waiting(struct hooks *hooks)
{
	struct waiting *w = hooks->waiting;

	if (w) {
		hooks->waiting = w->next;
		hooks->n_waiting--;
	}
	return w;
}

struct hooks *hooks_free(struct hooks *hooks)
{
	if (!hooks)
		return NULL;
	while (hooks->running)
		free_running(hooks->running);
	while (hooks->waiting)
		free_waiting(take_waiting(hooks));
	sd_event_unref(hooks->event);
	free(hooks);
	return NULL;
}

/* --- one program --- */

/*
 * Returns the descriptor of a file in memory that contains @json and a newline. If @json is NULL,
 * the file is empty.
 */
static int open_input(const char *json)
{
	CLEANUP_CLOSE int fd = memfd_create("gover-hook", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (json && dprintf(fd, "%s\n", json) < 0)
		return -errno;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	return steal_fd(&fd);
}

/* Runs @program in its own process group, with @json as standard input. */
static int spawn(const char *program, const char *json, char *const environment[], pid_t *ret_pid)
{
	CLEANUP_CLOSE int input = open_input(json);
	const struct spawn spawn = {
		.program = program,
		.arguments = (const char *const[]){program, NULL},
		.environment = environment,
		.fds = {input, SPAWN_INHERIT, SPAWN_INHERIT},
		.group = true,
	};

	return input < 0 ? input : spawn_start(&spawn, ret_pid);
}

static bool is_ours(const char *variable)
{
	for (int i = 0; i < VARIABLES; i++) {
		size_t n = strlen(variables[i]);

		if (strncmp(variable, variables[i], n) == 0 && variable[n] == '=')
			return true;
	}
	return false;
}

/*
 * Returns the environment of the daemon, with the variables @ours added or replaced. The caller
 * frees the array, but not the strings.
 */
static char **extend_environment(char ours[VARIABLES][VARIABLE_MAX])
{
	size_t n = 0;
	char **all;

	while (environ[n])
		n++;
	all = xcalloc(n + VARIABLES + 1, sizeof(char *));
	for (n = 0; n < VARIABLES; n++)
		all[n] = ours[n];
	for (char **variable = environ; *variable; variable++)
		if (!is_ours(*variable))
			all[n++] = *variable;
	return all;
}

/* --- several programs --- */

static void start_waiting(struct hooks *hooks);

static int on_exit_of(sd_event_source *source, const siginfo_t *si, void *userdata)
{
	struct running *r = userdata;
	struct hooks *hooks = r->hooks;

	(void)source;
	if (si->si_code != CLD_EXITED || si->si_status != 0) {
		hooks->stats[r->hook].failed++;
		if (!r->killed)
			log_event(SD_WARNING, &failed, "%s program (pid %d) ended with %s %d",
				  hook_name(r->hook), (int)si->si_pid,
				  si->si_code == CLD_EXITED ? "status" : "signal", si->si_status);
	}
	free_running(r);
	start_waiting(hooks);
	return 0;
}

static int on_timeout(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct running *r = userdata;

	(void)source;
	(void)usec;
	log_event(SD_WARNING, &failed,
		  "%s program (pid %d) killed: still running after %d s (hook_timeout_s)",
		  hook_name(r->hook), (int)r->pid, r->hooks->timeout_s);
	r->killed = true;
	r->hooks->stats[r->hook].killed++;
	(void)kill(-r->pid, SIGKILL);
	return 0;
}

static int watch(struct hooks *hooks, enum hook hook, pid_t pid)
{
	struct running *running = xcalloc(1, sizeof(*running));
	int r;

	running->hooks = hooks;
	running->hook = hook;
	running->pid = pid;
	running->next = hooks->running;
	hooks->running = running;
	hooks->n_running++;
	r = sd_event_add_child(hooks->event, &running->child, pid, WEXITED, on_exit_of, running);
	if (r >= 0)
		r = sd_event_add_time_relative(hooks->event, &running->timer, CLOCK_MONOTONIC,
					       (uint64_t)hooks->timeout_s * (NS_PER_S / 1000), 0,
					       on_timeout, running);
	if (r < 0)
		free_running(running);
	return r;
}

/* A program without a monitor could run forever, and would leave a zombie. */
static void end_unwatched(pid_t pid)
{
	(void)kill(-pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static int start(struct hooks *hooks, struct waiting *w)
{
	CLEANUP_FREE char **environment = extend_environment(w->variables);
	pid_t pid;
	int r = spawn(w->program, w->json, environment, &pid);

	if (r < 0) {
		hooks->stats[w->hook].failed++;
		log_event(SD_WARNING, &failed, "%s program '%s' for vGPU %s: cannot be run: %s",
			  hook_name(w->hook), w->program, strchr(w->variables[2], '=') + 1,
			  strerror(-r));
		return r;
	}
	hooks->stats[w->hook].run++;
	r = watch(hooks, w->hook, pid);
	if (r < 0) {
		end_unwatched(pid);
		hooks->stats[w->hook].failed++;
		log_event(SD_WARNING, &failed, "%s program '%s' killed: cannot be monitored: %s",
			  hook_name(w->hook), w->program, strerror(-r));
	}
	return r;
}

static void start_waiting(struct hooks *hooks)
{
	while (hooks->n_running < HOOKS_MAX && hooks->waiting) {
		struct waiting *w = take_waiting(hooks);

		(void)start(hooks, w);
		free_waiting(w);
	}
}

static void set_variable(char variable[VARIABLE_MAX], const char *name, const char *value)
{
	snprintf(variable, VARIABLE_MAX, "%s=%s", name, value);
	text_mask_controls(variable);
}

static struct waiting *copy_call(const struct hook_call *call)
{
	const char *const values[VARIABLES] = {call->event, call->gpu, call->vgpu, call->vm,
					       call->why};
	struct waiting *w = xcalloc(1, sizeof(*w));

	w->hook = call->hook;
	w->program = xstrdup(call->program);
	w->json = call->json ? xstrdup(call->json) : NULL;
	for (int i = 0; i < VARIABLES; i++)
		set_variable(w->variables[i], variables[i], values[i]);
	return w;
}

int hooks_run(struct hooks *hooks, const struct hook_call *call)
{
	struct waiting *w, **at = &hooks->waiting;
	int r;

	if (call->program[0] == '\0')
		return 0;
	if (hooks->n_waiting == HOOKS_WAITING_MAX) {
		hooks->stats[call->hook].dropped++;
		log_event(SD_WARNING, &failed, "%s program '%s' for vGPU %s: cannot be run: %s",
			  hook_name(call->hook), call->program, call->vgpu, strerror(EAGAIN));
		return -EAGAIN;
	}
	w = copy_call(call);
	if (hooks->n_running < HOOKS_MAX) {
		r = start(hooks, w);
		free_waiting(w);
		return r;
	}
	while (*at)
		at = &(*at)->next;
	*at = w;
	hooks->n_waiting++;
	return 0;
}

const struct hook_stats *hooks_stats(const struct hooks *hooks)
{
	return hooks->stats;
}
