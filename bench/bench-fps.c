/* SPDX-License-Identifier: MIT */
/*
 * What a frame costs with libgover-fps.so loaded, over the bare call of a GL library that draws
 * nothing: switched off, recorded with no daemon, recorded with one. Beside them, in the same run,
 * what the machine's clock takes, and the floor: one clock read and three stores. Then what one
 * costs with the Vulkan layer: its vkQueuePresentKHR for one window, over the bare call of the next
 * one behind it, which does nothing; that is tests/helper/fps-vk.c, without a Vulkan loader.
 * Switched off the layer leaves the way, and the program calls the next one itself. Each figure is
 * the median of interleaved runs of its own process.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "monitor/fps/fps.h"

#define FRAMES	    1000000
#define FRAMES_TEXT "1000000"
#define WARM	    10000
#define ROUNDS	    15

static char preload[PATH_MAX], fake_gl[PATH_MAX], address[128] = "unix:", socket_path[64];
static char layer[PATH_MAX], fps_vk[PATH_MAX];

static const struct mode {
	const char *name;
	const char *how; /* argument of the timed process */
	const char *preload, *gover_fps;
	double at_most; /* ns over the bare call, design.md section 7; 0: no target */
	bool vulkan;	/* fps-vk's, with the layer */
	bool bare;	/* this and those behind it are over this call */
} modes[] = {
	{"bare call", "swap", NULL, NULL, 0, false, true},
	{"one clock read", "clock", NULL, NULL, 0, false, false},
	{"one clock read, three stores", "floor", NULL, NULL, 0, false, false},
	{"hook, switched off", "swap", preload, "off", 5, false, false},
	{"hook, recorded, no daemon", "swap", preload, "unix:/nonexistent", 25, false, false},
	{"hook, recorded, daemon reading", "swap", preload, address, 25, false, false},
	{"bare vkQueuePresentKHR", "bare", NULL, "off", 0, true, true},
	{"layer, switched off", "timed", NULL, "off", 0, true, false},
	{"layer, recorded, no daemon", "timed", NULL, "unix:/nonexistent", 0, true, false},
	{"layer, recorded, daemon reading", "timed", NULL, address, 0, true, false},
};
#define MODES (sizeof(modes) / sizeof(modes[0]))

static volatile struct {
	uint64_t frames, last_ns, bucket;
} page;

static void clock_swap(void *display, unsigned long drawable)
{
	struct timespec now;

	(void)display;
	(void)drawable;
	clock_gettime(CLOCK_MONOTONIC, &now);
}

static void floor_swap(void *display, unsigned long drawable)
{
	uint64_t now_ns;
	struct timespec now;

	(void)display;
	(void)drawable;
	clock_gettime(CLOCK_MONOTONIC, &now);
	now_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
	page.frames = page.frames + 1;
	page.last_ns = now_ns;
	page.bucket = now_ns & 63;
}

/* Of this process: what others take from the machine is not the hook's. */
static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Runs in a process of its own: prints ns per call. */
static int time_calls(const char *how)
{
	void (*volatile swap)(void *, unsigned long) =
		strcmp(how, "clock") == 0 ? clock_swap : floor_swap;
	uint64_t start_ns;

	if (strcmp(how, "swap") == 0) {
		/* As a program linked to it would find it: the hook first, when it is loaded. */
		swap = dlopen(getenv("BENCH_GL"), RTLD_NOW | RTLD_GLOBAL)
			       ? (void (*)(void *, unsigned long))dlsym(RTLD_DEFAULT,
									"glXSwapBuffers")
			       : NULL;
		if (!swap) {
			fprintf(stderr, "bench-fps: %s\n", dlerror());
			return 1;
		}
	}
	for (int i = 0; i < WARM; i++)
		swap(NULL, 1);
	start_ns = cpu_ns();
	for (int i = 0; i < FRAMES; i++)
		swap(NULL, 1);
	printf("%.3f\n", (double)(cpu_ns() - start_ns) / FRAMES);
	return 0;
}

