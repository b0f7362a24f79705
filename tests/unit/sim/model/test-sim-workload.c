/* SPDX-License-Identifier: MIT */
/*
 * Tests workload texts (valid texts, error messages, and the frames of a program) and traces.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "sim/model/trace.h"
#include "sim/model/workload.h"
#include "tests/unit/unit.h"

static struct workload parse(const char *text)
{
	struct workload workload;
	struct err err = {""};

	if (workload_parse(text, &workload, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	return workload;
}

static const struct {
	const char *text;
	struct workload want;
} forms[] = {
	{"idle", {.kind = WORKLOAD_IDLE}},
	{"busy", {.kind = WORKLOAD_BUSY}},
	{"load:pct=12.5", {.kind = WORKLOAD_LOAD, .pct = 12.5}},
	{"load:pct=0", {.kind = WORKLOAD_LOAD}},
	{"load:pct=100", {.kind = WORKLOAD_LOAD, .pct = 100}},
	{"glxgears", {.kind = WORKLOAD_FRAMES, .gpu_ms = 0.5, .cpu_ms = 4}},
	{"glmark2", {.kind = WORKLOAD_FRAMES, .cpu_ms = 2.2}},
	{"plot3d:fps_max=31.5,scale=2",
	 {.kind = WORKLOAD_FRAMES, .cpu_ms = 18, .scale = 2, .fps_max = 31.5}},
	{"frame:gpu_ms=3,cpu_ms=1.5,scale=0.5,fps_max=60,seed=7",
	 {.kind = WORKLOAD_FRAMES,
	  .gpu_ms = 3,
	  .cpu_ms = 1.5,
	  .scale = 0.5,
	  .fps_max = 60,
	  .seeded = true,
	  .seed = 7}},
	{"game:gpu_ms=9,cpu_ms=5,vsync_hz=59.94,seed=1",
	 {.kind = WORKLOAD_FRAMES,
	  .gpu_ms = 9,
	  .cpu_ms = 5,
	  .vsync_hz = 59.94,
	  .seeded = true,
	  .seed = 1}},
	{"square:period_s=20,low_pct=5,high_pct=45.5,phase_s=3",
	 {.kind = WORKLOAD_LOAD, .period_s = 20, .low_pct = 5, .high_pct = 45.5, .phase_s = 3}},
	{"burst:on_s=2,off_s=8,pct=60", {.kind = WORKLOAD_LOAD, .pct = 60, .jitter = 1}},
	{"burst:on_s=2,off_s=8,pct=60,jitter=0,seed=4",
	 {.kind = WORKLOAD_LOAD, .pct = 60, .seeded = true, .seed = 4}},
	{"frame:cpu_ms=0,gpu_ms=0.01", {.kind = WORKLOAD_FRAMES, .gpu_ms = 0.01}},
	{"glxgears:seed=0", {.kind = WORKLOAD_FRAMES, .gpu_ms = 0.5, .cpu_ms = 4, .seeded = true}},
};

TEST(valid_texts_are_parsed)
{
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		const struct workload *want = &forms[i].want;
		struct workload got = parse(forms[i].text);

		assert_int_equal(got.kind, want->kind);
		assert_true(got.gpu_ms == want->gpu_ms);
		assert_true(got.cpu_ms == want->cpu_ms);
		assert_true(got.scale == (want->scale > 0 ? want->scale : 1));
		assert_true(got.fps_max == want->fps_max);
		assert_true(got.pct == want->pct);
		assert_true(got.vsync_hz == want->vsync_hz);
		assert_true(got.period_s == want->period_s && got.phase_s == want->phase_s);
		assert_true(got.low_pct == want->low_pct && got.high_pct == want->high_pct);
		if (strncmp(got.text, "burst", 5) == 0)
			assert_true(got.jitter == want->jitter);
		assert_int_equal(got.seeded, want->seeded);
		assert_int_equal(got.seed, want->seed);
		assert_string_equal(got.text, forms[i].text);
	}
}

static const struct {
	const char *text, *message;
} bad_lines[] = {
	{"", "unknown workload '' (allowed: idle, glxgears, glmark2, plot3d, frame, "
	     "game, busy, load, square, burst, trace)"},
	{"quake", "unknown workload 'quake' (allowed: idle, glxgears, glmark2, "
		  "plot3d, frame, game, busy, load, square, burst, trace)"},
	{" idle", "unknown workload ' idle' (allowed: idle, glxgears, glmark2, "
		  "plot3d, frame, game, busy, load, square, burst, trace)"},
	{"idle:seed=1", "workload idle: unknown key 'seed' (allowed: none)"},
	{"busy:", "workload busy: '': not a setting (allowed: key=value)"},
	{"load", "workload load: pct: required (allowed: 0 to 100)"},
	{"load:pct=101", "workload load: pct '101': not valid (allowed: 0 to 100)"},
	{"load:pct=nan", "workload load: pct 'nan': not valid (allowed: 0 to 100)"},
	{"load:pct=5,seed=1", "workload load: unknown key 'seed' (allowed: pct)"},
	{"frame:gpu_ms=1", "workload frame: cpu_ms: required (allowed: 0 to 10000)"},
	{"frame:gpu_ms=0,cpu_ms=1",
	 "workload frame: gpu_ms '0': not valid (allowed: 0.01 to 10000)"},
	{"frame:gpu_ms=1,cpu_ms=1,gpu_ms=2", "workload frame: gpu_ms: set twice"},
	{"glxgears:gpu_ms=1",
	 "workload glxgears: unknown key 'gpu_ms' (allowed: scale, fps_max, seed)"},
	{"game:gpu_ms=1,cpu_ms=1", "workload game: vsync_hz: required (allowed: 1 to 1000)"},
	{"game:gpu_ms=1,cpu_ms=1,vsync_hz=0",
	 "workload game: vsync_hz '0': not valid (allowed: 1 to 1000)"},
	{"game:gpu_ms=1,cpu_ms=1,vsync_hz=60,fps_max=30",
	 "workload game: unknown key 'fps_max' (allowed: gpu_ms, cpu_ms, vsync_hz, scale, seed)"},
	{"square:period_s=2,low_pct=0", "workload square: high_pct: required (allowed: 0 to 100)"},
	{"square:period_s=0,low_pct=0,high_pct=1",
	 "workload square: period_s '0': not valid (allowed: 0.01 to 1000000)"},
	{"burst:on_s=1,off_s=1,pct=1,jitter=2",
	 "workload burst: jitter '2': not valid (allowed: 0 to 1)"},
	{"burst:on_s=1,off_s=1", "workload burst: pct: required (allowed: 0 to 100)"},
	{"trace:file=a.csv", "workload trace: available only in gover-sim run and compare"},
	{"trace:file=",
	 "workload trace: file '': not valid (allowed: a file name without a comma)"},
	{"trace:loop=on", "workload trace: file: required (allowed: a file name "
			  "without a comma)"},
	{"trace:file=a,gap=skip",
	 "workload trace: gap 'skip': not valid (allowed: error, hold, idle)"},
	{"trace:file=a,loop=1", "workload trace: loop '1': not valid (allowed: on, off)"},
	{"trace:file=a,seed=1",
	 "workload trace: unknown key 'seed' (allowed: file, scale, offset_s, length_s, loop, "
	 "gap, gap_s, interpolate)"},
	{"glxgears:fps_max=0", "workload glxgears: fps_max '0': not valid (allowed: 0.1 to 10000)"},
	{"glxgears:fps_max", "workload glxgears: 'fps_max': not a setting (allowed: key=value)"},
	{"glxgears:scale=-1", "workload glxgears: scale '-1': not valid (allowed: 0.01 to 100)"},
	{"glxgears:scale=1,", "workload glxgears: '': not a setting (allowed: key=value)"},
	{"glxgears:seed=1.5",
	 "workload glxgears: seed '1.5': not valid (allowed: 0 to 9223372036854775807)"},
	{"glxgears:seed=9223372036854775808", "workload glxgears: seed '9223372036854775808': not "
					      "valid (allowed: 0 to 9223372036854775807)"},
};

TEST(an_error_message_lists_what_is_allowed)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad_lines); i++) {
		struct workload workload = {.pct = 77};
		struct err err = {""};

		assert_int_equal(workload_parse(bad_lines[i].text, &workload, &err), -EINVAL);
		assert_string_equal(err.msg, bad_lines[i].message);
		assert_true(workload.pct == 77);
		assert_int_equal(workload_parse(bad_lines[i].text, &workload, NULL), -EINVAL);
	}
}

TEST(a_text_of_256_characters_is_too_long)
{
	char text[WORKLOAD_TEXT_MAX + 1];
	struct workload workload;
	struct err err = {""};

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(workload_parse(text, &workload, &err), -EINVAL);
	assert_string_equal(err.msg, "workload: too long (limit 255 characters)");
	text[sizeof(text) - 2] = '\0';
	assert_int_equal(workload_parse(text, &workload, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "unknown workload"));
}

TEST(frames_jitter_by_10_and_5_percent)
{
	struct workload workload = parse("frame:gpu_ms=2,cpu_ms=8,scale=3");
	double gpu_min = INFINITY, gpu_max = 0, gpu_sum = 0, cpu_min = INFINITY, cpu_max = 0;
	struct workload_run run;
	const int n = 20000;

	workload_start(&run, &workload, "a", 0);
	for (int i = 0; i < n; i++) {
		struct workload_frame frame = workload_next_frame(&run, 0);

		gpu_min = fmin(gpu_min, (double)frame.gpu_ns);
		gpu_max = fmax(gpu_max, (double)frame.gpu_ns);
		gpu_sum += (double)frame.gpu_ns;
		cpu_min = fmin(cpu_min, (double)frame.cpu_ns);
		cpu_max = fmax(cpu_max, (double)frame.cpu_ns);
	}
	assert_true(gpu_min >= 5.4e6 && gpu_min < 5.41e6);
	assert_true(gpu_max <= 6.6e6 && gpu_max > 6.59e6);
	assert_true(fabs(gpu_sum / n - 6e6) < 0.01e6);
	assert_true(cpu_min >= 7.6e6 && cpu_min < 7.61e6);
	assert_true(cpu_max <= 8.4e6 && cpu_max > 8.39e6);
}

TEST(frames_depend_only_on_the_seed)
{
	static const struct {
		const char *a, *id_a, *b, *id_b;
		bool same;
	} rows[] = {
		{"glmark2", "v1", "glmark2", "v1", true},
		{"glmark2", "v1", "glmark2", "v2", false},
		{"glmark2:seed=5", "v1", "glmark2:seed=5", "v2", true},
		{"glmark2:seed=5", "v1", "glmark2:seed=6", "v1", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct workload a = parse(rows[i].a), b = parse(rows[i].b);
		struct workload_run run_a, run_b;
		int same = 0;

		workload_start(&run_a, &a, rows[i].id_a, 0);
		workload_start(&run_b, &b, rows[i].id_b, 0);
		for (uint64_t f = 0; f < 100; f++) {
			struct workload_frame x = workload_next_frame(&run_a, f * NS_PER_S);
			struct workload_frame y = workload_next_frame(&run_b, f * NS_PER_S);

			same += x.gpu_ns == y.gpu_ns && x.cpu_ns == y.cpu_ns;
		}
		assert_int_equal(same, rows[i].same ? 100 : 0);
	}
}

/* Returns the mean GPU time of frames in the 100 ms after @from_ns, in ms. */
static double mean_gpu_ms(struct workload_run *run, uint64_t from_ns)
{
	double sum = 0;

	for (uint64_t i = 0; i < 2000; i++)
		sum += (double)workload_next_frame(run, from_ns + i * 50000).gpu_ns;
	return sum / 2000 / (double)NS_PER_MS;
}

