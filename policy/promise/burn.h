/* SPDX-License-Identifier: MIT */
/* Windows of bad time, and alarms with hysteresis. */
#ifndef POLICY_PROMISE_BURN_H
#define POLICY_PROMISE_BURN_H

#include "policy/promise/promise.h"

/* Adds @dt_s seconds, of which @bad_s were bad, and updates both alarms. */
void burn_add(struct promise_burn *burn, const struct promise_limits *limits, double dt_s,
	      double bad_s);

/* Returns the bad share of the newest @slots slots, in percent of the length of these slots. */
double burn_share_pct(const struct promise_window *window, int slots);

/* Spreads @bad_s bad seconds over the slow window, and sets its alarm. */
void burn_fill_slow(struct promise_burn *burn, const struct promise_limits *limits, double bad_s,
		    bool burns);

/* Makes the whole fast window bad, and sets its alarm. */
void burn_fill_fast(struct promise_burn *burn, const struct promise_limits *limits);

#endif
