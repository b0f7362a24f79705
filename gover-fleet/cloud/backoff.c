/* SPDX-License-Identifier: MIT */
/* The pause is at least one half of its limit, so that a failing service has time to recover. */
#include "base/number.h"
#include "gover-fleet/cloud/backoff.h"

#define DOUBLINGS_MAX 16

void backoff_succeed(struct backoff *backoff)
{
	backoff->failures = 0;
}

void backoff_fail(struct backoff *backoff)
{
	backoff->failures = min_int(backoff->failures + 1, DOUBLINGS_MAX);
}

int backoff_pause_ms(const struct backoff *backoff, uint32_t random)
{
	int64_t limit_ms;

	if (backoff->failures == 0)
		return 0;
	limit_ms = (int64_t)backoff->first_ms << (backoff->failures - 1);
	if (limit_ms > backoff->max_ms)
		limit_ms = backoff->max_ms;
	return (int)(limit_ms - (int64_t)(random % (uint32_t)(limit_ms / 2 + 1)));
}