TEST(glmark2_runs_its_scenes_in_order_for_10_s_each)
{
	static const double scenes_ms[] = {1.2, 1.8, 1.5, 2.2, 1.1, 1.6, 2.4, 1.4};
	struct workload workload = parse("glmark2:seed=3");
	struct workload_run run;
	uint64_t begin_ns;
	double first_ms;
	size_t first = 0;

	workload_start(&run, &workload, "a", 0);
	/* The seed selects the scene at the start. Find this scene, and the time at which it
	 * ends. */
	first_ms = mean_gpu_ms(&run, 0);
	while (fabs(scenes_ms[first] - first_ms) > 0.03)
		assert_true(++first < ARRAY_SIZE(scenes_ms));
	begin_ns = (0 - run.began_ns) % (10 * NS_PER_S);
	begin_ns = 10 * NS_PER_S - begin_ns;
	for (size_t i = 1; i <= 9; i++) {
		double ms = mean_gpu_ms(&run, begin_ns + (i - 1) * 10 * NS_PER_S + NS_PER_S);

		assert_true(fabs(ms - scenes_ms[(first + i) % ARRAY_SIZE(scenes_ms)]) < 0.03);
	}
}

TEST(plot3d_varies_between_13_and_16_ms_within_10_s)
{
	struct workload workload = parse("plot3d");
	double least = INFINITY, most = 0, sum = 0;
	struct workload_run run;

	workload_start(&run, &workload, "a", 0);
	for (uint64_t i = 0; i < 100; i++) {
		double ms = mean_gpu_ms(&run, i * (NS_PER_S / 10));

		least = fmin(least, ms);
		most = fmax(most, ms);
		sum += ms;
	}
	assert_true(fabs(least - 13) < 0.15);
	assert_true(fabs(most - 16) < 0.15);
	assert_true(fabs(sum / 100 - 14.5) < 0.05);
}

