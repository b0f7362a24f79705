/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes workloads. A valid workload must run. Parsing its printed text must give the same
 * workload.
 */
#include <math.h>

#include "base/clock.h"
#include "sim/model/workload.h"
#include "tests/fuzz/fuzz.h"

#define FRAMES 20
#define STEPS  20

static void run_frames(const struct workload *workload)
{
	bool is_trace = workload->playback.trace != NULL;
	struct workload_run run;
	uint64_t now_ns = 1;

	workload_start(&run, workload, "fuzz", now_ns);
	for (int i = 0; i < FRAMES; i++) {
		struct workload_frame frame = workload_next_frame(&run, now_ns);

		FUZZ_CHECK(frame.begin_ns >= now_ns);
		if (frame.begin_ns == UINT64_MAX) {
			FUZZ_CHECK(is_trace && !workload->playback.loop);
			return;
		}
		FUZZ_CHECK(is_trace || frame.gpu_ns > 0);
		FUZZ_CHECK(frame.cpu_ns > 0 || frame.gpu_ns > 0);
		now_ns = frame.begin_ns + frame.cpu_ns;
	}
}

static void run_demand(const struct workload *workload)
{
	struct workload_run run;

	workload_start(&run, workload, "fuzz", 1);
	for (uint64_t i = 1; i <= STEPS; i++) {
		uint64_t step_ns = i * NS_PER_S / 7;
		double ns = workload_demand_ns(workload, &run.demand, run.demand.to_ns + step_ns);

		FUZZ_CHECK(ns >= 0 && ns <= (double)step_ns * 1.000001);
	}
}

/* Parses @text. If the workload is a trace, it plays @trace. */
static int take(const char *text, const struct trace *trace, struct workload *workload,
		struct err *err)
{
	if (workload_parse(text, workload, err) == 0)
		return 0;
	FUZZ_CHECK(strstr(err->msg, "workload"));
	return workload_from_trace(text, trace, workload, err);
}

static void try(const char *text, const struct trace *trace)
{
	struct workload workload, again;
	struct err err = {""};

	if (take(text, trace, &workload, &err) < 0) {
		FUZZ_CHECK(*err.msg);
		return;
	}
	FUZZ_CHECK(strcmp(workload.text, text) == 0);
	FUZZ_CHECK(isfinite(workload.gpu_ms) && isfinite(workload.cpu_ms));
	FUZZ_CHECK(workload.scale > 0 && workload.fps_max >= 0);
	FUZZ_CHECK(workload.pct >= 0 && workload.pct <= 100);
	FUZZ_CHECK(take(workload.text, trace, &again, &err) == 0);
	FUZZ_CHECK(again.kind == workload.kind && again.seed == workload.seed);
	if (workload.kind == WORKLOAD_FRAMES)
		run_frames(&workload);
	if (workload.kind == WORKLOAD_LOAD)
		run_demand(&workload);
}

FUZZ(workload)
{
	static const struct trace_point points[][4] = {
		{{0, 0, 5}, {0.5, 0, 100}, {2, 0, 0}, {9, 0, 50}},
		{{0, 60, 5}, {0.5, 0, 100}, {2, 0.25, 1}, {9, 10000, 50}},
	};
	CLEANUP_FREE char *text = fuzz_text(data, size);

	for (size_t i = 0; i < ARRAY_SIZE(points); i++) {
		struct trace *trace;

		FUZZ_CHECK(trace_new(points[i], ARRAY_SIZE(points[i]), &trace, NULL) == 0);
		try(text, trace);
		trace_free(trace);
	}
	return 0;
}
