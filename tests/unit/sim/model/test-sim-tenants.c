/* SPDX-License-Identifier: MIT */
/*
 * Tests tenants with varying demand (games, square waves, bursts, traces) and their demand
 * counters.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "sim/model/sim.h"
#include "tests/unit/unit.h"

#define TENTH_NS (NS_PER_S / 10)

static struct workload parse(const char *text, const struct trace *trace)
{
	struct workload workload;
	struct err err = {""};
	int r = trace ? workload_from_trace(text, trace, &workload, &err)
		      : workload_parse(text, &workload, &err);

	if (r < 0)
		fail_msg("%s: %s", text, err.msg);
	return workload;
}

static struct sim *new_sim(void)
{
	struct sim *sim = sim_new();

	return sim;
}

static struct sim_vgpu *add(struct sim *sim, const char *id, int cap_pct, const char *text,
			    const struct trace *trace)
{
	struct workload workload = parse(text, trace);
	struct sim_vgpu *vgpu;

	assert_int_equal(sim_add(sim, id, cap_pct, &vgpu), 0);
	sim_set_workload(sim, vgpu, &workload);
	return vgpu;
}

static struct trace *new_trace(const struct trace_point *points, size_t n)
{
	struct trace *trace;
	struct err err = {""};

	if (trace_new(points, n, &trace, &err) < 0)
		fail_msg("%s", err.msg);
	return trace;
}

static void assert_near(double value, double want, double error)
{
	if (!(fabs(value - want) <= error))
		fail_msg("%.9g: not %.9g +- %g", value, want, error);
}

/* --- games --- */

TEST(frames_of_a_game_start_at_ticks_of_its_screen)
{
	struct workload workload = parse("game:gpu_ms=5,cpu_ms=3,vsync_hz=50,seed=4", NULL);
	uint64_t now_ns = 7 * NS_PER_S, last_ns = 0, tick_ns = 0;
	struct workload_run run;

	workload_start(&run, &workload, "a", now_ns);
	for (uint64_t i = 0; i < 1000; i++) {
		struct workload_frame frame = workload_next_frame(&run, now_ns);
		/* Some frames are late, some of them by more than a tick. */
		uint64_t late_ns = i % 7 == 0 ? i * 100003 : 0;

		assert_true(frame.begin_ns >= now_ns);
		assert_true(frame.begin_ns < now_ns + 20 * NS_PER_MS);
		if (i == 0)
			tick_ns = frame.begin_ns;
		else
			assert_true(frame.begin_ns >= last_ns + 20 * NS_PER_MS);
		assert_int_equal((frame.begin_ns - tick_ns) % (20 * NS_PER_MS), 0);
		last_ns = frame.begin_ns;
		now_ns = frame.begin_ns + frame.cpu_ns + late_ns;
	}
}

TEST(scenes_of_a_game_drift_slowly_within_bounds)
{
	struct workload workload = parse("game:gpu_ms=10,cpu_ms=3,vsync_hz=100,seed=4", NULL);
	double least = INFINITY, most = 0, last = 0, sum = 0;
	uint64_t now_ns = 0;
	struct workload_run run;

	workload_start(&run, &workload, "a", 0);
	for (int second = 0; second < 1000; second++) {
		double ms = 0;

		for (int i = 0; i < 100; i++) {
			struct workload_frame frame = workload_next_frame(&run, now_ns);

			now_ns = frame.begin_ns + frame.cpu_ns;
			ms += (double)frame.gpu_ns / 1e6 / 100;
		}
		assert_true(ms > 6.85 && ms < 13.15);
		if (second > 0)
			assert_near(ms, last, 1);
		least = fmin(least, ms);
		most = fmax(most, ms);
		sum += ms;
		last = ms;
	}
	assert_true(least < 7.5 && most > 12.5);
	assert_near(sum / 1000, 10, 0.5);
}

