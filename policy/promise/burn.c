/* SPDX-License-Identifier: MIT */
/*
 * A window is a ring of slots with the bad seconds of each slot. A share refers to the whole
 * window, also before the window was seen completely: a new vGPU raises no alarm after a second.
 */
#include <math.h>

#include "policy/promise/burn.h"

#define CONFIRM_SLOTS                                                               \
	(PROMISE_SLOTS / 12) /* newest part of the slow window that must be bad too \
			      */
#define CLEAR_SHARE 0.5	     /* an alarm ends below this fraction of the share that raised it */

static void clear_window(struct promise_window *window, double window_s)
{
	*window = (struct promise_window){.slot_s = window_s / PROMISE_SLOTS};
}

static void add(struct promise_window *window, double window_s, double dt_s, double bad_s)
{
	double bad = dt_s > 0 ? bad_s / dt_s : 0;

	if (fabs(window->slot_s * PROMISE_SLOTS - window_s) > 1e-6) /* new, or a changed key */
		clear_window(window, window_s);
	if (dt_s > 2 * window_s) /* the window contains nothing older */
		dt_s = 2 * window_s;
	while (dt_s > 0) {
		double part_s = fmin(dt_s, window->slot_s - window->in_slot_s);

		window->bad_s[window->at] += part_s * bad;
		window->in_slot_s += part_s;
		dt_s -= part_s;
		if (window->slot_s - window->in_slot_s > 1e-9)
			break;
		window->in_slot_s = 0;
		window->at = (window->at + 1) % PROMISE_SLOTS;
		window->bad_s[window->at] = 0;
	}
}

double burn_share_pct(const struct promise_window *window, int slots)
{
	/* The present slot is not complete: it counts in addition to the complete ones. */
	double bad_s = 0, length_s = slots * window->slot_s;

	for (int ago = 0; ago <= slots && ago < PROMISE_SLOTS; ago++)
		bad_s += window->bad_s[(window->at - ago + PROMISE_SLOTS) % PROMISE_SLOTS];
	return length_s > 0 ? fmin(100, 100 * bad_s / length_s) : 0;
}

/* An alarm that holds ends at a lower share than the share that raises it. */
static bool exceeds(bool burns, double share_pct, double limit_pct)
{
	return share_pct >= (burns ? CLEAR_SHARE * limit_pct : limit_pct) - 1e-9;
}

void burn_add(struct promise_burn *burn, const struct promise_limits *limits, double dt_s,
	      double bad_s)
{
	double newest_pct;

	add(&burn->fast, limits->fast_window_s, dt_s, bad_s);
	add(&burn->slow, limits->slow_window_s, dt_s, bad_s);
	newest_pct = burn_share_pct(&burn->slow, CONFIRM_SLOTS);
	burn->fast_burns = exceeds(burn->fast_burns, burn_share_pct(&burn->fast, PROMISE_SLOTS),
				   limits->fast_pct);
	burn->slow_burns =
		exceeds(burn->slow_burns, newest_pct, limits->slow_pct) &&
		(burn->slow_burns ||
		 exceeds(false, burn_share_pct(&burn->slow, PROMISE_SLOTS), limits->slow_pct));
}

void burn_fill_fast(struct promise_burn *burn, const struct promise_limits *limits)
{
	clear_window(&burn->fast, limits->fast_window_s);
	for (int i = 0; i < PROMISE_SLOTS; i++)
		burn->fast.bad_s[i] = burn->fast.slot_s;
	burn->fast.bad_s[burn->fast.at] = 0;
	burn->fast_burns = true;
}