TEST(a_paced_frame_starts_one_interval_after_the_last)
{
	struct workload workload = parse("glxgears:fps_max=50");
	struct workload_run run;

	workload_start(&run, &workload, "a", 3 * NS_PER_MS);
	assert_int_equal(workload_next_frame(&run, 3 * NS_PER_MS).begin_ns, 3 * NS_PER_MS);
	assert_int_equal(workload_next_frame(&run, 7 * NS_PER_MS).begin_ns, 23 * NS_PER_MS);
	/* A late frame does not change the rate: the next frame starts one interval after the
	 * late frame. */
	assert_int_equal(workload_next_frame(&run, 90 * NS_PER_MS).begin_ns, 90 * NS_PER_MS);
	assert_int_equal(workload_next_frame(&run, 94 * NS_PER_MS).begin_ns, 110 * NS_PER_MS);
}

/* --- traces --- */

#define HEADER "t_s,demand_pct\n"

/* Creates a file in memory and returns its path in @path. */
static void new_file(const char *bytes, size_t length, char path[32], int *ret_fd)
{
	*ret_fd = memfd_create("trace", MFD_CLOEXEC);
	assert_true(*ret_fd >= 0);
	assert_int_equal(write(*ret_fd, bytes, length), length);
	snprintf(path, 32, "/proc/self/fd/%d", *ret_fd);
}

