/* SPDX-License-Identifier: MIT */
/*
 * The pause before the next try after a failure: doubled with each failure, and random, so that the
 * hosts of a fleet do not all return at the same instant. Pure.
 */
#ifndef GOVER_FLEET_CLOUD_BACKOFF_H
#define GOVER_FLEET_CLOUD_BACKOFF_H

#include <stdint.h>

struct backoff {
	int first_ms, max_ms; /* 1 <= first_ms <= max_ms */
	int failures;	      /* since the last success */
};

void backoff_succeed(struct backoff *backoff);
void backoff_fail(struct backoff *backoff);

/*
 * Returns the pause in ms: 0 without a failure, otherwise between one half of and the whole of
 * min(first_ms * 2^(failures - 1), max_ms). @random: any number, the source of the choice.
 */
int backoff_pause_ms(const struct backoff *backoff, uint32_t random);

#endif
