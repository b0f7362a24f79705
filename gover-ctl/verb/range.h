/* SPDX-License-Identifier: MIT */
/* --from and --to of the verbs that look back. */
#ifndef GOVER_CTL_VERB_RANGE_H
#define GOVER_CTL_VERB_RANGE_H

#include "base/clock.h"
#include "gover-ctl/ctl.h"

/* As REST takes them. */
struct range {
	char from[CLOCK_TEXT_MAX], to[CLOCK_TEXT_MAX];
};

/* Until now, and from @span_s before that, unless told. CTL_USAGE after saying what is wrong. */
enum ctl_exit range_take(const struct args *args, const char *verb, int64_t span_s,
			 struct range *ret_range);

#endif
