/* SPDX-License-Identifier: MIT */
/*
 * Sums the reports of the programs in a virtual machine. No frame counts twice, and the number of
 * reporters is limited.
 *
 * A program sends a message per second by its own clock. Between two ticks there may therefore be
 * no message or two messages of a program. The FPS of a program are the rate between its last two
 * messages, by the clock of the guest.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "monitor/fps/page.h"
#include "monitor/fps/reporter.h"

#define A_SECOND 4 /* messages accepted from one program per second */
#define AT_ONCE	 8 /* messages accepted at once after a pause */

#define HOLD_NS	  (5 * NS_PER_S / 2) /* a rate is valid for this time after the last message */
#define RATE_NS	  (NS_PER_S / 4)     /* minimum time between the two messages that give a rate */
#define FORGET_NS (60 * NS_PER_S)    /* a reporter without a connection is freed after this time */
/*
 * All frames of a new program are counted if its first frame is older than the last tick by at most
 * this time.
 */
#define YOUNG_NS (2 * NS_PER_S)

struct fps_reporter {
	struct fps_reporter *next; /* the reporters are sorted by the time of their last message */
	const void *via;	   /* connection that delivered @last; NULL: already closed */
	struct fps_message last;
	uint64_t at_ns;	       /* time of @last */
	bool rated;	       /* @fps is valid */
	double fps;	       /* frames per second between two messages */
	uint64_t from_sent_ns; /* sent_ns of the message from which the next rate is computed */
	uint64_t from_frames;  /* frames of the message from which the next rate is computed */
	uint64_t room_ns;      /* rate limit: each message takes NS_PER_S / A_SECOND of this */
	uint64_t filled_ns;
};

static struct fps_reporter **find(struct fps_reporters *all, uint64_t program)
{
	struct fps_reporter **at = &all->first;

	while (*at && (*at)->last.program != program)
		at = &(*at)->next;
	return at;
}

static void drop(struct fps_reporters *all, struct fps_reporter **at)
{
	struct fps_reporter *reporter = *at;

	*at = reporter->next;
	all->n--;
	free(reporter);
}

static bool is_silent(const struct fps_reporter *reporter, uint64_t now_ns)
{
	return now_ns > reporter->at_ns + HOLD_NS;
}

/*
 * Returns true if there is room for a new reporter. If the list is full, frees the reporter with
 * the oldest message among those that have no connection or, on a virtio-serial port, are silent.
 */
static bool make_room(struct fps_reporters *all, uint64_t now_ns)
{
	struct fps_reporter **oldest = NULL;

	if (all->n < FPS_REPORTERS_MAX)
		return true;
	for (struct fps_reporter **at = &all->first; *at; at = &(*at)->next)
		if (!(*at)->via || (all->connectionless && is_silent(*at, now_ns)))
			oldest = at;
	if (!oldest)
		return false;
	drop(all, oldest);
	return true;
}

static struct fps_reporter *add(struct fps_reporters *all, uint64_t program, uint64_t now_ns)
{
	struct fps_reporter *reporter;

	if (!make_room(all, now_ns))
		return NULL;
	reporter = xcalloc(1, sizeof(*reporter));
	reporter->last.program = program;
	reporter->room_ns = AT_ONCE * (NS_PER_S / A_SECOND);
	reporter->filled_ns = now_ns;
	reporter->next = all->first;
	all->first = reporter;
	all->n++;
	return reporter;
}

/* Limits the rate of messages with a token bucket. */
static bool accept_message(struct fps_reporter *reporter, uint64_t now_ns)
{
	reporter->room_ns += now_ns - reporter->filled_ns;
	reporter->filled_ns = now_ns;
	if (reporter->room_ns > AT_ONCE * (NS_PER_S / A_SECOND))
		reporter->room_ns = AT_ONCE * (NS_PER_S / A_SECOND);
	if (reporter->room_ns < NS_PER_S / A_SECOND)
		return false;
	reporter->room_ns -= NS_PER_S / A_SECOND;
	return true;
}

