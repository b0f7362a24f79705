/* SPDX-License-Identifier: MIT */
/*
 * The begin of a freeze or a hold. It is stored as a time of the wall clock. In this run its age
 * grows with CLOCK_BOOTTIME, so that it does not depend on the wall clock. If the wall clock is
 * set, the begin moves by the same amount: it stays right over a later restart. Pure.
 */
#ifndef GOVER_D_MODEL_SINCE_H
#define GOVER_D_MODEL_SINCE_H

#include <stdbool.h>

#include "base/clock.h"

struct since {
	int64_t at_ms; /* begin; 0: there is no freeze or hold, or its begin is unknown */
	/* when this run began or loaded it; wall_ms is that of the present wall clock */
	struct instant known;
};

/* Begins at @now if @holds and not begun; ends if not @holds. */
void since_update(struct since *since, bool holds, struct instant now);
/*
 * Continues the begin that an earlier run has stored, if the freeze or hold @holds. Returns true if
 * the begin was unknown and is @now.
 */
bool since_resume(struct since *since, bool holds, struct instant now);
/* Call it in each period. Returns true if the wall clock was set, so that the begin has moved. */
bool since_follow(struct since *since, struct instant now);
/*
 * Returns the age, or 0 without a begin. If the begin was in the future of the wall clock at the
 * start, the age counts from the start.
 */
int64_t since_age_ms(const struct since *since, struct instant now);

#endif
