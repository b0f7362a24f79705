/* SPDX-License-Identifier: MIT */
/*
 * fps-sink SOCKET [COMMAND...]: a fake daemon that only receives FPS reports. Runs COMMAND, waits
 * until it and all reporting programs have exited, and prints "frames N programs N refused N exit
 * N", followed by "open N" if N programs still run after 10 s, and by "gpu N of T us" if GPU time
 * was measured. Without COMMAND prints this every second until SIGTERM, followed by "present STATE"
 * (enum fps_present) while programs are connected. FPS_SINK_LIMIT_NS sets a minimum frame time for
 * all programs.
 */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "monitor/fps/fps.h"

#define PROGRAMS_MAX 2048
#define LINGER_NS    (10 * NS_PER_S) /* time limit for programs that still run after COMMAND */
#define TICK_NS	     NS_PER_S

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
}

struct seen {
	pid_t pids[PROGRAMS_MAX];
	int count;
};

/*
 * Returns the same vGPU for every program. A program that has ended has pid 0 and connected only
 * once.
 */
static int owner_of(void *userdata, pid_t pid, char ret_id[ID_MAX])
{
	struct seen *seen = userdata;
	int i = 0;

	while (i < seen->count && (pid == 0 || seen->pids[i] != pid))
		i++;
	if (i == seen->count && i < PROGRAMS_MAX)
		seen->pids[seen->count++] = pid;
	strcpy(ret_id, "all");
	return 0;
}

static bool is_open(const struct fps_hub *hub)
{
	struct fps_hub_stats stats;

	fps_hub_stats(hub, &stats);
	return stats.open > 0;
}

static const char *const presents[] = {
	[FPS_PRESENT_UNKNOWN] = "unknown",
	[FPS_PRESENT_OUTSIDE] = "outside",
	[FPS_PRESENT_WAITS] = "waits",
};

static void print(const struct fps_hub *hub, const struct seen *seen, int status)
{
	const struct fps_totals *all = fps_hub_totals(hub, "all");
	struct fps_hub_stats stats;

	fps_hub_stats(hub, &stats);
	printf("frames %llu programs %d refused %llu exit %d",
	       all ? (unsigned long long)all->frames : 0, seen->count,
	       (unsigned long long)stats.refused, status);
	if (stats.open > 0)
		printf(" open %d", stats.open);
	if (all && all->gpu_frames > 0)
		printf(" gpu %llu of %.0f us", (unsigned long long)all->gpu_frames,
		       (double)all->gpu_time_ns / 1e3 / (double)all->gpu_frames);
	if (all && all->open > 0)
		printf(" present %s", presents[fps_present_of(all)]);
	putchar('\n');
	(void)fflush(stdout);
}

/* Receives reports until SIGTERM. */
static void serve(struct fps_hub *hub, const struct seen *seen)
{
	struct pollfd readable = {.fd = fps_hub_fd(hub), .events = POLLIN};
	uint64_t tick_ns = clock_now().mono_ns + TICK_NS;

	while (!stopped) {
		(void)poll(&readable, 1, 20);
		fps_hub_dispatch(hub);
		if (clock_now().mono_ns < tick_ns)
			continue;
		fps_hub_collect(hub);
		print(hub, seen, 0);
		tick_ns += TICK_NS;
	}
}

/* Receives reports until COMMAND and all programs have exited. Returns the status of COMMAND. */
static int serve_command(struct fps_hub *hub, pid_t command)
{
	struct pollfd readable = {.fd = fps_hub_fd(hub), .events = POLLIN};
	uint64_t now_ns = clock_now().mono_ns, tick_ns = now_ns + TICK_NS, end_ns = UINT64_MAX;
	bool quiet = false;
	int status = 0;

	while (command > 0 || (now_ns < end_ns && !(quiet && !is_open(hub)))) {
		quiet = poll(&readable, 1, 20) == 0;
		fps_hub_dispatch(hub);
		now_ns = clock_now().mono_ns;
		if (now_ns >= tick_ns) {
			fps_hub_collect(hub);
			tick_ns += TICK_NS;
		}
		if (command > 0 && waitpid(command, &status, WNOHANG) == command) {
			command = 0;
			end_ns = now_ns + LINGER_NS;
			quiet = false;
		}
	}
	fps_hub_collect(hub);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	static struct seen seen;
	struct fps_hub *hub = NULL;
	struct err err;

	if (argc < 2 || fps_hub_new(argv[1], owner_of, &seen, &hub, &err) < 0) {
		fprintf(stderr, "fps-sink: %s\n",
			argc < 2 ? "usage: fps-sink SOCKET [COMMAND...]" : err.msg);
		return 2;
	}
	if (getenv("FPS_SINK_LIMIT_NS"))
		fps_hub_limit(hub, "all", strtoull(getenv("FPS_SINK_LIMIT_NS"), NULL, 10));
	(void)signal(SIGTERM, stop);
	if (argc > 2) {
		pid_t command = fork();

		if (command == 0) {
			execvp(argv[2], argv + 2);
			_exit(127);
		}
		print(hub, &seen, serve_command(hub, command));
	} else {
		serve(hub, &seen);
	}
	fps_hub_free(hub);
	return 0;
}