static struct trace *load(const char *text)
{
	struct trace *trace = NULL;
	struct err err = {""};
	char path[32];
	CLEANUP_CLOSE int fd = -1;

	new_file(text, strlen(text), path, &fd);
	if (trace_load(path, &trace, &err) < 0)
		fail_msg("%s", err.msg);
	return trace;
}

TEST(valid_files_are_read)
{
	static const struct {
		const char *text;
		size_t n;
		struct trace_point last;
		double end_s;
		bool has_frames;
	} rows[] = {
		{HEADER "0,25\n", 1, {0, 0, 25}, 1, false},
		{HEADER "0,25\n1,50\n2,0\n", 3, {2, 0, 0}, 3, false},
		{HEADER "0,25\n1,50.5", 2, {1, 0, 50.5}, 2, false},
		{"t_s,demand_pct\r\n0,25\r\n1,5e1\r\n", 2, {1, 0, 50}, 2, false},
		{HEADER "100.5,25\n101.75,100\n", 2, {101.75, 0, 100}, 103, false},
		/* The last point is valid for 1 s, the shorter of the two intervals before it. */
		{HEADER "0,1\n1,2\n2,3\n3,4\n16,5\n", 5, {16, 0, 5}, 17, false},
		{"t_s,fps_uncapped,demand_pct\n0,60,30\n1,144.5,0.25\n", 2,
		 .last = {1, 144.5, 0.25}, 2, true},
		{"t_s,fps_uncapped,demand_pct\n0,0,30\n1,0,40\n", 2, {1, 0, 40}, 2, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct trace *trace = load(rows[i].text);
		struct trace_point last;

		assert_int_equal(trace_count(trace), rows[i].n);
		last = trace_point_at(trace, rows[i].n - 1);
		assert_true(last.t_s == rows[i].last.t_s);
		assert_true(last.fps_uncapped == rows[i].last.fps_uncapped);
		assert_true(last.demand_pct == rows[i].last.demand_pct);
		assert_true(trace_end_s(trace) == rows[i].end_s);
		assert_int_equal(trace_has_frames(trace), rows[i].has_frames);
		trace_free(trace);
	}
	assert_null(trace_free(NULL));
}

TEST(a_point_is_valid_until_the_next)
{
	static const struct {
		double t_s, demand_pct, fps;
	} rows[] = {
		{10, 25, 60},	  {10.999, 25, 60}, {11, 50, 30},
		{13.999, 50, 30}, {14, 75, 0},	    {14.999, 75, 0},
	};
	struct trace *trace = load("t_s,fps_uncapped,demand_pct\n10,60,25\n11,30,50\n14,0,75\n");

	assert_true(trace_begin_s(trace) == 10);
	assert_true(trace_end_s(trace) == 15);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t at = trace_find(trace, (uint64_t)(rows[i].t_s * (double)NS_PER_S));

		assert_true(trace_point_at(trace, at).demand_pct == rows[i].demand_pct);
		assert_true(trace_point_at(trace, at).fps_uncapped == rows[i].fps);
	}
	assert_int_equal(trace_find(trace, 0), 0);
	assert_int_equal(trace_find(trace, 12 * NS_PER_S), 1);
	assert_int_equal(trace_find(trace, 100 * NS_PER_S), 2);
	trace_free(trace);
}

