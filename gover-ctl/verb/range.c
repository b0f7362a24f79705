/* SPDX-License-Identifier: MIT */
/* Ranges of time on the command line. Must never guess what an empty one may have meant. */
#include "gover-ctl/verb/range.h"
#include "gover-ctl/verb/when.h"

static enum ctl_exit take_time(const struct args *args, enum option_id id, int64_t now_ms,
			       int64_t *ret_ms)
{
	if (!args_has(args, id) || when_parse(args->values[id], now_ms, ret_ms) == 0)
		return CTL_DONE;
	return ctl_fail(CTL_USAGE,
			"--%s '%s': allowed are RFC 3339 (2026-11-20T18:49:56Z), unix "
			"seconds, or back from now (-1h, -90m, -2d)",
			option_info(id)->name, args->values[id]);
}

enum ctl_exit range_take(const struct args *args, const char *verb, int64_t span_s,
			 struct range *ret_range)
{
	int64_t now_ms = clock_now().wall_ms, to_ms = now_ms, from_ms;
	enum ctl_exit r = take_time(args, OPTION_TO, now_ms, &to_ms);

	from_ms = to_ms > span_s * 1000 ? to_ms - span_s * 1000 : 0;
	if (r == CTL_DONE)
		r = take_time(args, OPTION_FROM, now_ms, &from_ms);
	if (r != CTL_DONE)
		return r;
	if (from_ms >= to_ms)
		return ctl_fail(CTL_USAGE, "%s: --from is not before --to", verb);
	clock_format(from_ms, ret_range->from);
	clock_format(to_ms, ret_range->to);
	return CTL_DONE;
}
