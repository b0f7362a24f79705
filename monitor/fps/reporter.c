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

struct fps_teller {
	struct fps_teller *next; /* spoke before this one */
	const void *via;	 /* NULL: it is not connected */
	struct fps_message last;
	uint64_t at_ns; /* when that came */
	bool rated;	/* there is a rate */
	double fps;	/* since the message below, when it was taken */
	uint64_t from_sent_ns, from_frames;
	uint64_t room_ns; /* for messages, each takes a second's share of it */
	uint64_t asked_ns;
};

static struct fps_teller **find(struct fps_tellers *all, uint64_t program)
{
	struct fps_teller **at = &all->first;

	while (*at && (*at)->last.program != program)
		at = &(*at)->next;
	return at;
}

static void drop(struct fps_tellers *all, struct fps_teller **at)
{
	struct fps_teller *teller = *at;

	*at = teller->next;
	all->n--;
	free(teller);
}

static bool is_silent(const struct fps_teller *teller, uint64_t now_ns)
{
	return now_ns > teller->at_ns + HOLD_NS;
}

/* Makes room by forgetting the one that has been silent longest, if any may be forgotten. */
static bool make_room(struct fps_tellers *all, uint64_t now_ns)
{
	struct fps_teller **victim = NULL;

	if (all->n < FPS_TELLERS_MAX)
		return true;
	for (struct fps_teller **at = &all->first; *at; at = &(*at)->next)
		if (!(*at)->via || (all->fleeting && is_silent(*at, now_ns)))
			victim = at;
	if (!victim)
		return false;
	drop(all, victim);
	return true;
}

static struct fps_teller *add(struct fps_tellers *all, uint64_t program, uint64_t now_ns)
{
	struct fps_teller *teller;

	if (!make_room(all, now_ns))
		return NULL;
	teller = calloc(1, sizeof(*teller));
	if (!teller)
		return NULL;
	teller->last.program = program;
	teller->room_ns = AT_ONCE * (NS_PER_S / A_SECOND);
	teller->asked_ns = now_ns;
	teller->next = all->first;
	all->first = teller;
	all->n++;
	return teller;
}

/* A bucket of seconds: each message takes a part of one out of it. */
static bool may_speak(struct fps_teller *teller, uint64_t now_ns)
{
	teller->room_ns += now_ns - teller->asked_ns;
	teller->asked_ns = now_ns;
	if (teller->room_ns > AT_ONCE * (NS_PER_S / A_SECOND))
		teller->room_ns = AT_ONCE * (NS_PER_S / A_SECOND);
	if (teller->room_ns < NS_PER_S / A_SECOND)
		return false;
	teller->room_ns -= NS_PER_S / A_SECOND;
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
	totals->told_frames += after->frames - before->frames;
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

static void rate_from(struct fps_teller *teller, const struct fps_message *message)
{
	teller->from_sent_ns = message->sent_ns;
	teller->from_frames = message->frames;
}

static bool go_on(struct fps_teller *teller, const struct fps_message *message, uint64_t now_ns,
		  struct fps_totals *totals)
{
	uint64_t took_ns = message->sent_ns - teller->from_sent_ns;

	if (!fps_message_follows(&teller->last, message, now_ns - teller->at_ns))
		return false;
	count(&teller->last, message, now_ns - teller->at_ns, now_ns, totals);
	if (took_ns < RATE_NS)
		return true;
	teller->rated = true;
	teller->fps = (double)(message->frames - teller->from_frames) * 1e9 / (double)took_ns;
	rate_from(teller, message);
	return true;
}

bool fps_tellers_take(struct fps_tellers *all, const void *via, const struct fps_message *message,
		      uint64_t tick_ns, uint64_t now_ns, struct fps_totals *totals)
{
	struct fps_teller **at = find(all, message->program), *teller = *at;
	bool fresh = !teller, believed;

	if (fresh) {
		teller = add(all, message->program, now_ns);
		if (!teller)
			return false;
	} else {
		*at = teller->next; /* to the front */
		teller->next = all->first;
		all->first = teller;
	}
	if (!may_speak(teller, now_ns) || (!fresh && message->sequence <= teller->last.sequence))
		return false;
	believed = fresh ? begin(message, tick_ns, now_ns, totals)
			 : go_on(teller, message, now_ns, totals);
	if (!believed)
		teller->rated = false;
	if (fresh || !believed)
		rate_from(teller, message);
	if (!all->fleeting)
		fps_tellers_leave(all, via); /* a connection has one program */
	teller->last = *message;
	teller->at_ns = now_ns;
	teller->via = message->flags & FPS_MESSAGE_LAST ? NULL : via;
	return believed;
}

void fps_tellers_leave(struct fps_tellers *all, const void *via)
{
	for (struct fps_teller *t = all->first; t; t = t->next)
		if (t->via == via)
			t->via = NULL;
}

int fps_tellers_sum(struct fps_tellers *all, uint64_t now_ns, struct fps_totals *totals)
{
	int telling = 0;

	for (struct fps_teller **at = &all->first; *at;) {
		struct fps_teller *t = *at;
		bool silent = is_silent(t, now_ns);

		if ((!t->via || all->fleeting) && now_ns > t->at_ns + FORGET_NS) {
			drop(all, at);
			continue;
		}
		at = &t->next;
		if (!t->via || (all->fleeting && silent))
			continue;
		telling++;
		if (!t->rated)
			continue;
		totals->telling++;
		if (!silent)
			totals->told_fps += t->fps;
	}
	return telling;
}

void fps_tellers_free(struct fps_tellers *all)
{
	while (all->first)
		drop(all, &all->first);
}
