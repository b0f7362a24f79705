/* SPDX-License-Identifier: MIT */
/*
 * A fake intel_gpu_top. Opens a system-wide perf counter, as the real program opens a counter of
 * the GPU. If that is not permitted, prints the error on stderr and exits with 1; otherwise prints
 * 73.25 % in the format of 1.27.1 until its stdout is closed.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char sample[] = "{\n\t\"engines\": {\n"
			     "\t\t\"Render/3D/0\": {\"busy\": %.2f, \"unit\": \"%%\"}\n"
			     "\t},\n\t\"clients\": {}\n}\n";

int main(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
	};
	double busy = 1; /* the first sample is ignored */

	if (syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC) < 0) {
		fprintf(stderr, "fake-igt: perf_event_open: %s\n", strerror(errno));
		return 1;
	}
	while (printf(sample, busy) > 0 && fflush(stdout) == 0) {
		busy = 73.25;
		(void)usleep(100000);
	}
	return 0;
}
