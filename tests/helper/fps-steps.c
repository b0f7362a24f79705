/* SPDX-License-Identifier: MIT */
/*
 * fps-steps FPS BODY_US [FILE]: an EGL program without a display server. Presents FPS frames a
 * second and draws for BODY_US of CPU time in each, until it is killed. A driver can change
 * BODY_US through FILE (fps-steps.h), and the program writes the times of late frames to it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/helper/egl.h"
#include "tests/helper/fps-steps.h"

#define SIZE	512 /* of the surface; a clear takes about 0.05 ms */
#define ON_TIME 6
#define LATE	1.1 /* a frame is late if it takes this many frame times */
#define NS	1000000000ull

static void sleep_until(uint64_t at_ns)
{
	struct timespec at = {.tv_sec = (time_t)(at_ns / NS), .tv_nsec = (long)(at_ns % NS)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		continue;
}

static struct fps_steps *map(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *steps = fd < 0 ? MAP_FAILED
			     : mmap(NULL, sizeof(struct fps_steps), PROT_READ | PROT_WRITE,
				    MAP_SHARED, fd, 0);

	if (fd >= 0)
		(void)close(fd);
	return steps == MAP_FAILED ? NULL : steps;
}

/* Draws until the program has used @body_us of CPU time. */
static void draw(uint32_t body_us)
{
	uint64_t until_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + body_us * 1000ull;
	float shade = 0;

	do {
		glClearColor(shade, 0.5f, 1 - shade, 1);
		glClear(GL_COLOR_BUFFER_BIT);
		glFinish();
		shade = shade < 1 ? shade + 0.125f : 0;
	} while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < until_ns);
}

/* Records a frame that ended at @now_ns and took @took_ns. */
static void record(struct fps_steps *steps, uint64_t frame_ns, uint64_t took_ns, uint64_t now_ns)
{
	static int in_time;
	static uint64_t first_ns;
	uint32_t step = __atomic_load_n(&steps->step, __ATOMIC_ACQUIRE);
	bool late = (double)took_ns > LATE * (double)frame_ns;

	__atomic_store_n(&steps->frames, steps->frames + 1, __ATOMIC_RELAXED);
	if (steps->seen != step) {
		/* This frame may have been drawn in the step before. */
		steps->short_ns = steps->on_time_ns = 0;
		in_time = 0;
		__atomic_store_n(&steps->seen, step, __ATOMIC_RELEASE);
		return;
	}
	if (late && steps->short_ns == 0)
		__atomic_store_n(&steps->short_ns, now_ns, __ATOMIC_RELEASE);
	if (late)
		in_time = 0;
	else if (in_time++ == 0)
		first_ns = now_ns;
	if (in_time == ON_TIME && steps->short_ns != 0 && steps->on_time_ns == 0)
		__atomic_store_n(&steps->on_time_ns, first_ns, __ATOMIC_RELEASE);
}

int main(int argc, char **argv)
{
	EGLDisplay display = eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL);
	double fps = argc > 2 ? strtod(argv[1], NULL) : 0;
	struct fps_steps own = {0}, *steps = argc > 3 ? map(argv[3]) : &own;
	uint64_t frame_ns, next_ns, last_ns;
	EGLSurface surface;

	if (!(fps >= 1 && fps <= 1000) || !steps || !make_current(display, SIZE, &surface)) {
		fprintf(stderr, "usage: fps-steps FPS BODY_US [FILE] (needs EGL)\n");
		return 1;
	}
	if (steps->body_us == 0)
		steps->body_us = (uint32_t)strtoul(argv[2], NULL, 10);
	frame_ns = (uint64_t)((double)NS / fps);
	next_ns = last_ns = clock_ns(CLOCK_MONOTONIC);
	for (;;) {
		uint64_t now_ns;

		draw(__atomic_load_n(&steps->body_us, __ATOMIC_RELAXED));
		now_ns = clock_ns(CLOCK_MONOTONIC);
		next_ns += frame_ns;
		if (next_ns > now_ns)
			sleep_until(next_ns);
		else if (next_ns + frame_ns < now_ns)
			next_ns = now_ns; /* do not catch up on lost frames */
		eglSwapBuffers(display, surface);
		now_ns = clock_ns(CLOCK_MONOTONIC);
		record(steps, frame_ns, now_ns - last_ns, now_ns);
		last_ns = now_ns;
	}
}
