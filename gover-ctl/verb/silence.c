/* SPDX-License-Identifier: MIT */
/*
 * The verbs `silence add`, `silence list` and `silence remove`. Every silence has an end.
 */
#include "base/clock.h"
#include "base/terminal/field.h"
#include "gover-ctl/verb/listing.h"
#include "gover-ctl/verb/verbs.h"
#include "gover-ctl/verb/time-arg.h"

/* Computes the end of the silence as an RFC 3339 time. */
static enum ctl_exit take_end(const struct args *args, char until[CLOCK_TEXT_MAX])
{
	const char *span = args->values[OPTION_FOR], *time = args->values[OPTION_UNTIL];
	int64_t now_ms = clock_now().wall_ms, until_ms = now_ms, span_s;

	if (!span == !time)
		return ctl_fail(CTL_USAGE, "silence add: either --for or --until required");
	if (span && time_arg_parse_span(span, &span_s) < 0)
		return ctl_fail(CTL_USAGE,
				"--for '%s': not allowed (allowed: seconds, or 30s, 90m, 2h, 1d)",
				span);
	if (time && time_arg_parse(time, now_ms, &until_ms) < 0)
		return ctl_fail(CTL_USAGE,
				"--until '%s': not allowed (allowed: RFC 3339 such as "
				"2026-11-20T18:49:56Z, unix seconds)",
				time);
	if (span && span_s > 366 * 86400)
		return ctl_fail(CTL_USAGE, "--for '%s': too long (limit 366 days)", span);
	clock_format(span ? now_ms + span_s * 1000 : until_ms, until);
	return CTL_DONE;
}

static json_t *make_body(const struct args *args, const char *until)
{
	return json_pack("{s:s*, s:s*, s:s*, s:s, s:s}", "alert", args->values[OPTION_ALERT], "gpu",
			 args->values[OPTION_ON_GPU], "vgpu", args->values[OPTION_VGPU], "until",
			 until, "reason", args->values[OPTION_REASON]);
}

enum ctl_exit verb_silence_add(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply reply = {0};
	char until[CLOCK_TEXT_MAX];
	enum ctl_exit r = take_end(args, until);
	json_t *body;

	if (r != CTL_DONE)
		return r;
	body = make_body(args, until);
	r = ctl_request(ctl, "POST", body, &reply, "/v1/silences");
	json_decref(body);
	if (r != CTL_DONE)
		return r;
	writer_result(&ctl->writer, &reply,
		      "silenced until %s (`gover-ctl silence remove %.0f` ends the silence)",
		      field_text(reply.json, "until"), field_number(reply.json, "id"));
	return CTL_DONE;
}

enum ctl_exit verb_silence_list(struct ctl *ctl, const struct args *args)
{
	return listing_run(ctl, args, &table_silences, "/v1/silences");
}

enum ctl_exit verb_silence_remove(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply reply = {0};
	long long id;
	enum ctl_exit r = ctl_parse_number("silence", args->words[0], &id);

	if (r == CTL_DONE)
		r = ctl_request(ctl, "DELETE", NULL, &reply, "/v1/silences/%lld", id);
	if (r != CTL_DONE)
		return r;
	writer_result(&ctl->writer, &reply, "removed: silence %lld", id);
	return CTL_DONE;
}