TEST(a_game_runs_at_the_rate_of_its_screen_or_skips_ticks)
{
	static const struct {
		const char *workload;
		int cap_pct;
		double fps_min, fps_max;
	} rows[] = {
		{"game:gpu_ms=5,cpu_ms=3,vsync_hz=60", 100, 59.9, 60.1},
		{"game:gpu_ms=5,cpu_ms=3,vsync_hz=60", 50, 59.9, 60.1},
		/* The CPU time is longer than a tick, so a frame starts at every second tick. */
		{"game:gpu_ms=1,cpu_ms=20,vsync_hz=60", 100, 29.9, 30.1},
		/* The GPU time is longer than a tick, so the GPU is always busy. */
		{"game:gpu_ms=20,cpu_ms=3,vsync_hz=60", 50, 22, 28},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sim *sim = new_sim();
		struct sim_vgpu *vgpu = add(sim, "a", rows[i].cap_pct, rows[i].workload, NULL);
		struct sim_counters c;

		sim_advance(sim, 100 * NS_PER_S);
		sim_read(sim, vgpu, &c);
		assert_true(c.makes_frames);
		assert_true((double)c.frames / 100 > rows[i].fps_min);
		assert_true((double)c.frames / 100 < rows[i].fps_max);
		sim_free(sim);
	}
}

/* --- demand --- */

struct demand_row {
	const char *workload;
	struct trace_point points[4];
	size_t n;
	int pct[12]; /* demand in each second, percent */
};

static void check_demand(const struct demand_row *row)
{
	struct trace *trace = row->n > 0 ? new_trace(row->points, row->n) : NULL;
	struct sim *sim = new_sim();
	struct sim_vgpu *vgpu = add(sim, "a", 0, row->workload, trace);
	uint64_t demand_ns = 0, busy_ns = 0;

	for (uint64_t s = 0; s < ARRAY_SIZE(row->pct); s++) {
		double want_ns = row->pct[s] * 1e7;

		/* Additional reads must not change the result. */
		for (uint64_t read = 1; read <= 3; read++) {
			sim_advance(sim, s * NS_PER_S + read * 333333333);
			(void)sim_vgpu_demand_ns(sim, vgpu);
		}
		sim_advance(sim, (s + 1) * NS_PER_S);
		if (fabs((double)(sim_vgpu_demand_ns(sim, vgpu) - demand_ns) - want_ns) > 1000 ||
		    fabs((double)(sim_vgpu_busy_ns(vgpu) - busy_ns) - want_ns) > 1000)
			fail_msg("%s, second %u: demand %g s, busy %g s", row->workload,
				 (unsigned int)s,
				 (double)(sim_vgpu_demand_ns(sim, vgpu) - demand_ns) / 1e9,
				 (double)(sim_vgpu_busy_ns(vgpu) - busy_ns) / 1e9);
		demand_ns = sim_vgpu_demand_ns(sim, vgpu);
		busy_ns = sim_vgpu_busy_ns(vgpu);
	}
	sim_free(sim);
	trace_free(trace);
}

static const struct demand_row demands[] = {
	{"idle", {{0, 0, 0}}, 0, {0}},
	{"load:pct=30", {{0, 0, 0}}, 0, {30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30}},
	{"busy", {{0, 0, 0}}, 0, {100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100}},
	{"square:period_s=4,low_pct=10,high_pct=50", .points = {{0, 0, 0}}, 0,
	 .pct = {50, 50, 10, 10, 50, 50, 10, 10, 50, 50, 10, 10}},
	{"square:period_s=4,low_pct=0,high_pct=50,phase_s=3", .points = {{0, 0, 0}}, 0,
	 .pct = {0, 50, 50, 0, 0, 50, 50, 0, 0, 50, 50, 0}},
	{"square:period_s=0.02,low_pct=0,high_pct=50", .points = {{0, 0, 0}}, 0,
	 .pct = {25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25}},
	{"burst:on_s=2,off_s=3,pct=40,jitter=0", .points = {{0, 0, 0}}, 0,
	 .pct = {40, 40, 0, 0, 0, 40, 40, 0, 0, 0, 40, 40}},
	/* A point is valid until the next point. After the end of the trace, demand is 0. */
	{"trace:file=x", .points = {{0, 0, 5}, {1, 0, 80}, {2, 0, 0}, {4, 0, 100}}, 4,
	 .pct = {5, 80, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0}},
	/* Playback starts at the first point, even if the time of this point is not 0. */
	{"trace:file=x", {{70, 0, 5}, {71, 0, 80}, {73, 0, 7}}, 3, {5, 80, 80, 7, 0}},
	{"trace:file=x,loop=on", .points = {{0, 0, 5}, {1, 0, 80}, {2, 0, 1}}, 3,
	 .pct = {5, 80, 1, 5, 80, 1, 5, 80, 1, 5, 80, 1}},
	{"trace:file=x,offset_s=1.5,length_s=2",
	 .points = {{0, 0, 5}, {1, 0, 80}, {2, 0, 20}, {4, 0, 9}}, 4, .pct = {50, 20, 0}},
	{"trace:file=x,offset_s=1,length_s=2,loop=on",
	 .points = {{0, 0, 5}, {1, 0, 80}, {2, 0, 20}, {4, 0, 9}}, 4,
	 .pct = {80, 20, 80, 20, 80, 20, 80, 20, 80, 20, 80, 20}},
	{"trace:file=x,scale=0.5", {{0, 0, 50}, {1, 0, 80}}, 2, {25, 40}},
	{"trace:file=x,scale=2", {{0, 0, 30}, {1, 0, 80}}, 2, {60, 100}},
	{"trace:file=x,interpolate=on", .points = {{0, 0, 0}, {4, 0, 80}, {6, 0, 0}}, 3,
	 .pct = {10, 30, 50, 70, 60, 20, 0}},
	{"trace:file=x,gap=hold", .points = {{0, 0, 30}, {8, 0, 10}, {9, 0, 20}}, 3,
	 .pct = {30, 30, 30, 30, 30, 30, 30, 30, 10, 20}},
	{"trace:file=x,gap=idle,gap_s=2", .points = {{0, 0, 30}, {8, 0, 10}, {9, 0, 20}}, 3,
	 .pct = {30, 30, 0, 0, 0, 0, 0, 0, 10, 20}},
	{"trace:file=x,gap_s=8", .points = {{0, 0, 30}, {8, 0, 10}}, 2,
	 .pct = {30, 30, 30, 30, 30, 30, 30, 30, 10, 10, 10, 10}},
};