static void count(const struct fps_message *before, const struct fps_message *after,
		  uint64_t elapsed_ns, uint64_t now_ns, struct fps_totals *totals)
{
	uint64_t age_ns = after->sent_ns - after->newest_ns;
	uint64_t newest_ns = age_ns < now_ns ? now_ns - age_ns : 0;

	for (int b = 0; b < FPS_WIRE_BUCKETS; b++)
		totals->frame_time[b] += after->frame_time[b] - before->frame_time[b];
	fps_gpu_time_add(totals, after->frames - before->frames,
			 after->gpu_frames - before->gpu_frames,
			 after->gpu_time_ns - before->gpu_time_ns, elapsed_ns);
	/*
	 * A gap may be longer than @elapsed_ns, because it may have started before the last
	 * message. A gap longer than the uptime of the host is implausible.
	 */
	if (after->longest_gap_ns > before->longest_gap_ns && after->longest_gap_ns <= now_ns &&
	    after->longest_gap_ns > totals->longest_gap_ns)
		totals->longest_gap_ns = after->longest_gap_ns;
	totals->frames += after->frames - before->frames;
	totals->reported_frames += after->frames - before->frames;
	if (after->frames > before->frames && newest_ns > totals->newest_ns)
		totals->newest_ns = newest_ns;
}

/*
 * Handles the first message of a program. Counts all frames of a new program, and no frames of a
 * program that started long before the last tick.
 */
static bool count_first(const struct fps_message *message, uint64_t tick_ns, uint64_t now_ns,
			struct fps_totals *totals)
{
	struct fps_message none = {
		.first_ns = message->first_ns,
		.sent_ns = message->first_ns,
		.newest_ns = message->first_ns,
	};
	uint64_t age_ns = message->sent_ns - message->first_ns;

	if (!fps_message_possible(message))
		return false;
	if (age_ns > now_ns - tick_ns + YOUNG_NS)
		return true;
	if (!fps_message_follows(&none, message, age_ns))
		return false;
	count(&none, message, age_ns, now_ns, totals);
	return true;
}

static void rate_from(struct fps_reporter *reporter, const struct fps_message *message)
{
	reporter->from_sent_ns = message->sent_ns;
	reporter->from_frames = message->frames;
}

static bool count_next(struct fps_reporter *reporter, const struct fps_message *message,
		       uint64_t now_ns, struct fps_totals *totals)
{
	uint64_t took_ns = message->sent_ns - reporter->from_sent_ns;

	if (!fps_message_follows(&reporter->last, message, now_ns - reporter->at_ns))
		return false;
	count(&reporter->last, message, now_ns - reporter->at_ns, now_ns, totals);
	if (took_ns < RATE_NS)
		return true;
	reporter->rated = true;
	reporter->fps = (double)(message->frames - reporter->from_frames) * 1e9 / (double)took_ns;
	rate_from(reporter, message);
	return true;
}

bool fps_reporters_count_message(struct fps_reporters *all, const void *via,
				 const struct fps_message *message, uint64_t tick_ns,
				 uint64_t now_ns, struct fps_totals *totals)
{
	struct fps_reporter **at = find(all, message->program), *reporter = *at;
	bool fresh = !reporter, believed;

	if (fresh) {
		reporter = add(all, message->program, now_ns);
		if (!reporter)
			return false;
	} else {
		*at = reporter->next; /* keep the newest reporter first */
		reporter->next = all->first;
		all->first = reporter;
	}
	if (!accept_message(reporter, now_ns) ||
	    (!fresh && message->sequence <= reporter->last.sequence))
		return false;
	believed = fresh ? count_first(message, tick_ns, now_ns, totals)
			 : count_next(reporter, message, now_ns, totals);
	if (!believed)
		reporter->rated = false;
	if (fresh || !believed)
		rate_from(reporter, message);
	/* A vsock connection belongs to one program at a time. */
	if (!all->connectionless)
		fps_reporters_disconnect(all, via);
	reporter->last = *message;
	reporter->at_ns = now_ns;
	reporter->via = message->flags & FPS_MESSAGE_LAST ? NULL : via;
	return believed;
}

void fps_reporters_disconnect(struct fps_reporters *all, const void *via)
{
	for (struct fps_reporter *t = all->first; t; t = t->next)
		if (t->via == via)
			t->via = NULL;
}

int fps_reporters_sum_rates(struct fps_reporters *all, uint64_t now_ns, struct fps_totals *totals)
{
	int active = 0;

	for (struct fps_reporter **at = &all->first; *at;) {
		struct fps_reporter *t = *at;
		bool silent = is_silent(t, now_ns);

		if ((!t->via || all->connectionless) && now_ns > t->at_ns + FORGET_NS) {
			drop(all, at);
			continue;
		}
		at = &t->next;
		if (!t->via || (all->connectionless && silent))
			continue;
		active++;
		if (!t->rated)
			continue;
		totals->reporting++;
		if (!silent)
			totals->reported_fps += t->fps;
	}
	return active;
}

void fps_reporters_free(struct fps_reporters *all)
{
	while (all->first)
		drop(all, &all->first);
}
