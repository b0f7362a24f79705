/* SPDX-License-Identifier: MIT */
/* Tests workload texts: valid texts, error messages, and the frames of a program. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
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
