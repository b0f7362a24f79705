/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes traces. The times of a valid trace must increase, and its values must be within their
 * ranges. A trace made from the points of a valid trace must be equal to it.
 */
#include "sim/model/trace.h"
#include "tests/fuzz/fuzz.h"

static bool is_within(double value, double max)
{
	return value >= 0 && value <= max;
}

static void check_points(const struct trace *trace, struct trace_point *points)
{
	for (size_t i = 0; i < trace_count(trace); i++) {
		points[i] = trace_point_at(trace, i);
		FUZZ_CHECK(is_within(points[i].demand_pct, 100));
		FUZZ_CHECK(is_within(points[i].fps_uncapped, 10000));
		FUZZ_CHECK(trace_find(trace, trace_time_ns(trace, i)) == i);
		FUZZ_CHECK(i == 0 || trace_time_ns(trace, i) > trace_time_ns(trace, i - 1));
	}
	FUZZ_CHECK(trace_find(trace, trace_begin_ns(trace)) == 0);
	FUZZ_CHECK(trace_end_ns(trace) >= trace_time_ns(trace, trace_count(trace) - 1));
	FUZZ_CHECK(trace_find(trace, trace_end_ns(trace)) == trace_count(trace) - 1);
}

/*
 * Makes a second trace from the points of @trace. Long traces are skipped: at large times a double
 * cannot represent every ns, so two points may get the same time.
 */
static void make_again(const struct trace *trace, const struct trace_point *points)
{
	struct trace *again;
	struct err err = {""};

	if (trace_end_s(trace) > 1e6)
		return;
	FUZZ_CHECK(trace_new(points, trace_count(trace), &again, &err) == 0);
	FUZZ_CHECK(trace_end_ns(again) == trace_end_ns(trace));
	FUZZ_CHECK(trace_has_frames(again) == trace_has_frames(trace));
	trace_free(again);
}

FUZZ(trace)
{
	char path[FUZZ_PATH_MAX], prefix[FUZZ_PATH_MAX + 1];
	int fd = fuzz_file(data, size, path);
	CLEANUP_FREE struct trace_point *points = calloc(size + 1, sizeof(*points));
	struct trace *trace = NULL;
	struct err err = {""};

	FUZZ_CHECK(points);
	if (trace_load(path, &trace, &err) == 0) {
		FUZZ_CHECK(trace_count(trace) > 0 && trace_count(trace) <= size);
		check_points(trace, points);
		make_again(trace, points);
		(void)trace_check_gaps(trace, 0, UINT64_MAX, 1, &err);
	} else {
		snprintf(prefix, sizeof(prefix), "%s:", path);
		FUZZ_CHECK(strncmp(err.msg, prefix, strlen(prefix)) == 0);
		FUZZ_CHECK(strspn(err.msg + strlen(prefix), "0123456789") > 0);
	}
	trace_free(trace);
	close(fd);
	return 0;
}
