/* SPDX-License-Identifier: MIT */
/*
 * fps-frames FRAMES BODY_US: an EGL program without a display server that uses the CPU for
 * BODY_US in each frame. Prints its CPU time per frame in ns (without the work), and mean, 99th
 * percentile and maximum of the time between frames in us. Linked to EGL, so that every preload
 * hooks it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/helper/egl.h"

/* number of first frames that are not measured, because limiters and overlays initialise then */
#define WARM 30

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Uses the CPU for @body_ns and returns the CPU time that was used. */
static uint64_t work(uint64_t body_ns)
{
	uint64_t from_ns = clock_ns(CLOCK_MONOTONIC), cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	if (body_ns == 0)
		return 0;
	while (clock_ns(CLOCK_MONOTONIC) - from_ns < body_ns)
		continue;
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
}

int main(int argc, char **argv)
{
	EGLDisplay display = eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL);
	long frames = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
	uint64_t body_ns = argc > 2 ? strtoull(argv[2], NULL, 10) * 1000 : 0;
	uint64_t *time_ns = calloc((size_t)frames + 1, sizeof(*time_ns));
	uint64_t first_ns = 0, last_ns = 0, cpu_ns = 0;
	EGLSurface surface;

	if (frames < 2 || !time_ns || !make_current(display, 64, &surface)) {
		fprintf(stderr, "usage: fps-frames FRAMES BODY_US (needs EGL)\n");
		return 1;
	}
	for (long i = -WARM; i <= frames; i++) {
		uint64_t at_ns, body_cpu_ns;

		glClear(GL_COLOR_BUFFER_BIT);
		body_cpu_ns = work(body_ns);
		eglSwapBuffers(display, surface);
		glFinish();
		at_ns = clock_ns(CLOCK_MONOTONIC);
		if (i == 0) {
			first_ns = at_ns;
			cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		} else if (i > 0) {
			time_ns[i - 1] = at_ns - last_ns;
			cpu_ns += body_cpu_ns;
		}
		last_ns = at_ns;
	}
	cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
	qsort(time_ns, (size_t)frames, sizeof(*time_ns), by_value);
	printf("%.0f %.3f %.1f %.1f\n", (double)cpu_ns / (double)frames,
	       (double)(last_ns - first_ns) / 1e3 / (double)frames,
	       (double)time_ns[(frames - 1) * 99 / 100] / 1e3, (double)time_ns[frames - 1] / 1e3);
	free(time_ns);
	return 0;
}
