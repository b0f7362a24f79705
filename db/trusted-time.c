/* SPDX-License-Identifier: MIT */
/* Derives the trusted time from readings of the wall clock. Pure: no clock, no I/O. */
#include "db/trusted-time.h"

#define READING_MAX_MS 60000 /* longest time between two readings of a running daemon */

/* A suspend is not running time. CLOCK_BOOTTIME goes back if a container is restored elsewhere. */
static int64_t running_ms(int64_t elapsed_ms)
{
	if (elapsed_ms < 0)
		return 0;
	return elapsed_ms < READING_MAX_MS ? elapsed_ms : READING_MAX_MS;
}

static void propose(struct trusted_time *time, int64_t wall_ms)
{
	time->proposed_ms = wall_ms;
	time->confirmed_ms = 0;
}

void trusted_time_add(struct trusted_time *time, int64_t wall_ms, int64_t elapsed_ms)
{
	int64_t expected_ms = time->wall_ms + elapsed_ms;

	if (time->trusted_ms == 0) { /* there are no rows that could be lost */
		time->trusted_ms = wall_ms;
		propose(time, wall_ms);
	}
	time->trusted_ms += elapsed_ms;
	time->proposed_ms += elapsed_ms;
	time->confirmed_ms += running_ms(elapsed_ms);
	if (wall_ms < expected_ms - TRUSTED_TIME_STEP_MS)
		propose(time, wall_ms); /* the clock was wrong before, or is wrong now */
	if (time->confirmed_ms >= TRUSTED_TIME_CONFIRM_MS) {
		time->trusted_ms = time->proposed_ms;
		propose(time, wall_ms);
	}
	time->wall_ms = wall_ms;
}

int64_t trusted_time_get(const struct trusted_time *time)
{
	return time->trusted_ms < time->wall_ms ? time->trusted_ms : time->wall_ms;
}
