/* SPDX-License-Identifier: MIT */
/*
 * The daemon's orders, and the answers that are cut out of a guest's connection, judged and put
 * where the pacer looks. Must never obey half an order, one that is not understood, or one that
 * would stop the program.
 */
#include <endian.h>
#include <stdbool.h>
#include <string.h>

#include "fps-preload/limit.h"
#include "fps-preload/pace.h"
#include "fps-preload/debug.h"

#define LONGEST_NS   1000000000ull
#define SHORTEST_NS  (LONGEST_NS / PACE_MAX_FPS)
#define ANSWER_WORDS (FPS_LIMIT_BYTES / sizeof(uint64_t))

static bool possible(uint64_t period_ns)
{
	return period_ns == 0 || (period_ns >= SHORTEST_NS && period_ns <= LONGEST_NS);
}

void limit_set(uint64_t period_ns, uint32_t *limit_ns)
{
	uint32_t period = (uint32_t)period_ns;

	if (!possible(period_ns))
		return;
	if (__atomic_exchange_n(limit_ns, period, __ATOMIC_RELAXED) != period)
		debug_log("ordered: %u ns a frame at least", (unsigned int)period);
}

/* Are these first bytes of an answer, as far as they go? */
static bool answer_begins(const struct limit_stream *s)
{
	uint64_t magic = htole64(FPS_LIMIT_MAGIC);

	return memcmp(s->bytes, &magic, s->n < sizeof(magic) ? s->n : sizeof(magic)) == 0;
}

static bool answer_read(const struct limit_stream *s, struct fps_limit_message *ret_answer)
{
	uint64_t words[ANSWER_WORDS];

	memcpy(words, s->bytes, sizeof(words));
	for (size_t i = 0; i < ANSWER_WORDS; i++)
		words[i] = le64toh(words[i]);
	memcpy(ret_answer, words, sizeof(*ret_answer));
	return ret_answer->magic == FPS_LIMIT_MAGIC && ret_answer->version == FPS_LIMIT_VERSION &&
	       ret_answer->end == FPS_LIMIT_END;
}

static void pass_over(struct limit_stream *s, size_t n)
{
	s->n -= n;
	memmove(s->bytes, s->bytes + n, s->n);
}

void limit_receive(struct limit_stream *s, const void *bytes, size_t size, uint32_t *limit_ns)
{
	const uint8_t *at = bytes;
	struct fps_limit_message answer;

	for (; size > 0; at++, size--) {
		s->bytes[s->n++] = *at;
		if (s->n == sizeof(s->bytes) && answer_read(s, &answer)) {
			limit_set(answer.period_ns, limit_ns);
			s->n = 0;
		} else if (s->n == sizeof(s->bytes)) {
			pass_over(s, 1);
		}
		while (s->n > 0 && !answer_begins(s))
			pass_over(s, 1);
	}
}
