/* SPDX-License-Identifier: MIT */
/*
 * A search, with hindsight, for the times at which to let in one after the other so that most is
 * sold. What a choice comes to is found out by trying it; the same terms give the same result.
 * Knows nothing of what is tried. Must never return what was not tried and found good.
 */
#ifndef SIM_EXPERIMENT_SEARCH_H
#define SIM_EXPERIMENT_SEARCH_H

#include <stdint.h>

#include "base/err.h"
#include "sim/experiment/experiment.h"

struct search_schedule {
	int n;				     /* so many are let in at most */
	double from_s[EXPERIMENT_VGPUS_MAX]; /* each from then on */
	/* what a try found */
	int n_came;
	double came_s[EXPERIMENT_VGPUS_MAX];
	double sold_pct_s;
};

struct search_terms {
	double last_s;	 /* nobody is let in later */
	double stride_s; /* how finely times are tried */
	uint64_t seed;
	void *userdata;
	/* Plays it and fills in what it found. 1: good, 0: it breaks too much, or a negative errno.
	 */
	int (*attempt)(void *userdata, struct search_schedule *schedule, struct err *reterr);
};

/*
 * @schedule: one to begin with beside letting nobody in; replaced by the best found. -ENOMEM, or
 * what attempt() failed with.
 */
int search_best(const struct search_terms *terms, struct search_schedule *schedule,
		struct err *reterr);

#endif
