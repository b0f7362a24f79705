/* SPDX-License-Identifier: MIT */
/*
 * A window is a ring of slots with the bad seconds of each slot. A share refers to the whole
 * window, also before the window was seen completely: a new vGPU raises no alarm after a second.
 */
#include <math.h>

#include "policy/promise/burn.h"

#define RING (PROMISE_SLOTS + 1)
/* The newest part of the slow window that must be bad too. */
#define CONFIRM_SLOTS (PROMISE_SLOTS / 12)
/* The newest part of the slow window that ends the slow alarm. */
#define QUIET_SLOTS (PROMISE_SLOTS / 6)
/* An alarm ends below this fraction of the share that raised it. */
#define CLEAR_SHARE 0.5

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
		window->at = (window->at + 1) % RING;
		window->bad_s[window->at] = 0;
	}
}

double burn_share_pct(const struct promise_window *window, int slots)
{
	/* The present slot is not complete: it counts in addition to the complete ones. */
	double bad_s = 0, length_s = slots * window->slot_s;

	for (int ago = 0; ago <= slots; ago++)
		bad_s += window->bad_s[(window->at - ago + RING) % RING];
	return length_s > 0 ? fmin(100, 100 * bad_s / length_s) : 0;
}

/* An active alarm ends at a lower share than the one that raises it. */
static bool exceeds(bool burns, double share_pct, double limit_pct)
{
	return share_pct >= (burns ? CLEAR_SHARE * limit_pct : limit_pct) - 1e-9;
}

/*
 * The share of the whole window and that of its newest part raise the alarm. A larger newest part
 * ends it, so that breaks that follow each other within minutes are one alarm.
 */
static bool slow_burns(const struct promise_burn *burn, const struct promise_limits *limits)
{
	const struct promise_window *slow = &burn->slow;

	if (burn->slow_burns)
		return exceeds(true, burn_share_pct(slow, QUIET_SLOTS), limits->slow_pct);
	return exceeds(false, burn_share_pct(slow, CONFIRM_SLOTS), limits->slow_pct) &&
	       exceeds(false, burn_share_pct(slow, PROMISE_SLOTS), limits->slow_pct);
}

void burn_add(struct promise_burn *burn, const struct promise_limits *limits, double dt_s,
	      double bad_s)
{
	add(&burn->fast, limits->fast_window_s, dt_s, bad_s);
	add(&burn->slow, limits->slow_window_s, dt_s, bad_s);
	burn->fast_burns = exceeds(burn->fast_burns, burn_share_pct(&burn->fast, PROMISE_SLOTS),
				   limits->fast_pct);
	burn->slow_burns = slow_burns(burn, limits);
}

static void fill(struct promise_window *window, double window_s, double bad_s)
{
	clear_window(window, window_s);
	for (int i = 0; i < RING; i++)
		window->bad_s[i] = i == window->at ? 0 : bad_s / PROMISE_SLOTS;
}

void burn_fill_slow(struct promise_burn *burn, const struct promise_limits *limits, double bad_s,
		    bool burns)
{
	fill(&burn->slow, limits->slow_window_s, fmin(fmax(bad_s, 0), limits->slow_window_s));
	burn->slow_burns = burns;
}

void burn_fill_fast(struct promise_burn *burn, const struct promise_limits *limits)
{
	fill(&burn->fast, limits->fast_window_s, limits->fast_window_s);
	burn->fast_burns = true;
}
