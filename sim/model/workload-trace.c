/* SPDX-License-Identifier: MIT */
/* Workloads from traces. The part to play must be within the trace. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "sim/model/workload-model.h"

static uint64_t ns_of(double s)
{
	return (uint64_t)llround(s * (double)NS_PER_S);
}

/* Sets the part of the trace to play. */
static int set_part(const struct workload_text *text, const struct trace *trace,
		    struct playback *playback, struct err *reterr)
{
	uint64_t begin_ns = trace_begin_ns(trace), end_ns = trace_end_ns(trace);

	playback->from_ns = text->offset_s < 0 ? begin_ns : ns_of(text->offset_s);
	if (playback->from_ns < begin_ns || playback->from_ns >= end_ns)
		return err_fail(
			reterr, EINVAL,
			"workload trace: offset_s %.10g: outside of %.200s (allowed: %.10g to "
			"%.10g)",
			text->offset_s, text->file, trace_begin_s(trace), trace_end_s(trace));
	playback->length_ns = end_ns - playback->from_ns;
	if (text->length_s <= 0)
		return 0;
	if (ns_of(text->length_s) > playback->length_ns)
		return err_fail(
			reterr, EINVAL,
			"workload trace: length_s %.10g: %.200s is too short (allowed: up to "
			"%.10g)",
			text->length_s, text->file, (double)playback->length_ns / (double)NS_PER_S);
	playback->length_ns = ns_of(text->length_s);
	return 0;
}

static int set_trace(struct workload_text *text, const struct trace *trace,
		     struct workload *ret_workload, struct err *reterr)
{
	struct playback *playback = &text->workload.playback;
	int r = set_part(text, trace, playback, reterr);

	if (r < 0)
		return r;
	playback->trace = trace;
	playback->gap_ns = ns_of(text->gap_s);
	playback->scale = text->workload.scale;
	if (!text->may_have_gaps) {
		r = trace_check_gaps(trace, playback->from_ns,
				     playback->from_ns + playback->length_ns, playback->gap_ns,
				     reterr);
		if (r < 0)
			return r;
	}
	if (trace_has_frames(trace))
		text->workload.kind = WORKLOAD_FRAMES;
	*ret_workload = text->workload;
	return 0;
}

static int path_of(const char *dir, const char *file, char path[PATH_MAX], struct err *reterr)
{
	bool is_absolute = !dir || *file == '/';

	if (snprintf(path, PATH_MAX, "%s%s%s", is_absolute ? "" : dir, is_absolute ? "" : "/",
		     file) >= PATH_MAX)
		return err_fail(reterr, ENAMETOOLONG, "workload trace: file '%s': path too long",
				file);
	return 0;
}

int workload_load(const char *text, const char *dir, struct workload *ret_workload,
		  struct trace **ret_trace, struct err *reterr)
{
	struct workload_text read;
	struct trace *trace = NULL;
	char path[PATH_MAX];
	int r = workload_text_read(text, &read, reterr);

	if (r < 0)
		return r;
	if (!(read.workload.model->takes & TAKES_TRACE)) {
		*ret_workload = read.workload;
		*ret_trace = NULL;
		return 0;
	}
	r = path_of(dir, read.file, path, reterr);
	if (r >= 0)
		r = trace_load(path, &trace, reterr);
	if (r >= 0)
		r = set_trace(&read, trace, ret_workload, reterr);
	if (r < 0) {
		trace_free(trace);
		return r;
	}
	*ret_trace = trace;
	return 0;
}

int workload_from_trace(const char *text, const struct trace *trace, struct workload *ret_workload,
			struct err *reterr)
{
	struct workload_text read;
	int r = workload_text_read(text, &read, reterr);

	if (r < 0)
		return r;
	if (!(read.workload.model->takes & TAKES_TRACE))
		return err_fail(reterr, EINVAL, "workload %s: not a trace",
				read.workload.model->name);
	return set_trace(&read, trace, ret_workload, reterr);
}
