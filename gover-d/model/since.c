/* SPDX-License-Identifier: MIT */
/* Computes the begin and the age of a freeze or a hold. */
#include "gover-d/model/since.h"

/* A smaller step is no change of the clock by hand; leap seconds are smaller. */
#define STEP_MS 10000

static int64_t passed_ms(const struct since *since, struct instant now)
{
	return (int64_t)(now.boot_ns - since->known.boot_ns) / (int64_t)NS_PER_MS;
}

void since_update(struct since *since, bool holds, struct instant now)
{
	if (!holds)
		*since = (struct since){.at_ms = 0};
	else if (since->at_ms == 0)
		*since = (struct since){.at_ms = now.wall_ms, .known = now};
}

bool since_resume(struct since *since, bool holds, struct instant now)
{
	bool unknown = holds && since->at_ms == 0;

	since_update(since, holds, now);
	since->known = now;
	return unknown;
}

bool since_follow(struct since *since, struct instant now)
{
	int64_t step_ms = now.wall_ms - since->known.wall_ms - passed_ms(since, now);
	bool moves = since->at_ms <= since->known.wall_ms;

	if (since->at_ms == 0 || (step_ms < STEP_MS && step_ms > -STEP_MS))
		return false;
	/* A begin in the future is right if the host has booted with a clock that was behind. */
	if (moves)
		since->at_ms += step_ms;
	if (since->at_ms < 1)
		since->at_ms = 1; /* see struct instant */
	since->known.wall_ms += step_ms;
	return moves;
}

int64_t since_age_ms(const struct since *since, struct instant now)
{
	int64_t before_ms = since->known.wall_ms - since->at_ms;

	if (since->at_ms == 0)
		return 0;
	return (before_ms > 0 ? before_ms : 0) + passed_ms(since, now);
}
