/* SPDX-License-Identifier: MIT */
/* The verbs `decisions` and `why`. */
#include "gover-ctl/field.h"
#include "gover-ctl/verb/listing.h"
#include "gover-ctl/verb/describe.h"
#include "gover-ctl/verb/verbs.h"

#define WHY_DECISIONS 10

enum ctl_exit verb_decisions(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply reply = {0};
	const char *after = args->values[OPTION_AFTER], *limit = args->values[OPTION_LIMIT];
	const char *vgpu = args->values[OPTION_VGPU];
	struct listing listing;
	enum ctl_exit r = listing_open(&listing, args, &table_decisions);

	if (r == CTL_DONE && vgpu)
		r = ctl_check_id("vGPU", vgpu);
	if (r == CTL_DONE)
		r = ctl_request(ctl, "GET", NULL, &reply, "/v1/decisions?limit=%s%s%s%s%s",
				limit ? limit : "100", after ? "&after=" : "", after ? after : "",
				vgpu ? "&vgpu=" : "", vgpu ? vgpu : "");
	return r == CTL_DONE ? listing_print(&listing, &ctl->writer, &reply) : r;
}

static void print_decision(const struct writer *writer, const json_t *decision)
{
	char time[DESCRIBE_MAX], moves[DESCRIBE_MAX], numbers[DESCRIBE_MAX];

	describe_time(field_text(decision, "time"), time);
	describe_moves(decision, moves);
	describe_numbers(decision, numbers);
	writer_line(writer, "%s  %s, decision %.0f: %s", time, field_text(decision, "kind"),
		    field_number(decision, "id"), field_text(decision, "why"));
	if (moves[0])
		writer_line(writer, "    %s: %s", field_text(decision, "result"), moves);
	if (numbers[0])
		writer_line(writer, "    with %s", numbers);
}

enum ctl_exit verb_why(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply vgpu = {0}, answer = {0};
	const char *id = args->words[0];
	const json_t *decisions, *decision;
	int limit = args_has(args, OPTION_LIMIT) ? (int)args_get_number(args, OPTION_LIMIT)
						 : WHY_DECISIONS;
	enum ctl_exit r = ctl_check_id("vGPU", id);
	char text[DESCRIBE_MAX];
	size_t i;

	if (r == CTL_DONE)
		r = ctl_request(ctl, "GET", NULL, &vgpu, "/v1/vgpus/%s", id);
	if (r == CTL_DONE)
		r = ctl_request(ctl, "GET", NULL, &answer, "/v1/decisions?vgpu=%s&limit=%d", id,
				limit);
	if (r != CTL_DONE)
		return r;
	if (ctl->writer.json) {
		writer_reply(&ctl->writer, &answer);
		return CTL_DONE;
	}
	describe_vgpu(vgpu.json, text);
	writer_line(&ctl->writer, "%s", text);
	decisions = json_object_get(answer.json, "decisions");
	if (json_array_size(decisions) == 0)
		writer_line(&ctl->writer, "No decisions yet.");
	json_array_foreach (decisions, i, decision) {
		print_decision(&ctl->writer, decision);
	}
	return CTL_DONE;
}
