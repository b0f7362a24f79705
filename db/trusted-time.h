/* SPDX-License-Identifier: MIT */
/*
 * The time that pruning may rely on. The wall clock can be wrong: it can jump ahead for a moment or
 * be wrong from the boot until it is synchronised. Rows that were pruned in such a time are lost.
 *
 * The trusted time advances with CLOCK_BOOTTIME, which includes suspends and never jumps. A reading
 * of the wall clock becomes trusted only after it was confirmed: after the reading, the daemon has
 * run for a day, and the wall clock was never set back. A jump of the wall clock, or a time
 * in which the host was off, is therefore trusted at the latest after two days of running. Until
 * then, rows are kept longer.
 */
#ifndef DB_TRUSTED_TIME_H
#define DB_TRUSTED_TIME_H

#include <stdint.h>

/* Running time after which a reading of the wall clock is confirmed. */
#define TRUSTED_TIME_CONFIRM_MS INT64_C(86400000)
/* A smaller step backwards is no doubt about the clock; leap seconds and corrections by NTP are
 * smaller. */
#define TRUSTED_TIME_STEP_MS 10000

/* Stored in the database. All zero: no reading yet. */
struct trusted_time {
	int64_t trusted_ms;   /* the trusted time */
	int64_t proposed_ms;  /* advanced from the reading that is being confirmed */
	int64_t confirmed_ms; /* running time since that reading */
	int64_t wall_ms;      /* the last reading of the wall clock */
};

/*
 * Adds a reading of the wall clock. @elapsed_ms: increase of CLOCK_BOOTTIME since the last reading,
 * 0 for the first reading of a run.
 */
void trusted_time_add(struct trusted_time *time, int64_t wall_ms, int64_t elapsed_ms);

/* Returns the time by which rows may be pruned. It is never later than the last reading. 0: no
 * reading yet. */
int64_t trusted_time_get(const struct trusted_time *time);

#endif
