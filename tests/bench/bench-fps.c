/* SPDX-License-Identifier: MIT */
/*
 * Measures the CPU time per frame that libgover-fps.so adds to the bare call of a GL library that
 * draws nothing. The library is measured in three states: disabled, recording without a daemon,
 * recording with a daemon. For comparison, the same run measures one clock read, and one clock read
 * with three stores.
 *
 * The Vulkan layer is measured in the same way: vkQueuePresentKHR of the layer is compared with a
 * direct call of the function of the driver, which does nothing (tests/helper/fps-vk.c). If the
 * layer is disabled, the program calls the driver directly.
 *
 * Each figure is the median of interleaved runs in separate processes.
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
#include "tests/bench/figures.h"
#include "monitor/fps/fps.h"

#define FRAMES	    1000000
#define FRAMES_TEXT "1000000"
#define WARM	    10000
#define ROUNDS	    15

static char preload[PATH_MAX], fake_gl[PATH_MAX], address[128] = "unix:", socket_path[64];
static char layer[PATH_MAX], fps_vk[PATH_MAX];

static const struct mode {
	const char *name;
	const char *how; /* argument of the timed process, which names the function to time */
	const char *preload, *gover_fps;
	double at_most; /* maximum of the added ns per frame (design.md, section 7); 0: none */
	bool vulkan;	/* true: the timed process is fps-vk, a Vulkan program */
	bool bare;	/* true: the reference for the modes below it, up to the next reference */
} modes[] = {
	{"bare call", "swap", NULL, NULL, 0, false, true},
	{"one clock read", "clock", NULL, NULL, 0, false, false},
	{"one clock read, three stores", "floor", NULL, NULL, 0, false, false},
	{"hook, disabled", "swap", preload, "off", 5, false, false},
	{"hook, recording, no daemon", "swap", preload, "unix:/nonexistent", 25, false, false},
	{"hook, recording, daemon reading", "swap", preload, address, 25, false, false},
	{"bare vkQueuePresentKHR", "bare", NULL, "off", 0, true, true},
	{"layer, disabled", "timed", NULL, "off", 0, true, false},
	{"layer, recording, no daemon", "timed", NULL, "unix:/nonexistent", 0, true, false},
	{"layer, recording, daemon reading", "timed", NULL, address, 0, true, false},
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

/* Runs in the timed process. Prints the CPU time per call in ns. */
static int time_calls(const char *how)
{
	void (*volatile swap)(void *, unsigned long) =
		strcmp(how, "clock") == 0 ? clock_swap : floor_swap;
	uint64_t start_ns;

	if (strcmp(how, "swap") == 0) {
		/* If the hook is preloaded, dlsym() finds its function before that of the
		 * library. */
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
	start_ns = figures_cpu_ns();
	for (int i = 0; i < FRAMES; i++)
		swap(NULL, 1);
	printf("%.3f\n", (double)(figures_cpu_ns() - start_ns) / FRAMES);
	return 0;
}

static int find_no_vgpu(void *userdata, pid_t pid, char ret_id[ID_MAX])
{
	(void)userdata;
	(void)pid;
	(void)ret_id;
	return -ENOENT;
}

/* Runs a timed process and, until it exits, the hub that receives its reports. */
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

static void report(double ns[MODES][ROUNDS])
{
	double bare = 0;

	printf("%-32s %8s %8s %8s\n", "per frame, median ns", "call", "added", "target");
	for (size_t m = 0; m < MODES; m++) {
		char target[16] = "-";
		double call;

		if (ns[m][0] < 0)
			continue; /* the layer was not built */
		call = median(ns[m], ROUNDS);
		if (modes[m].bare)
			bare = call;
		if (modes[m].at_most > 0)
			(void)snprintf(target, sizeof(target), "<= %.0f", modes[m].at_most);
		printf("%-32s %8.1f %8.1f %8s\n", modes[m].name, call, call - bare, target);
	}
	printf("best other programs: libstrangle (disabled) 4 ns, Prometheus fork of libstrangle "
	       "(recording) 121 ns\n");
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
	if (fps_hub_new(socket_path, find_no_vgpu, NULL, &hub, &err) < 0) {
		fprintf(stderr, "bench-fps: %s\n", err.msg);
		return 1;
	}
	for (int round = 0; round < ROUNDS; round++)
		for (size_t m = 0; m < MODES; m++)
			ns[m][round] = run(&modes[m], "/proc/self/exe", hub);
	fps_hub_free(hub);
	if (ns[0][0] < 0) {
		fprintf(stderr, "bench-fps: %s, %s: required (run make tests)\n", preload, fake_gl);
		return 1;
	}
	report(ns);
	return 0;
}