static int nobody(void *userdata, pid_t pid, char ret_id[ID_MAX])
{
	(void)userdata;
	(void)pid;
	(void)ret_id;
	return -ENOENT;
}

/* One timed process; the daemon's end is served until it has ended. */
static double run(const struct mode *mode, const char *self, struct fps_hub *hub)
{
	struct pollfd fds[2] = {{.events = POLLIN}, {.fd = fps_hub_fd(hub), .events = POLLIN}};
	char text[32] = "";
	int pipe_fds[2];
	pid_t child;

	if (pipe(pipe_fds) < 0 || (child = fork()) < 0)
		return -1;
	if (child == 0) {
		(void)dup2(pipe_fds[1], STDOUT_FILENO);
		(void)setenv("BENCH_GL", fake_gl, 1);
		if (mode->preload)
			(void)setenv("LD_PRELOAD", mode->preload, 1);
		if (mode->gover_fps)
			(void)setenv("GOVER_FPS", mode->gover_fps, 1);
		if (mode->vulkan)
			execl(fps_vk, fps_vk, layer, mode->how, FRAMES_TEXT, NULL);
		else
			execl(self, self, mode->how, NULL);
		_exit(127);
	}
	(void)close(pipe_fds[1]);
	fds[0].fd = pipe_fds[0];
	do {
		(void)poll(fds, 2, -1);
		fps_hub_dispatch(hub);
	} while (!fds[0].revents);
	if (read(pipe_fds[0], text, sizeof(text) - 1) <= 0)
		text[0] = '\0';
	(void)close(pipe_fds[0]);
	(void)waitpid(child, NULL, 0);
	return text[0] ? atof(text) : -1;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void report(double ns[MODES][ROUNDS])
{
	double bare = 0;

	printf("%-32s %8s %8s %8s\n", "per frame, median ns", "call", "added", "target");
	for (size_t m = 0; m < MODES; m++) {
		char target[16] = "-";

		if (ns[m][0] < 0)
			continue; /* no headers of Vulkan, no layer */
		qsort(ns[m], ROUNDS, sizeof(double), by_value);
		if (modes[m].bare)
			bare = ns[m][ROUNDS / 2];
		if (modes[m].at_most > 0)
			(void)snprintf(target, sizeof(target), "<= %.0f", modes[m].at_most);
		printf("%-32s %8.1f %8.1f %8s\n", modes[m].name, ns[m][ROUNDS / 2],
		       ns[m][ROUNDS / 2] - bare, target);
	}
	printf("best peers: switched off 4 ns (libstrangle), recorded 121 ns (its Prometheus "
	       "fork)\n");
}

int main(int argc, char **argv)
{
	static double ns[MODES][ROUNDS];
	struct fps_hub *hub = NULL;
	char self[PATH_MAX - 32];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	struct err err;

	if (argc == 2)
		return time_calls(argv[1]);
	if (length < 0)
		return 1;
	self[length] = '\0';
	*strrchr(self, '/') = '\0';
	(void)snprintf(preload, sizeof(preload), "%s/../libgover-fps.so", self);
	(void)snprintf(layer, sizeof(layer), "%s/../libgover-fps-layer.so", self);
	(void)snprintf(fps_vk, sizeof(fps_vk), "%s/../tests/fps-vk", self);
	(void)snprintf(fake_gl, sizeof(fake_gl), "%s/../tests/fake-gl", self);
	(void)snprintf(socket_path, sizeof(socket_path), "/tmp/gover-bench-fps.%d", (int)getpid());
	strcat(address, socket_path);
	if (fps_hub_new(socket_path, nobody, NULL, &hub, &err) < 0) {
		fprintf(stderr, "bench-fps: %s\n", err.msg);
		return 1;
	}
	for (int round = 0; round < ROUNDS; round++)
		for (size_t m = 0; m < MODES; m++)
			ns[m][round] = run(&modes[m], "/proc/self/exe", hub);
	fps_hub_free(hub);
	if (ns[0][0] < 0) {
		fprintf(stderr, "bench-fps: needs %s and %s (make tests)\n", preload, fake_gl);
		return 1;
	}
	report(ns);
	return 0;
}
