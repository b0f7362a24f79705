/* SPDX-License-Identifier: MIT */
/* Delays between attempts to open a source that has failed: 1 s, then doubled up to 60 s. */
#ifndef BASE_BACKOFF_H
#define BASE_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#define BACKOFF_MIN_NS NS_PER_S
#define BACKOFF_MAX_NS (60 * NS_PER_S)

/* Zero-initialised: the first attempt is due at once. */
struct backoff {
	uint64_t next_ns;  /* time of the next attempt */
	uint64_t delay_ns; /* time between the last two attempts; 0: no attempt has failed */
};

static inline bool backoff_is_due(const struct backoff *backoff, uint64_t now_ns)
{
	return now_ns >= backoff->next_ns;
}

/* Plans the next attempt after a failed one. */
static inline void backoff_fail(struct backoff *backoff, uint64_t now_ns)
{
	uint64_t delay_ns = 2 * backoff->delay_ns;

	if (delay_ns < BACKOFF_MIN_NS)
		delay_ns = BACKOFF_MIN_NS;
	if (delay_ns > BACKOFF_MAX_NS)
		delay_ns = BACKOFF_MAX_NS;
	*backoff = (struct backoff){.next_ns = now_ns + delay_ns, .delay_ns = delay_ns};
}

static inline void backoff_reset(struct backoff *backoff)
{
	*backoff = (struct backoff){.next_ns = 0};
}

/* Returns the seconds until the next attempt; 0: it is due. */
static inline double backoff_left_s(const struct backoff *backoff, uint64_t now_ns)
{
	return backoff_is_due(backoff, now_ns) ? 0 : (double)(backoff->next_ns - now_ns) / NS_PER_S;
}

#endif
