/* SPDX-License-Identifier: MIT */
/*
 * An offline search for the times at which tenants must be admitted to sell the most capacity. A
 * function of the caller evaluates each schedule. The result is a schedule that this function
 * evaluated as good. The result depends only on struct search_terms and the first schedule.
 */
#ifndef SIM_EXPERIMENT_SEARCH_H
#define SIM_EXPERIMENT_SEARCH_H

#include <stdint.h>

#include "base/err.h"
#include "sim/experiment/experiment.h"

struct search_schedule {
	int n;				     /* maximum number of admissions */
	double from_s[EXPERIMENT_VGPUS_MAX]; /* earliest time of each admission */
	/* results of the evaluation */
	int n_came;
	double came_s[EXPERIMENT_VGPUS_MAX];
	double sold_pct_s;
};

struct search_terms {
	double last_s;	 /* latest allowed time of an admission */
	double stride_s; /* distance between the times that the search tries */
	uint64_t seed;
	void *userdata;
	/* Evaluates @schedule and sets its result fields. Returns 1 (good), 0 (too much broken
	 * time) or a negative errno. */
	int (*evaluate)(void *userdata, struct search_schedule *schedule, struct err *reterr);
};

/*
 * Searches for the best schedule. @schedule: on entry, a first schedule, which is evaluated in
 * addition to the empty schedule; on return, the best schedule. An error of evaluate().
 */
int search_best(const struct search_terms *terms, struct search_schedule *schedule,
		struct err *reterr);

#endif
