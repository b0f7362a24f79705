/* SPDX-License-Identifier: MIT */
/*
 * Prints the frequency of this machine's time stamp counter in kHz, for the guest of check-kernel.
 * A busy machine delays readings of clock and counter, so each measurement uses the fastest of many
 * readings.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

struct reading {
	int64_t ns;
	uint64_t ticks;
};

static int64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static struct reading read_both(void)
{
	struct reading best = {0};
	int64_t best_took_ns = INT64_MAX;

	for (int i = 0; i < 1000; i++) {
		int64_t before_ns = clock_ns();
		uint64_t ticks = __rdtsc();
		int64_t took_ns = clock_ns() - before_ns;

		if (took_ns < best_took_ns) {
			best = (struct reading){before_ns + took_ns / 2, ticks};
			best_took_ns = took_ns;
		}
	}
	return best;
}

int main(void)
{
	struct timespec pause = {.tv_nsec = 200000000};
	struct reading from = read_both();
	struct reading to;

	nanosleep(&pause, NULL);
	to = read_both();
	printf("%.0f\n", (double)(to.ticks - from.ticks) * 1e6 / (double)(to.ns - from.ns));
	return 0;
}
