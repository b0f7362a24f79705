/* SPDX-License-Identifier: MIT */
/* Workloads: one that is taken runs, and its text is taken again as the same. */
#include <math.h>

#include "sim/workload.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FRAMES 20

static void run_frames(const struct workload *workload)
{
	struct workload_run run;
	uint64_t now_ns = 1;

	workload_start(&run, workload, "fuzz", now_ns);
	for (int i = 0; i < FRAMES; i++) {
		struct workload_frame frame = workload_next_frame(&run, now_ns);

		FUZZ_CHECK(frame.begin_ns >= now_ns);
		FUZZ_CHECK(frame.gpu_ns > 0);
		now_ns = frame.begin_ns + frame.cpu_ns;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_FREE char *text = fuzz_text(data, size);
	struct workload workload, again;
	struct err err = {""};

	if (workload_parse(text, &workload, &err) < 0) {
		FUZZ_CHECK(strstr(err.msg, "workload"));
		return 0;
	}
	FUZZ_CHECK(strcmp(workload.text, text) == 0);
	FUZZ_CHECK(isfinite(workload.gpu_ms) && isfinite(workload.cpu_ms));
	FUZZ_CHECK(workload.scale > 0 && workload.fps_max >= 0);
	FUZZ_CHECK(workload.pct >= 0 && workload.pct <= 100);
	FUZZ_CHECK(workload_parse(workload.text, &again, NULL) == 0);
	FUZZ_CHECK(again.kind == workload.kind && again.seed == workload.seed);
	if (workload.kind == WORKLOAD_FRAMES)
		run_frames(&workload);
	return 0;
}
