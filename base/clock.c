/* SPDX-License-Identifier: MIT */
/*
 * Reads the clocks and formats time as text. policy/, kernel/sched/ and sim/model/ never call
 * clock_now().
 */
#include <stdio.h>
#include <time.h>

#include "base/clock.h"

struct instant clock_now(void)
{
	struct timespec mono, boot, wall;
	int64_t wall_ms;

	clock_gettime(CLOCK_MONOTONIC, &mono);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	clock_gettime(CLOCK_REALTIME, &wall);
	wall_ms = (int64_t)wall.tv_sec * 1000 + wall.tv_nsec / 1000000;
	return (struct instant){
		.mono_ns = (uint64_t)mono.tv_sec * NS_PER_S + (uint64_t)mono.tv_nsec,
		.boot_ns = (uint64_t)boot.tv_sec * NS_PER_S + (uint64_t)boot.tv_nsec,
		.wall_ms = wall_ms > 0 ? wall_ms : 1,
	};
}

void clock_format(int64_t wall_ms, char text[CLOCK_TEXT_MAX])
{
	time_t s = (time_t)(wall_ms / 1000);
	struct tm tm;
	char date[CLOCK_TEXT_MAX];

	gmtime_r(&s, &tm);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, CLOCK_TEXT_MAX, "%.19s.%03uZ", date, (unsigned int)(wall_ms % 1000) % 1000);
}
