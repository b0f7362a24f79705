/* SPDX-License-Identifier: MIT */
/* `history`: what a vGPU got and did over time. Must never read the database itself. */
#include "base/clock.h"
#include "gover-ctl/tables.h"
#include "gover-ctl/verbs.h"
#include "gover-ctl/when.h"

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

enum ctl_exit verb_history(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply reply = {0};
	char from_text[CLOCK_TEXT_MAX], to_text[CLOCK_TEXT_MAX], step[32] = "";
	int64_t to_ms = clock_now().wall_ms, from_ms, step_s;
	enum ctl_exit r = ctl_check_id("vGPU", args->words[0]);

	if (r == CTL_DONE)
		r = take_time(args, OPTION_TO, to_ms, &to_ms);
	from_ms = to_ms - 3600 * 1000;
	if (r == CTL_DONE)
		r = take_time(args, OPTION_FROM, clock_now().wall_ms, &from_ms);
	if (r == CTL_DONE && args_has(args, OPTION_STEP)) {
		if (when_parse_span(args->values[OPTION_STEP], &step_s) < 0)
			return ctl_fail(CTL_USAGE,
					"--step '%s': allowed are seconds, or 30s, 5m, 1h, "
					"1d",
					args->values[OPTION_STEP]);
		snprintf(step, sizeof(step), "&step=%lld", (long long)step_s);
	}
	if (r != CTL_DONE)
		return r;
	if (from_ms >= to_ms)
		return ctl_fail(CTL_USAGE, "history: --from is not before --to");
	clock_format(from_ms, from_text);
	clock_format(to_ms, to_text);
	r = ctl_request(ctl, "GET", NULL, &reply, "/v1/vgpus/%s/history?from=%s&to=%s%s",
			args->words[0], from_text, to_text, step);
	return r == CTL_DONE ? tables_answer(&ctl->writer, &table_history, &reply) : r;
}
