/* SPDX-License-Identifier: MIT */
/*
 * The programs of one virtual machine, as their messages tell. Pure: time is handed in. A program
 * is known by the number it gives itself, so that its counts go on where it lost a connection and
 * found another; whatever it says counts for its own virtual machine alone.
 */
#ifndef MONITOR_FPS_REPORTER_H
#define MONITOR_FPS_REPORTER_H

#include "monitor/fps/message.h"
#include "monitor/fps/fps.h"

#define FPS_REPORTERS_MAX 32 /* of one virtual machine */

struct fps_reporter;

/* All zero at first. */
struct fps_reporters {
	struct fps_reporter *first; /* the one that spoke last */
	int n;
	bool fleeting; /* nobody says when one has ended: who is silent is gone */
};

/*
 * Adds what a message that came @via (a connection) says to @totals. Returns false where it was
 * dropped: too many a second, out of sequence, not to be believed, or one program too many.
 * @tick_ns is when the daemon last counted: who is older counts from now on.
 */
bool fps_reporters_count_message(struct fps_reporters *all, const void *via,
				 const struct fps_message *message, uint64_t tick_ns,
				 uint64_t now_ns, struct fps_totals *totals);

/* The connection has ended, and with it its program. */
void fps_reporters_disconnect(struct fps_reporters *all, const void *via);

/* Once a tick: adds the rates of those that tell now to @totals, and forgets those long silent.
 * Returns how many tell. */
int fps_reporters_sum_rates(struct fps_reporters *all, uint64_t now_ns, struct fps_totals *totals);

void fps_reporters_free(struct fps_reporters *all);

#endif
