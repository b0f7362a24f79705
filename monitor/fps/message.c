/* SPDX-License-Identifier: MIT */
/*
 * Finds messages in a byte stream and checks them. The sender is untrusted: a number from a message
 * is never used as a size or an index, and no arithmetic with it may overflow.
 */
#include <endian.h>
#include <string.h>

#include "base/clock.h"
#include "monitor/fps/message.h"
#include "monitor/fps/page.h"

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

bool fps_message_possible(const struct fps_message *m)
{
	return m->flags <= FPS_MESSAGE_LAST && m->first_ns <= m->newest_ns &&
	       m->newest_ns <= m->sent_ns && m->frames <= UINT64_MAX - GPU_FRAMES_AHEAD &&
	       m->gpu_frames <= m->frames + GPU_FRAMES_AHEAD;
}

static uint64_t most_frames(uint64_t ns)
{
	return FPS_PLAUSIBLE + FPS_PLAUSIBLE * (ns / NS_PER_S);
}

bool fps_message_follows(const struct fps_message *before, const struct fps_message *after,
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