TEST(demand_follows_the_workload_second_by_second)
{
	for (size_t i = 0; i < ARRAY_SIZE(demands); i++)
		check_demand(&demands[i]);
}

/* In the gap from 0 to 6 s the demand is constant. From 6 to 8 s it rises linearly. */
TEST(gaps_are_not_interpolated)
{
	static const struct trace_point points[] = {{0, 0, 30}, {6, 0, 10}, {8, 0, 20}};
	struct trace *trace = new_trace(points, 3);
	struct sim *sim = new_sim();
	struct sim_vgpu *vgpu =
		add(sim, "a", 0, "trace:file=x,gap=hold,gap_s=2,interpolate=on", trace);

	sim_advance(sim, 6 * NS_PER_S);
	assert_near((double)sim_vgpu_demand_ns(sim, vgpu), 1.8e9, 10);
	sim_advance(sim, 7 * NS_PER_S);
	assert_near((double)sim_vgpu_demand_ns(sim, vgpu), 1.925e9, 10);
	sim_advance(sim, 8 * NS_PER_S);
	assert_near((double)sim_vgpu_demand_ns(sim, vgpu), 2.1e9, 10);
	sim_free(sim);
	trace_free(trace);
}

TEST(a_part_outside_of_the_trace_is_an_error)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{"trace:file=x,offset_s=9",
		 "workload trace: offset_s 9: outside of x (allowed: 10 to 21)"},
		{"trace:file=x,offset_s=21",
		 "workload trace: offset_s 21: outside of x (allowed: 10 to 21)"},
		{"trace:file=x,offset_s=12,length_s=9.5,gap=hold",
		 "workload trace: length_s 9.5: x is too short (allowed: up to 9)"},
		{"trace:file=x",
		 "point 4: gap of 8 s (allowed: up to 5 s; with gap=hold or gap=idle any gap)"},
		{"trace:file=x,offset_s=11,length_s=1.1",
		 "point 4: gap of 8 s (allowed: up to 5 s; with gap=hold or gap=idle any gap)"},
		{"trace:file=x,offset_s=11,length_s=1", NULL},
		{"trace:file=x,offset_s=20", NULL},
		{"busy", "workload busy: not a trace"},
	};
	static const struct trace_point points[] = {{10, 0, 1}, {11, 0, 2}, {12, 0, 3}, {20, 0, 4}};
	struct trace *trace = new_trace(points, 4);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct workload workload;
		struct err err = {""};
		int r = workload_from_trace(rows[i].text, trace, &workload, &err);

		assert_string_equal(err.msg, rows[i].message ? rows[i].message : "");
		assert_int_equal(r, rows[i].message ? -EINVAL : 0);
	}
	trace_free(trace);
}

