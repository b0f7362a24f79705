/* SPDX-License-Identifier: MIT */
/* Frame pacing. strtod() is not used, because it depends on the locale of the host program. */
#include <errno.h>

#include "fps-preload/pace.h"

#define MICRO 1000000u /* rates have up to six decimals */

/* Reads a number of at most @limit into *ret_value. Returns the position after the digits. */
static const char *read_digits(const char *text, uint64_t limit, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (; *text >= '0' && *text <= '9'; text++)
		if (value < limit)
			value = value * 10 + (uint64_t)(*text - '0');
	*ret_value = value < limit ? value : limit;
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
