/* SPDX-License-Identifier: MIT */
/*
 * An offline search for the admission times of tenants that sell the most capacity. A function of
 * the caller evaluates each schedule. The resulting schedule is one that the function evaluated as
 * good, and depends only on the terms.
 */
#ifndef SIM_EXPERIMENT_SEARCH_H
#define SIM_EXPERIMENT_SEARCH_H

#include <stdint.h>

#include "base/err.h"
#include "sim/experiment/experiment.h"

struct search_schedule {
	int n;				     /* maximum number of admissions */
	double from_s[EXPERIMENT_VGPUS_MAX]; /* earliest time of each admission */
	/* results of an evaluation */
	int n_came;
	double came_s[EXPERIMENT_VGPUS_MAX];
	double sold_pct_s;
};

struct search_terms {
	double last_s;	 /* latest time of an admission */
	double stride_s; /* step between times */
	uint64_t seed;
	void *userdata;
	/* Evaluates a schedule and sets its result. Returns 1 (good), 0 (too much broken time) or a
	 * negative errno. */
	int (*evaluate)(void *userdata, struct search_schedule *schedule, struct err *reterr);
};

/*
 * @schedule: on entry a first schedule to evaluate in addition to the empty schedule; on return the
 * best schedule. -ENOMEM, or an error of evaluate().
 */
int search_best(const struct search_terms *terms, struct search_schedule *schedule,
		struct err *reterr);

#endif
