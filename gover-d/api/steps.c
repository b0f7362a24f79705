/* SPDX-License-Identifier: MIT */
/* Reads the range and the length of the steps of a request for a history. */
#include <errno.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "gover-d/api/fetch.h"
#include "gover-d/api/problem.h"
#include "gover-d/api/steps.h"

#define RANGE_DEFAULT_MS (3600 * 1000)
#define POINTS_DEFAULT	 600

static int64_t count_points(const struct api_steps *steps)
{
	int64_t step_ms = steps->step_s * 1000;

	return (steps->to_ms - steps->from_ms + step_ms - 1) / step_ms;
}

/* Selects the smallest step that gives at most POINTS_DEFAULT points. */
static void choose_step(struct api_steps *steps)
{
	static const int64_t steps_s[] = {1,	2,    5,     10,    15,	   30,
					  60,	120,  300,   600,   900,   1800,
					  3600, 7200, 14400, 21600, 43200, API_STEPS_MAX_S};

	for (size_t i = 0; i < ARRAY_SIZE(steps_s); i++) {
		steps->step_s = steps_s[i];
		if (count_points(steps) <= POINTS_DEFAULT)
			return;
	}
}

int api_steps_read(struct api_request *request, struct api_steps *ret_steps)
{
	struct api_steps steps;

	if (api_fetch_range(request, RANGE_DEFAULT_MS, &steps.from_ms, &steps.to_ms) < 0)
		return -EINVAL;
	choose_step(&steps);
	if (api_query_whole(request, "step", 1, API_STEPS_MAX_S, &steps.step_s) < 0)
		return -EINVAL;
	if (count_points(&steps) > API_STEPS_MAX) {
		problem_reply(request, 400, "step: %lld s gives %lld points (allowed: at most %d)",
			      (long long)steps.step_s, (long long)count_points(&steps),
			      API_STEPS_MAX);
		return -EINVAL;
	}
	*ret_steps = steps;
	return 0;
}
