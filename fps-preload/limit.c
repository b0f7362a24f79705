/* SPDX-License-Identifier: MIT */
/*
 * Parses the frame rate of the user, receives the limit of the daemon, and computes the waiting
 * time. A limit outside the allowed range is ignored, because it could stop the program. strtod()
 * is not used, because it depends on the locale of the host program.
 */
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/preload/debug.h"
#include "fps-preload/limit.h"

#define MAX_NS	    1000000000ull
#define MIN_NS	    (MAX_NS / PACE_MAX_FPS)
#define LIMIT_WORDS (FPS_LIMIT_BYTES / sizeof(uint64_t))

static bool is_valid(uint64_t period_ns)
{
	return period_ns == 0 || (period_ns >= MIN_NS && period_ns <= MAX_NS);
}

void limit_set(uint64_t period_ns, uint32_t *limit_ns)
{
	uint32_t period = (uint32_t)period_ns;

	if (!is_valid(period_ns))
		return;
	if (__atomic_exchange_n(limit_ns, period, __ATOMIC_RELAXED) != period)
		debug_log("frame limit: at least %u ns a frame", (unsigned int)period);
}

/* Returns true if the bytes received so far are the start of a limit message. */
static bool may_be_message(const struct limit_stream *s)
{
	uint64_t magic = htole64(FPS_LIMIT_MAGIC);

	return memcmp(s->bytes, &magic, s->n < sizeof(magic) ? s->n : sizeof(magic)) == 0;
}

static bool decode(const struct limit_stream *s, struct fps_limit_message *ret_message)
{
	uint64_t words[LIMIT_WORDS];

	memcpy(words, s->bytes, sizeof(words));
	for (size_t i = 0; i < LIMIT_WORDS; i++)
		words[i] = le64toh(words[i]);
	memcpy(ret_message, words, sizeof(*ret_message));
	return ret_message->magic == FPS_LIMIT_MAGIC && ret_message->version == FPS_LIMIT_VERSION &&
	       ret_message->end == FPS_LIMIT_END;
}

static void drop_bytes(struct limit_stream *s, size_t n)
{
	s->n -= n;
	memmove(s->bytes, s->bytes + n, s->n);
}

void limit_receive(struct limit_stream *s, const void *bytes, size_t size, uint32_t *limit_ns)
{
	const uint8_t *at = bytes;
	struct fps_limit_message message;

	for (; size > 0; at++, size--) {
		s->bytes[s->n++] = *at;
		if (s->n == sizeof(s->bytes) && decode(s, &message)) {
			limit_set(message.period_ns, limit_ns);
			s->n = 0;
		} else if (s->n == sizeof(s->bytes)) {
			drop_bytes(s, 1);
		}
		while (s->n > 0 && !may_be_message(s))
			drop_bytes(s, 1);
	}
}

/* --- pacing --- */

#define MICRO 1000000u /* rates have up to six decimals */

/* Reads a number of at most @max into *ret_value. Returns the position after the digits. */
static const char *read_digits(const char *text, uint64_t max, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (; *text >= '0' && *text <= '9'; text++)
		if (value < max)
			value = value * 10 + (uint64_t)(*text - '0');
	*ret_value = value < max ? value : max;
	return text;
}

int pace_parse(const char *text, uint64_t *ret_period_ns)
{
	uint64_t micro_fps, fraction = 0;
	const char *end = read_digits(text, 10 * PACE_MAX_FPS, &micro_fps);

	if (end == text)
		return -EINVAL;
	micro_fps *= MICRO;
	if (*end == '.') {
		const char *decimals = end + 1;

		end = read_digits(decimals, MICRO, &fraction);
		if (end == decimals || end - decimals > 6)
			return -EINVAL;
		for (long n = end - decimals; n < 6; n++)
			fraction *= 10;
	}
	if (*end != '\0')
		return -EINVAL;
	micro_fps += fraction;
	if (micro_fps < (uint64_t)PACE_MIN_FPS * MICRO ||
	    micro_fps > (uint64_t)PACE_MAX_FPS * MICRO)
		return -ERANGE;
	*ret_period_ns = (MICRO * 1000000000ull + micro_fps / 2) / micro_fps;
	return 0;
}

uint64_t pace_next(struct pace *pace, uint64_t period_ns, uint64_t now_ns)
{
	uint64_t due = pace->due_ns ? pace->due_ns + period_ns : now_ns;

	if (due + period_ns < now_ns)
		due = now_ns - period_ns;
	pace->due_ns = due;
	return due > now_ns ? due : 0;
}