TEST(file_names_are_relative_to_the_given_folder)
{
	char folder[] = "/tmp/test-sim-tenants-XXXXXX", path[64], text[128], want[128];
	struct trace *trace = NULL;
	struct workload workload;
	struct err err = {""};
	FILE *file;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/a.csv", folder);
	snprintf(text, sizeof(text), "trace:file=%s", path);
	snprintf(want, sizeof(want), "%s: cannot be read: No such file or directory", path);
	assert_int_equal(workload_load("trace:file=a.csv", folder, &workload, &trace, &err),
			 -ENOENT);
	assert_string_equal(err.msg, want);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs("t_s,fps_uncapped,demand_pct\n0,60,25\n", file) > 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(workload_load("trace:file=a.csv", folder, &workload, &trace, &err), 0);
	assert_int_equal(workload.kind, WORKLOAD_FRAMES);
	assert_ptr_equal(workload.playback.trace, trace);
	trace = trace_free(trace);
	assert_int_equal(workload_load(text, "/nowhere", &workload, &trace, &err), 0);
	trace = trace_free(trace);
	assert_int_equal(workload_load(text, NULL, &workload, &trace, &err), 0);
	trace_free(trace);
	assert_int_equal(workload_load("busy", folder, &workload, &trace, &err), 0);
	assert_null(trace);
	assert_int_equal(
		workload_load("trace:file=a.csv,offset_s=7", folder, &workload, &trace, &err),
		-EINVAL);
	assert_null(trace);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

TEST(bursts_are_random_and_depend_on_the_seed)
{
	double on_s[3];
	uint64_t sums[3] = {0};
	static const char *const texts[] = {"burst:on_s=2,off_s=6,pct=80,seed=1",
					    "burst:on_s=2,off_s=6,pct=80,seed=1",
					    "burst:on_s=2,off_s=6,pct=80,seed=2"};

	for (int i = 0; i < 3; i++) {
		struct sim *sim = new_sim();
		struct sim_vgpu *vgpu = add(sim, i == 1 ? "b" : "a", 0, texts[i], NULL);

		for (uint64_t s = 1; s <= 20000; s++) {
			sim_advance(sim, s * NS_PER_S);
			sums[i] = sums[i] * 31 + sim_vgpu_demand_ns(sim, vgpu);
		}
		on_s[i] = (double)sim_vgpu_demand_ns(sim, vgpu) / 0.8e9;
		assert_near(on_s[i] / 20000, 0.25, 0.02);
		sim_free(sim);
	}
	assert_int_equal(sums[0], sums[1]);
	assert_true(sums[0] != sums[2]);
}

TEST(queued_demand_is_counted_once)
{
	static const struct trace_point points[] = {{0, 0, 60}, {5, 0, 60}, {10, 0, 0}};
	struct trace *trace = new_trace(points, 3);
	struct sim *sim = new_sim();
	struct sim_vgpu *vgpu = add(sim, "a", 20, "trace:file=x", trace);

	sim_advance(sim, 10 * NS_PER_S);
	assert_near((double)sim_vgpu_demand_ns(sim, vgpu), 6e9, 100);
	assert_int_equal(sim_vgpu_busy_ns(vgpu), 2 * NS_PER_S);
	sim_set_cap(sim, vgpu, 100);
	sim_advance(sim, 15 * NS_PER_S);
	assert_near((double)sim_vgpu_demand_ns(sim, vgpu), 6e9, 100);
	assert_near((double)sim_vgpu_busy_ns(vgpu), 6e9, 1000);
	sim_free(sim);
	trace_free(trace);
}

TEST(demand_is_cumulative_over_programs)
{
	struct workload next = parse("frame:gpu_ms=10,cpu_ms=10", NULL);
	struct sim *sim = new_sim();
	struct sim_vgpu *vgpu = add(sim, "a", 10, "load:pct=25", NULL);

	sim_advance(sim, 1550 * NS_PER_MS);
	assert_int_equal(sim_vgpu_demand_ns(sim, vgpu), 387500000);
	sim_set_workload(sim, vgpu, &next);
	assert_int_equal(sim_vgpu_demand_ns(sim, vgpu), 387500000);
	sim_advance(sim, 3550 * NS_PER_MS);
	/* The CPU of a starved renderer prepares two or three frames that the GPU has not
	 * rendered yet. */
	assert_near((double)sim_vgpu_demand_ns(sim, vgpu), 387500000 + 0.2e9 + 3e7, 2e7);
	sim_free(sim);
}

/* --- traces with frames --- */

TEST(recorded_frames_are_drawn_at_the_recorded_rate)
{
	static const struct trace_point points[] = {
		{0, 60, 30}, {4, 144.5, 80}, {8, 0, 50}, {12, 25, 0}, {16, 0.5, 1}};
	static const double fps[] = {60, 144.5, 0, 25, 0.5}, pct[] = {30, 80, 50, 0, 1};
	struct trace *trace = new_trace(points, 5);
	struct sim *sim = new_sim();
	struct sim_vgpu *vgpu = add(sim, "a", 0, "trace:file=x,loop=on", trace);
	uint64_t frames = 0, busy_ns = 0, demand_ns = 0;

	for (uint64_t i = 0; i < 25; i++) {
		struct sim_counters c;

		sim_advance(sim, (i + 1) * 4 * NS_PER_S);
		sim_read(sim, vgpu, &c);
		assert_true(c.makes_frames);
		assert_near((double)(c.frames - frames), 4 * fps[i % 5], 1.5);
		/* A frame at the border of two intervals may be counted in either interval. */
		assert_near((double)(c.busy_ns - busy_ns) / 4e7, pct[i % 5], 5.5);
		assert_near((double)(sim_vgpu_demand_ns(sim, vgpu) - demand_ns) / 4e7, pct[i % 5],
			    0.001);
		frames = c.frames;
		busy_ns = c.busy_ns;
		demand_ns = sim_vgpu_demand_ns(sim, vgpu);
	}
	assert_near((double)frames, 5 * 4 * 230, 5);
	assert_near((double)busy_ns, (double)demand_ns, 0.3e9);
	sim_free(sim);
	trace_free(trace);
}

TEST(late_recorded_frames_are_skipped)
{
	static const struct trace_point points[] = {
		{0, 60, 60}, {5, 60, 60}, {10, 60, 60}, {15, 60, 60}, {20, 0, 0}};
	struct trace *trace = new_trace(points, 5);
	struct sim *sim = new_sim();
	struct sim_vgpu *vgpu = add(sim, "a", 20, "trace:file=x", trace);
	struct sim_counters c;

	sim_advance(sim, 10 * NS_PER_S);
	sim_read(sim, vgpu, &c);
	assert_near((double)c.frames, 200, 3); /* 20 % of 10 s is 2 s: 200 frames of 10 ms */
	sim_set_cap(sim, vgpu, 0);
	sim_advance(sim, 30 * NS_PER_S);
	sim_read(sim, vgpu, &c);
	assert_near((double)c.frames, 800, 4);
	assert_near((double)sim_vgpu_demand_ns(sim, vgpu), 12e9, 100);
	sim_free(sim);
	trace_free(trace);
}

/* --- all workloads --- */

static uint64_t busy_after(uint64_t chunk_ns, const struct trace *trace, const struct trace *frames)
{
	static const char *const texts[] = {"game:gpu_ms=9,cpu_ms=5,vsync_hz=60",
					    "square:period_s=0.7,low_pct=3,high_pct=30",
					    "burst:on_s=0.3,off_s=0.4,pct=60",
					    "trace:file=x,loop=on", "trace:file=x,interpolate=on"};
	uint64_t now_ns = 0, sum = 0;
	struct sim *sim = new_sim();
	char id[ID_MAX];

	for (int i = 0; i < 5; i++) {
		snprintf(id, sizeof(id), "v%d", i);
		add(sim, id, 20, texts[i], i == 3 ? trace : i == 4 ? frames : NULL);
	}
	while (now_ns < 10 * NS_PER_S) {
		now_ns += chunk_ns;
		sim_advance(sim, now_ns < 10 * NS_PER_S ? now_ns : 10 * NS_PER_S);
	}
	for (int i = 0; i < 5; i++) {
		snprintf(id, sizeof(id), "v%d", i);
		sum = sum * 31 + sim_vgpu_busy_ns(sim_find(sim, id));
	}
	sim_free(sim);
	return sum;
}

TEST(results_do_not_depend_on_the_size_of_time_steps)
{
	static const struct trace_point points[] = {{0, 0, 60}, {1, 0, 10}, {2.5, 0, 40}};
	static const struct trace_point with_frames[] = {
		{0, 60, 60}, {1, 30, 10}, {2.5, 0, 40}, {4, 10, 10}, {9, 10, 10}};
	struct trace *trace = new_trace(points, 3), *frames = new_trace(with_frames, 5);
	uint64_t sum = busy_after(10 * NS_PER_S, trace, frames);

	assert_int_equal(busy_after(10007, trace, frames), sum);
	assert_int_equal(busy_after(7777777, trace, frames), sum);
	assert_int_equal(busy_after(TENTH_NS, trace, frames), sum);
	trace_free(trace);
	trace_free(frames);
}