static const struct {
	const char *text, *message; /* message: the expected message without the path */
} bad_traces[] = {
	{"", ":1: the file is empty"},
	{"\n", ":1: unknown header '' (allowed: 't_s,demand_pct', "
	       "'t_s,fps_uncapped,demand_pct')"},
	{"0,1\n1,2\n", ":1: unknown header '0,1' (allowed: 't_s,demand_pct', "
		       "'t_s,fps_uncapped,demand_pct')"},
	{"t_s, demand_pct\n", ":1: unknown header 't_s, demand_pct' (allowed: "
			      "'t_s,demand_pct', 't_s,fps_uncapped,demand_pct')"},
	{"\033[2J\n", ":1: unknown header '?[2J' (allowed: 't_s,demand_pct', "
		      "'t_s,fps_uncapped,demand_pct')"},
	{HEADER, ":2: no points after the header"},
	{HEADER "\n", ":2: empty line"},
	{HEADER "0,1\n\n2,1\n", ":3: empty line"},
	{HEADER "0,1\n\r\n", ":3: empty line"},
	{HEADER "0\n", ":2: 1 columns, but the header has 2"},
	{HEADER "0,1,2\n", ":2: 3 columns, but the header has 2"},
	{"t_s,fps_uncapped,demand_pct\n0,1\n", ":2: 2 columns, but the header has 3"},
	{HEADER "0,\n", ":2: demand_pct '': not a valid number (allowed: 0 to 100)"},
	{HEADER ",1\n", ":2: t_s '': not a valid number (allowed: 0 to 4000000000)"},
	{HEADER "0,1\n1,nan\n", ":3: demand_pct 'nan': not a valid number (allowed: 0 to 100)"},
	{HEADER "0,inf\n", ":2: demand_pct 'inf': not a valid number (allowed: 0 to 100)"},
	{HEADER "nan,1\n", ":2: t_s 'nan': not a valid number (allowed: 0 to 4000000000)"},
	{HEADER "0,-0.5\n", ":2: demand_pct '-0.5': not a valid number (allowed: 0 to 100)"},
	{HEADER "-1,5\n", ":2: t_s '-1': not a valid number (allowed: 0 to 4000000000)"},
	{HEADER "0,100.01\n", ":2: demand_pct '100.01': not a valid number (allowed: 0 to 100)"},
	{HEADER "1e11,1\n", ":2: t_s '1e11': not a valid number (allowed: 0 to 4000000000)"},
	{HEADER "0, 5\n", ":2: demand_pct ' 5': not a valid number (allowed: 0 to 100)"},
	{HEADER "0,5 \n", ":2: demand_pct '5 ': not a valid number (allowed: 0 to 100)"},
	{HEADER "0,5.\n0,5\n", ":3: t_s 0: not later than the previous t_s 0"},
	{HEADER "0,.\n", ":2: demand_pct '.': not a valid number (allowed: 0 to 100)"},
	{HEADER "0,0x10\n", ":2: demand_pct '0x10': not a valid number (allowed: 0 to 100)"},
	{HEADER "0,1..5\n", ":2: demand_pct '1..5': not a valid number (allowed: 0 to 100)"},
	{HEADER "0,5%\n", ":2: demand_pct '5%': not a valid number (allowed: 0 to 100)"},
	{HEADER "0,1\n1,1\n1,1\n", ":4: t_s 1: not later than the previous t_s 1"},
	{HEADER "0,1\n1.5,1\n1.25,1\n", ":4: t_s 1.25: not later than the previous t_s 1.5"},
	{"t_s,fps_uncapped,demand_pct\n0,10001,1\n",
	 ":2: fps_uncapped '10001': not a valid number (allowed: 0 to 10000)"},
	{"t_s,fps_uncapped,demand_pct\n0,-1,1\n",
	 ":2: fps_uncapped '-1': not a valid number (allowed: 0 to 10000)"},
};

