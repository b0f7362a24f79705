/* SPDX-License-Identifier: MIT */
/*
 * `history`: prints the caps, load and frames of a vGPU over time.
 */
#include "gover-ctl/verb/time-arg.h"
#include "gover-ctl/verb/listing.h"
#include "gover-ctl/verb/verbs.h"

enum ctl_exit verb_history(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply reply = {0};
	struct listing listing;
	enum ctl_exit r = listing_open(&listing, args, &table_history);
	struct time_range range;
	char step[32] = "";
	int64_t step_s;

	if (r == CTL_DONE)
		r = ctl_check_id("vGPU", args->words[0]);
	if (r == CTL_DONE)
		r = time_arg_get_range(args, "history", 3600, &range);
	if (r != CTL_DONE)
		return r;
	if (args_has(args, OPTION_STEP)) {
		if (time_arg_parse_span(args->values[OPTION_STEP], &step_s) < 0)
			return ctl_fail(
				CTL_USAGE,
				"--step '%s': not allowed (allowed: seconds, or 30s, 5m, 1h, 1d)",
				args->values[OPTION_STEP]);
		snprintf(step, sizeof(step), "&step=%lld", (long long)step_s);
	}
	r = ctl_request(ctl, "GET", NULL, &reply, "/v1/vgpus/%s/history?from=%s&to=%s%s",
			args->words[0], range.from, range.to, step);
	return r == CTL_DONE ? listing_print(&listing, &ctl->writer, &reply) : r;
}
