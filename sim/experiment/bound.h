/* SPDX-License-Identifier: MIT */
/*
 * What no policy can know, as something to measure policies by: the same experiment with hindsight.
 *
 * past-only: caps as a policy sets them from the past; but who is let in when is chosen by one who
 * has seen the whole run. oracle: caps too are set by one who knows what everybody is going to ask
 * for. Of the ways tried (search.h) they take the one that sells most while the run stays within a
 * share of broken time and, where nobody is moved away, no sale fails its probation. Offers are
 * spaced as everybody's, caps stay within the GPU, and who comes next is not theirs to choose.
 */
#ifndef SIM_EXPERIMENT_BOUND_H
#define SIM_EXPERIMENT_BOUND_H

#include "sim/experiment/experiment.h"

#define BOUND_BROKEN_PCT 1.0 /* of vGPU-seconds */

struct bound;

enum bound_kind { BOUND_PAST_ONLY, BOUND_ORACLE };

/* "past-only", "oracle". -ENOENT. */
int bound_find(const char *name, enum bound_kind *ret_kind);

/*
 * Finds out when to let whom in. @policy sets the caps of past-only; the oracle needs none.
 * @scenario must outlive it. -ENOMEM, -EINVAL.
 */
int bound_new(const struct scenario *scenario, enum bound_kind kind, const struct policy *policy,
	      uint64_t seed, struct bound **ret_bound, struct err *reterr);
struct bound *bound_free(struct bound *bound); /* NULL is fine; returns NULL */

/* An experiment that goes by it; the bound must outlive it and be used by one experiment at a time.
 * @told and
 * @userdata as in struct experiment_hooks. */
int bound_experiment(struct bound *bound,
		     void (*on_event)(void *userdata, const struct experiment_event *event),
		     void *userdata, struct experiment **ret_experiment, struct err *reterr);

#endif
