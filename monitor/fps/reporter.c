/* SPDX-License-Identifier: MIT */
/*
 * What the programs of a virtual machine tell, added up. Must never let one of them count twice, go
 * back, or make the daemon keep more than a fixed number of them.
 *
 * Messages come once a second and ticks go by another clock, so a tick may see none or two: frames
 * a second are those between two messages, by the guest's own clock, and hold until the next one.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "monitor/fps/page.h"
#include "monitor/fps/reporter.h"

#define A_SECOND 4 /* messages of one program that are looked at */
#define AT_ONCE	 8 /* after a silence */

#define HOLD_NS	  (5 * NS_PER_S / 2) /* a rate stands for so long */
#define RATE_NS	  (NS_PER_S / 4)     /* less says little */
#define FORGET_NS (60 * NS_PER_S)    /* who has no connection may come back until then */
#define YOUNG_NS  (2 * NS_PER_S)     /* who is no older counts from its first frame */

struct fps_reporter {
	struct fps_reporter *next; /* spoke before this one */
	const void *via;	   /* NULL: it is not connected */
	struct fps_message last;
	uint64_t at_ns; /* when that came */
	bool rated;	/* there is a rate */
	double fps;	/* since the message below, when it was taken */
	uint64_t from_sent_ns, from_frames;
	uint64_t room_ns; /* for messages, each takes a second's share of it */
	uint64_t asked_ns;
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

/* Makes room by forgetting the one that has been silent longest, if any may be forgotten. */
static bool make_room(struct fps_reporters *all, uint64_t now_ns)
{
	struct fps_reporter **victim = NULL;

	if (all->n < FPS_REPORTERS_MAX)
		return true;
	for (struct fps_reporter **at = &all->first; *at; at = &(*at)->next)
		if (!(*at)->via || (all->fleeting && is_silent(*at, now_ns)))
			victim = at;
	if (!victim)
		return false;
	drop(all, victim);
	return true;
}

static struct fps_reporter *add(struct fps_reporters *all, uint64_t program, uint64_t now_ns)
{
	struct fps_reporter *reporter;

	if (!make_room(all, now_ns))
		return NULL;
	reporter = calloc(1, sizeof(*reporter));
	if (!reporter)
		return NULL;
	reporter->last.program = program;
	reporter->room_ns = AT_ONCE * (NS_PER_S / A_SECOND);
	reporter->asked_ns = now_ns;
	reporter->next = all->first;
	all->first = reporter;
	all->n++;
	return reporter;
}

/* A bucket of seconds: each message takes a part of one out of it. */
static bool may_speak(struct fps_reporter *reporter, uint64_t now_ns)
{
	reporter->room_ns += now_ns - reporter->asked_ns;
	reporter->asked_ns = now_ns;
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
	/* It may have begun before the last message, not before there was a clock. */
	if (after->longest_gap_ns > before->longest_gap_ns && after->longest_gap_ns <= now_ns &&
	    after->longest_gap_ns > totals->longest_gap_ns)
		totals->longest_gap_ns = after->longest_gap_ns;
	totals->frames += after->frames - before->frames;
	totals->reported_frames += after->frames - before->frames;
	if (after->frames > before->frames && newest_ns > totals->newest_ns)
		totals->newest_ns = newest_ns;
}

/* A program's first message: all it has drawn, or from now on where it is older than we are. */
static bool begin(const struct fps_message *message, uint64_t tick_ns, uint64_t now_ns,
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

static bool go_on(struct fps_reporter *reporter, const struct fps_message *message, uint64_t now_ns,
		  struct fps_totals *totals)
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
		*at = reporter->next; /* to the front */
		reporter->next = all->first;
		all->first = reporter;
	}
	if (!may_speak(reporter, now_ns) ||
	    (!fresh && message->sequence <= reporter->last.sequence))
		return false;
	believed = fresh ? begin(message, tick_ns, now_ns, totals)
			 : go_on(reporter, message, now_ns, totals);
	if (!believed)
		reporter->rated = false;
	if (fresh || !believed)
		rate_from(reporter, message);
	if (!all->fleeting)
		fps_reporters_disconnect(all, via); /* a connection has one program */
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
	int reporting = 0;

	for (struct fps_reporter **at = &all->first; *at;) {
		struct fps_reporter *t = *at;
		bool silent = is_silent(t, now_ns);

		if ((!t->via || all->fleeting) && now_ns > t->at_ns + FORGET_NS) {
			drop(all, at);
			continue;
		}
		at = &t->next;
		if (!t->via || (all->fleeting && silent))
			continue;
		reporting++;
		if (!t->rated)
			continue;
		totals->reporting++;
		if (!silent)
			totals->reported_fps += t->fps;
	}
	return reporting;
}

void fps_reporters_free(struct fps_reporters *all)
{
	while (all->first)
		drop(all, &all->first);
}
