/* SPDX-License-Identifier: MIT */
/*
 * Sums the reports of the programs in a virtual machine. No frame counts twice, and the number of
 * reporters is limited. The sender is untrusted: a number from a message is never used as a size or
 * an index.
 *
 * A program sends a message per second by its own clock. Between two ticks there may therefore be
 * no message or two messages of a program. The FPS of a program are the rate between its last two
 * messages, by the clock of the guest.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "monitor/fps/reporter.h"

#define WORDS (FPS_MESSAGE_BYTES / sizeof(uint64_t))

/* Returns true if the bytes received so far are the start of a message. */
static bool may_be_message(const uint8_t *bytes, size_t n)
{
	uint64_t magic = htole64(FPS_MESSAGE_MAGIC);

	return memcmp(bytes, &magic, n < sizeof(magic) ? n : sizeof(magic)) == 0;
}

/*
 * Skips bytes until the remaining bytes may be the start of a message. Returns the number of
 * skipped bytes.
 */
static size_t resync(struct fps_stream *s)
{
	size_t skip = 1;

	while (skip < s->n && !may_be_message(s->bytes + skip, s->n - skip))
		skip++;
	s->n -= skip;
	memmove(s->bytes, s->bytes + skip, s->n);
	return skip;
}

static void decode(const uint8_t bytes[FPS_MESSAGE_BYTES], struct fps_message *ret_message)
{
	uint64_t words[WORDS];

	memcpy(words, bytes, sizeof(words));
	for (size_t i = 0; i < WORDS; i++)
		words[i] = le64toh(words[i]);
	memcpy(ret_message, words, sizeof(*ret_message));
}

size_t fps_stream_feed(struct fps_stream *s, const void *bytes, size_t size, fps_message_fn take,
		       void *userdata)
{
	const uint8_t *at = bytes;
	struct fps_message message;
	size_t skipped = 0;

	while (size > 0) {
		size_t n = sizeof(s->bytes) - s->n;

		if (n > size)
			n = size;
		memcpy(s->bytes + s->n, at, n);
		s->n += n;
		at += n;
		size -= n;
		while (s->n > 0 && !may_be_message(s->bytes, s->n))
			skipped += resync(s);
		if (s->n < sizeof(s->bytes))
			continue;
		decode(s->bytes, &message);
		if (message.version == FPS_MESSAGE_VERSION && message.end == FPS_MESSAGE_END) {
			s->n = 0;
			take(userdata, &message);
		} else {
			skipped += resync(s);
		}
	}
	return skipped;
}

/*
 * gpu_frames may exceed frames by up to this number, because the library reads the counters of the
 * threads one after the other while the threads present frames.
 */
#define GPU_FRAMES_AHEAD 1024

/* Returns true if the numbers of a program's first message are consistent. */
static bool fps_message_possible(const struct fps_message *m)
{
	return m->flags <= FPS_MESSAGE_LAST && m->first_ns <= m->newest_ns &&
	       m->newest_ns <= m->sent_ns && m->frames <= UINT64_MAX - GPU_FRAMES_AHEAD &&
	       m->gpu_frames <= m->frames + GPU_FRAMES_AHEAD;
}

static uint64_t most_frames(uint64_t ns)
{
	return FPS_PLAUSIBLE + FPS_PLAUSIBLE * (ns / NS_PER_S);
}

/*
 * Returns true if a program that has sent @before can plausibly send @after @elapsed_ns later. The
 * caller checks the sequence number.
 */
static bool fps_message_follows(const struct fps_message *before, const struct fps_message *after,
				uint64_t elapsed_ns)
{
	uint64_t frames = after->frames - before->frames;
	uint64_t most = most_frames(elapsed_ns), timed = 0;
	bool forward = fps_message_possible(after) && after->first_ns == before->first_ns &&
		       after->sent_ns >= before->sent_ns && after->newest_ns >= before->newest_ns &&
		       after->frames >= before->frames && after->gpu_frames >= before->gpu_frames &&
		       after->gpu_time_ns >= before->gpu_time_ns &&
		       after->longest_gap_ns >= before->longest_gap_ns;

	if (!forward || frames > most || frames > most_frames(after->sent_ns - before->sent_ns))
		return false;
	for (int b = 0; b < FPS_WIRE_BUCKETS; b++) {
		uint64_t more = after->frame_time[b] - before->frame_time[b];

		if (after->frame_time[b] < before->frame_time[b] || more > most)
			return false;
		timed += more;
	}
	return timed <= most;
}

void fps_limit_encode(uint64_t period_ns, uint8_t ret_bytes[FPS_LIMIT_BYTES])
{
	const struct fps_limit_message answer = {
		.magic = htole64(FPS_LIMIT_MAGIC),
		.version = htole64(FPS_LIMIT_VERSION),
		.period_ns = htole64(period_ns),
		.end = htole64(FPS_LIMIT_END),
	};

	memcpy(ret_bytes, &answer, sizeof(answer));
}

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