TEST(an_error_message_names_file_and_line)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad_traces); i++) {
		struct trace *trace = NULL;
		struct err err = {""};
		char path[32];
		CLEANUP_CLOSE int fd = -1;

		new_file(bad_traces[i].text, strlen(bad_traces[i].text), path, &fd);
		assert_int_equal(trace_load(path, &trace, &err), -EINVAL);
		assert_memory_equal(err.msg, path, strlen(path));
		assert_string_equal(err.msg + strlen(path), bad_traces[i].message);
		assert_null(trace);
		assert_int_equal(trace_load(path, &trace, NULL), -EINVAL);
	}
}

TEST(a_long_line_or_a_nul_byte_is_an_error)
{
	static const char zero[] = HEADER "0,1\n1,2\0\n";
	char text[200000], path[32];
	struct trace *trace = NULL;
	struct err err = {""};

	{
		CLEANUP_CLOSE int fd = -1;

		new_file(zero, sizeof(zero) - 1, path, &fd);
		assert_int_equal(trace_load(path, &trace, &err), -EINVAL);
		assert_string_equal(err.msg + strlen(path), ":3: the line contains a NUL byte");
	}
	memset(text, '1', sizeof(text));
	memcpy(text, HEADER, strlen(HEADER));
	{
		CLEANUP_CLOSE int fd = -1;

		new_file(text, sizeof(text), path, &fd);
		assert_int_equal(trace_load(path, &trace, &err), -EINVAL);
		assert_string_equal(err.msg + strlen(path),
				    ":2: line too long (limit 255 characters)");
	}
}

