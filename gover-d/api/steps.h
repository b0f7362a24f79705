/* SPDX-License-Identifier: MIT */
/* The range of a request for a history, and the length of its steps. */
#ifndef GOVER_D_API_STEPS_H
#define GOVER_D_API_STEPS_H

#include <stdint.h>

#include "gover-d/api/handler.h"

#define API_STEPS_MAX	5000  /* points of an answer */
#define API_STEPS_MAX_S 86400 /* length of a step */

struct api_steps {
	int64_t from_ms, to_ms, step_s;
};

/*
 * Reads the query parameters "from", "to" and "step". By default, the range is the last hour, and
 * the step is the shortest one that gives at most 600 points. -EINVAL: a parameter is invalid; the
 * reply is set.
 */
int api_steps_read(struct api_request *request, struct api_steps *ret_steps);

#endif