TEST(only_regular_files_are_read)
{
	char folder[] = "/tmp/test-sim-workload-XXXXXX", path[64], want[128];
	struct trace *trace = NULL;
	struct err err = {""};

	assert_non_null(mkdtemp(folder));
	assert_int_equal(trace_load(folder, &trace, &err), -EISDIR);
	snprintf(want, sizeof(want), "%s: cannot be read: Is a directory", folder);
	assert_string_equal(err.msg, want);
	snprintf(path, sizeof(path), "%s/pipe", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(trace_load(path, &trace, &err), -EINVAL);
	assert_int_equal(trace_load("/dev/zero", &trace, &err), -EINVAL);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(trace_load(path, &trace, &err), -ENOENT);
	snprintf(want, sizeof(want), "%s: cannot be read: No such file or directory", path);
	assert_string_equal(err.msg, want);
	assert_int_equal(rmdir(folder), 0);
}

TEST(points_in_memory_are_checked_too)
{
	static const struct {
		struct trace_point points[2];
		size_t n;
		const char *message; /* NULL: valid */
	} rows[] = {
		{{{0, 0, 5}, {1, 60, 100}}, 2, NULL},
		{{{0, 0, 0}}, 0, "the trace has no points"},
		{{{NAN, 0, 5}}, 1, "point 1: t_s nan: out of range (allowed: 0 to 4e+09)"},
		{.points = {{0, 0, 5}, {1, 0, NAN}},
		 2,
		 "point 2: demand_pct nan: out of range (allowed: 0 to 100)"},
		{{{0, 0, -1}}, 1, "point 1: demand_pct -1: out of range (allowed: 0 to 100)"},
		{.points = {{0, INFINITY, 1}},
		 1,
		 "point 1: fps_uncapped inf: out of range (allowed: 0 to 10000)"},
		{{{3, 0, 5}, {3, 0, 5}}, 2, "point 2: t_s 3: not later than the previous t_s 3"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct trace *trace = NULL;
		struct err err = {""};
		int r = trace_new(rows[i].points, rows[i].n, &trace, &err);

		assert_int_equal(r, rows[i].message ? -EINVAL : 0);
		assert_string_equal(err.msg, rows[i].message ? rows[i].message : "");
		trace_free(trace);
	}
}

TEST(the_error_of_a_gap_names_the_line_after_it)
{
	static const struct {
		uint64_t from_s, to_s, gap_s;
		int line; /* 0: no error */
	} rows[] = {
		{0, 100, 5, 4}, {0, 100, 9, 4}, {0, 100, 10, 6}, {0, 100, 20, 0}, {0, 1, 5, 0},
		{0, 2, 5, 4},	{5, 100, 5, 4}, {11, 100, 5, 6}, {12, 13, 5, 6},  {32, 100, 5, 0},
	};
	struct trace *trace = load(HEADER "0,1\n1,1\n11,1\n12,1\n32,1\n");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = {""};
		int r = trace_check_gaps(trace, rows[i].from_s * NS_PER_S, rows[i].to_s * NS_PER_S,
					 rows[i].gap_s * NS_PER_S, &err);
		char want[128] = "";

		if (rows[i].line)
			snprintf(want, sizeof(want),
				 ":%d: gap of %d s (allowed: up to %d s; with gap=hold or gap=idle "
				 "any gap)",
				 rows[i].line, rows[i].line == 4 ? 10 : 20, (int)rows[i].gap_s);
		assert_int_equal(r, rows[i].line ? -EINVAL : 0);
		assert_string_equal(*err.msg ? strchr(err.msg, ':') : "", want);
	}
	trace_free(trace);
}

/* The file has many blocks, and some lines begin in one block and end in the next. */
TEST(a_long_file_is_read_block_by_block)
{
	const size_t n = 100000;
	CLEANUP_FREE char *text = malloc(40 * n);
	size_t length = strlen(HEADER);
	struct trace *trace;

	assert_non_null(text);
	strcpy(text, HEADER);
	for (size_t i = 0; i < n; i++)
		length += (size_t)sprintf(text + length, "%zu.125,%zu.5\n", i, i % 100);
	trace = load(text);
	assert_int_equal(trace_count(trace), n);
	for (size_t i = 0; i < n; i++) {
		struct trace_point point = trace_point_at(trace, i);

		assert_true(point.t_s == (double)i + 0.125);
		assert_true(point.demand_pct == (double)(i % 100) + 0.5);
	}
	trace_free(trace);
}
