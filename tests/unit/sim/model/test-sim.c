/* SPDX-License-Identifier: MIT */
/*
 * Tests the simulated GPU: caps, the programs of the paper, and results that depend only on seeds
 * and calls. Hashes compare the results with those of earlier versions. Lines printed with '#' are
 * for information; no test depends on the speed of the machine.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "sim/model/sim.c"
#include "sim/model/sim.h"
#include "tests/unit/unit.h"

static struct sim *sim;

static int begin(void)
{
	sim = sim_new();
	return 0;
}

static int end(void)
{
	sim = sim_free(sim);
	return 0;
}

FIXTURE(begin, end)

static void restart(void)
{
	(void)end();
	(void)begin();
}

static void set_workload(struct sim *of, struct sim_vgpu *vgpu, const char *text)
{
	struct workload workload;
	struct err err = {""};

	if (workload_parse(text, &workload, &err) < 0)
		fail_msg("%s", err.msg);
	sim_set_workload(of, vgpu, &workload);
}

static struct sim_vgpu *add(struct sim *of, const char *id, int cap_pct, const char *workload)
{
	struct sim_vgpu *vgpu;

	assert_int_equal(sim_add(of, id, cap_pct, &vgpu), 0);
	set_workload(of, vgpu, workload);
	return vgpu;
}

static struct sim_counters read_counters(const struct sim *of, struct sim_vgpu *vgpu)
{
	struct sim_counters counters;

	sim_read(of, vgpu, &counters);
	return counters;
}

static void assert_between(double value, double least, double most)
{
	if (!(value >= least && value <= most))
		fail_msg("%g: not between %g and %g", value, least, most);
}

TEST(saturating_vgpus_get_their_caps)
{
	static const struct {
		int caps[3];
		const char *workload;
	} rows[] = {
		{{20, 30, 50}, "busy"},
		{{20, 30, 50}, "frame:gpu_ms=7,cpu_ms=1"},
		{{10, 20, 30}, "plot3d"},
		{{1, 33, 66}, "load:pct=100"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		static const char *const ids[] = {"a", "b", "c"};
		struct sim_vgpu *vgpus[3];

		for (int j = 0; j < 3; j++)
			vgpus[j] = add(sim, ids[j], rows[i].caps[j], rows[i].workload);
		sim_advance(sim, 10 * NS_PER_S);
		for (int j = 0; j < 3; j++) {
			struct sim_counters c = read_counters(sim, vgpus[j]);

			assert_int_equal(c.sched_ns, (uint64_t)rows[i].caps[j] * NS_PER_S / 10);
			assert_between((double)c.busy_ns / 1e8, rows[i].caps[j] - 0.5,
				       rows[i].caps[j]);
		}
		restart();
	}
}

TEST(programs_of_the_paper_reach_their_frame_rates)
{
	static const struct {
		const char *workload;
		int cap_pct;
		double fps_min, fps_max, load_min_pct, load_max_pct;
	} rows[] = {
		{"glxgears", 100, 248, 252, 12.3, 12.7},
		{"glxgears", 50, 248, 252, 12.3, 12.7},
		{"glxgears", 7, 138, 142, 6.9, 7.0},
		{"glmark2", 50, 300, 330, 46, 50},
		{"glmark2", 30, 180, 200, 29.8, 30},
		{"plot3d", 100, 54, 57, 78, 82},
		{"plot3d", 50, 33, 36, 49.5, 50},
		{"plot3d:fps_max=30", 50, 29.9, 30.1, 42.5, 44.5},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sim_vgpu *vgpu = add(sim, "a", rows[i].cap_pct, rows[i].workload);
		struct sim_counters c;
		double fps, load_pct;

		sim_advance(sim, 80 * NS_PER_S);
		c = read_counters(sim, vgpu);
		fps = (double)c.frames / 80;
		load_pct = (double)c.busy_ns / 8e8;
		printf("# %s at %d %%: %.1f fps, %.1f %% of the GPU\n", rows[i].workload,
		       rows[i].cap_pct, fps, load_pct);
		assert_between(fps, rows[i].fps_min, rows[i].fps_max);
		assert_between(load_pct, rows[i].load_min_pct, rows[i].load_max_pct);
		restart();
	}
}

TEST(programs_of_the_paper_reach_their_frame_rates_side_by_side)
{
	struct sim_vgpu *gears = add(sim, "gears", 33, "glxgears");
	struct sim_vgpu *mark = add(sim, "mark", 17, "glmark2");
	struct sim_vgpu *plot = add(sim, "plot", 50, "plot3d");

	sim_advance(sim, 40 * NS_PER_S);
	assert_between((double)read_counters(sim, gears).frames / 40, 245, 252);
	assert_between((double)read_counters(sim, mark).busy_ns / 4e8, 16.5, 17);
	assert_between((double)read_counters(sim, plot).frames / 40, 33, 36);
}

TEST(fps_max_paces_exactly)
{
	static const struct {
		const char *workload;
		double fps;
	} rows[] = {
		{"glxgears:fps_max=60", 60},
		{"glmark2:fps_max=160", 160},
		{"plot3d:fps_max=25", 25},
		{"frame:gpu_ms=1,cpu_ms=0,fps_max=0.5", 0.5},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sim_vgpu *vgpu = add(sim, "a", 50, rows[i].workload);

		sim_advance(sim, 20 * NS_PER_S);
		assert_between((double)read_counters(sim, vgpu).frames, rows[i].fps * 20 - 1,
			       rows[i].fps * 20 + 1);
		restart();
	}
}

TEST(starved_load_is_served_later)
{
	struct sim_vgpu *vgpu = add(sim, "a", 10, "load:pct=40");

	sim_advance(sim, 10 * NS_PER_S);
	assert_int_equal(read_counters(sim, vgpu).busy_ns, NS_PER_S);
	assert_int_equal(sim_set_cap(sim, vgpu, 100), 0);
	sim_advance(sim, 20 * NS_PER_S);
	assert_int_equal(read_counters(sim, vgpu).busy_ns, 8 * NS_PER_S);
	assert_int_equal(sim_busy_ns(sim), 8 * NS_PER_S);
}

TEST(a_starved_renderer_queues_at_most_two_frames)
{
	struct sim_vgpu *vgpu = add(sim, "a", 1, "frame:gpu_ms=100,cpu_ms=1000");
	uint64_t starved;

	sim_advance(sim, 55 * NS_PER_S);
	starved = read_counters(sim, vgpu).frames;
	assert_in_range(starved, 4, 6);
	/* At 55 s, two frames are queued, and the CPU has prepared a third frame. */
	sim_set_cap(sim, vgpu, 0);
	sim_advance(sim, 55 * NS_PER_S + 500 * NS_PER_MS);
	assert_int_equal(read_counters(sim, vgpu).frames, starved + 3);
	sim_advance(sim, 60 * NS_PER_S);
	assert_in_range(read_counters(sim, vgpu).frames, starved + 7, starved + 8);
}

TEST(frame_times_are_reset_by_a_read)
{
	struct sim_vgpu *vgpu = add(sim, "a", 50, "glxgears:fps_max=50");

	assert_true(read_counters(sim, vgpu).frame_p99_ms == 0);
	sim_advance(sim, 2 * NS_PER_S);
	assert_between(read_counters(sim, vgpu).frame_p99_ms, 19.4, 21);
	assert_true(read_counters(sim, vgpu).frame_p99_ms == 0);
	set_workload(sim, vgpu, "glxgears:fps_max=10");
	sim_advance(sim, 4 * NS_PER_S);
	assert_between(read_counters(sim, vgpu).frame_p99_ms, 97, 103);
}

TEST(the_99th_percentile_is_within_3_percent)
{
	static const struct {
		int fast, slow; /* numbers of frames that took 10 ms and 100 ms */
		double p99_ms;
	} rows[] = {
		{0, 0, 0}, {1, 0, 10}, {99, 1, 10}, {98, 2, 100}, {990, 10, 10}, {989, 11, 100},
	};
	struct frametime times = {0};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (int j = 0; j < rows[i].fast; j++)
			frametime_add(&times, 10 * NS_PER_MS);
		for (int j = 0; j < rows[i].slow; j++)
			frametime_add(&times, 100 * NS_PER_MS);
		assert_between(frametime_p99_ms(&times), rows[i].p99_ms * 0.97,
			       rows[i].p99_ms * 1.03);
		frametime_clear(&times);
	}
	/* Times below the first and above the last bucket are counted too. */
	frametime_add(&times, 0);
	assert_between(frametime_p99_ms(&times), 0, 0.02);
	frametime_add(&times, UINT64_MAX);
	assert_between(frametime_p99_ms(&times), 200e3, 300e3);
	frametime_clear(&times);
	for (uint64_t ns = 20000; ns < 200 * NS_PER_S; ns += ns / 7) {
		frametime_add(&times, ns);
		assert_between(frametime_p99_ms(&times) * 1e6, (double)ns * 0.97,
			       (double)ns * 1.032);
		frametime_clear(&times);
	}
}

/* The results of a run that uses every kind of call and workload. */
struct history {
	struct sim_counters counters[6];
	uint64_t busy_ns;
};

static void advance_in_chunks(struct sim *of, uint64_t to_ns, uint64_t chunk_ns, uint64_t *random)
{
	while (sim_now_ns(of) < to_ns) {
		*random = *random * 6364136223846793005u + 1442695040888963407u;
		uint64_t step_ns = 1 + (*random >> 33) % chunk_ns;
		uint64_t rest_ns = to_ns - sim_now_ns(of);

		sim_advance(of, sim_now_ns(of) + (step_ns < rest_ns ? step_ns : rest_ns));
	}
}

static struct history live(uint64_t chunk_ns)
{
	static const struct {
		const char *id, *workload;
		int cap_pct;
	} tenants[] = {
		{"a", "glxgears", 10},	{"b", "glmark2", 30}, {"c", "plot3d:fps_max=20", 25},
		{"d", "load:pct=7", 5}, {"e", "busy", 20},    {"f", "frame:gpu_ms=2,cpu_ms=0", 10},
	};
	struct history history;
	struct sim_vgpu *vgpus[6];
	uint64_t random = chunk_ns;

	restart();
	for (size_t i = 0; i < ARRAY_SIZE(tenants); i++) {
		vgpus[i] = add(sim, tenants[i].id, tenants[i].cap_pct, tenants[i].workload);
		advance_in_chunks(sim, (i + 1) * 333333333, chunk_ns, &random);
	}
	sim_set_cap(sim, vgpus[1], 45);
	advance_in_chunks(sim, 3 * NS_PER_S + 17, chunk_ns, &random);
	set_workload(sim, vgpus[4], "glmark2:scale=2");
	sim_remove(sim, vgpus[3]);
	vgpus[3] = add(sim, "d", 0, "glxgears:scale=0.5");
	advance_in_chunks(sim, 6 * NS_PER_S, chunk_ns, &random);
	memset(&history, 0, sizeof(history));
	for (size_t i = 0; i < ARRAY_SIZE(tenants); i++)
		sim_read(sim, vgpus[i], &history.counters[i]);
	history.busy_ns = sim_busy_ns(sim);
	return history;
}

static void assert_same_history(const struct history *a, const struct history *b)
{
	assert_int_equal(a->busy_ns, b->busy_ns);
	for (size_t i = 0; i < ARRAY_SIZE(a->counters); i++) {
		assert_int_equal(a->counters[i].busy_ns, b->counters[i].busy_ns);
		assert_int_equal(a->counters[i].sched_ns, b->counters[i].sched_ns);
		assert_int_equal(a->counters[i].frames, b->counters[i].frames);
		assert_true(a->counters[i].frame_p99_ms == b->counters[i].frame_p99_ms);
	}
}

TEST(the_same_calls_give_the_same_history)
{
	struct history a = live(NS_PER_S), b = live(NS_PER_S);

	assert_same_history(&a, &b);
}

TEST(results_do_not_depend_on_the_size_of_time_steps)
{
	static const uint64_t chunks_ns[] = {20000, 777777, 5 * NS_PER_MS, 100 * NS_PER_MS,
					     400 * NS_PER_MS};
	struct history whole = live(100 * NS_PER_S);

	for (size_t i = 0; i < ARRAY_SIZE(chunks_ns); i++) {
		struct history cut = live(chunks_ns[i]);

		assert_same_history(&whole, &cut);
	}
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * While only one vGPU has work, many turns are accounted at once. The result must be the same as
 * for turns that are accounted one by one.
 */
TEST(many_turns_at_once_equal_single_turns)
{
	static const struct {
		const char *id, *workload;
		int cap_pct;
	} tenants[] = {{"a", "load:pct=8.13", 9}, {"b", "load:pct=6.7", 7}, {"c", "glmark2", 0}};
	struct sim_vgpu *vgpus[2][ARRAY_SIZE(tenants)];
	struct sim *sims[] = {sim_new(), sim_new()};

	for (int k = 0; k < 2; k++) {
		for (size_t i = 0; i < ARRAY_SIZE(tenants); i++) {
			vgpus[k][i] = add(sims[k], tenants[i].id, tenants[i].cap_pct,
					  tenants[i].workload);
			sim_advance(sims[k], (i + 1) * 2345678);
		}
	}
	for (uint64_t ns = 20 * NS_PER_MS; ns < 3 * NS_PER_S; ns += 1234567) {
		sim_advance(sims[0], ns);
		while (sim_now_ns(sims[1]) < ns)
			sim_advance(sims[1], least(sim_now_ns(sims[1]) + 10007, ns));
		for (size_t i = 0; i < ARRAY_SIZE(tenants); i++)
			assert_int_equal(read_counters(sims[0], vgpus[0][i]).busy_ns,
					 read_counters(sims[1], vgpus[1][i]).busy_ns);
	}
	sim_free(sims[0]);
	sim_free(sims[1]);
}

TEST(another_seed_gives_another_history)
{
	struct sim_counters counters[2];

	for (int i = 0; i < 2; i++) {
		struct sim_vgpu *vgpu = add(sim, "a", 30, i ? "plot3d:seed=1" : "plot3d:seed=2");

		sim_advance(sim, 5 * NS_PER_S + 50 * NS_PER_MS);
		counters[i] = read_counters(sim, vgpu);
		restart();
	}
	assert_true(counters[0].frames != counters[1].frames ||
		    counters[0].frame_p99_ms != counters[1].frame_p99_ms);
}

TEST(time_never_runs_backwards)
{
	sim_advance(sim, 5 * NS_PER_S);
	sim_advance(sim, NS_PER_S);
	assert_int_equal(sim_now_ns(sim), 5 * NS_PER_S);
}

TEST(setting_the_same_workload_again_has_no_effect)
{
	struct sim_counters counters[2];

	for (int again = 0; again < 2; again++) {
		struct sim_vgpu *vgpu = add(sim, "a", 50, "glmark2");

		for (uint64_t i = 1; i <= 300; i++) {
			sim_advance(sim, i * 10 * NS_PER_MS);
			if (again)
				set_workload(sim, vgpu, "glmark2");
		}
		counters[again] = read_counters(sim, vgpu);
		restart();
	}
	assert_int_equal(counters[0].frames, counters[1].frames);
	assert_int_equal(counters[0].busy_ns, counters[1].busy_ns);
}

TEST(a_new_workload_replaces_the_old_one)
{
	struct sim_vgpu *vgpu = add(sim, "a", 100, "frame:gpu_ms=1000,cpu_ms=1");
	struct sim_counters before, after;

	sim_advance(sim, 3500 * NS_PER_MS);
	before = read_counters(sim, vgpu);
	assert_true(before.makes_frames);
	assert_int_equal(before.frames, 3);
	set_workload(sim, vgpu, "idle");
	sim_advance(sim, 9 * NS_PER_S);
	after = read_counters(sim, vgpu);
	assert_false(after.makes_frames);
	assert_int_equal(after.frames, 3);
	assert_int_equal(after.busy_ns, before.busy_ns);
	set_workload(sim, vgpu, "frame:gpu_ms=1000,cpu_ms=1");
	sim_advance(sim, 9500 * NS_PER_MS);
	set_workload(sim, vgpu, "load:pct=20");
	before = read_counters(sim, vgpu);
	sim_advance(sim, 10500 * NS_PER_MS);
	after = read_counters(sim, vgpu);
	assert_int_equal(after.frames, 3);
	assert_in_range(after.busy_ns - before.busy_ns, 200 * NS_PER_MS, 220 * NS_PER_MS);
}

TEST(a_cap_reads_back_as_set)
{
	struct sim_vgpu *vgpu = add(sim, "a", 50, "busy");

	sim_advance(sim, 50 * NS_PER_MS);
	assert_int_equal(sim_set_cap(sim, vgpu, 20), 0);
	assert_int_equal(sim_cap(vgpu), 20);
	assert_int_equal(sim_initial_cap(vgpu), 50);
	assert_int_equal(sim_set_cap(sim, vgpu, -1), -EINVAL);
	assert_int_equal(sim_set_cap(sim, vgpu, 101), -EINVAL);
	assert_int_equal(sim_cap(vgpu), 20);
	sim_advance(sim, 100 * NS_PER_MS);
	assert_int_equal(read_counters(sim, vgpu).sched_ns, 50 * NS_PER_MS);
	sim_advance(sim, 200 * NS_PER_MS);
	assert_int_equal(read_counters(sim, vgpu).sched_ns, 70 * NS_PER_MS);
	assert_int_equal(read_counters(sim, vgpu).busy_ns, 70 * NS_PER_MS);
}

TEST(invalid_vgpus_are_rejected)
{
	struct sim_vgpu *vgpu = NULL;
	char id[ID_MAX];
	size_t n = 0;

	assert_int_equal(sim_add(sim, "", 50, &vgpu), -EINVAL);
	assert_int_equal(sim_add(sim, "../a", 50, &vgpu), -EINVAL);
	assert_int_equal(sim_add(sim, "a", -1, &vgpu), -EINVAL);
	assert_int_equal(sim_add(sim, "a", 101, &vgpu), -EINVAL);
	assert_int_equal(sim_add(sim, "a", 50, &vgpu), 0);
	assert_int_equal(sim_add(sim, "a", 50, &vgpu), -EEXIST);
	for (int i = 1; i < SIM_VGPUS_MAX; i++) {
		snprintf(id, sizeof(id), "v%d", i);
		assert_int_equal(sim_add(sim, id, 50, &vgpu), 0);
	}
	assert_int_equal(sim_add(sim, "z", 50, &vgpu), -ENOSPC);
	assert_string_equal(sim_id(sim_find(sim, "v200")), "v200");
	assert_null(sim_find(sim, "z"));
	while (sim_at(sim, n))
		n++;
	assert_int_equal(n, SIM_VGPUS_MAX);
	assert_null(sim_free(NULL));
}

TEST(vgpus_are_added_and_removed_while_others_run)
{
	struct sim_vgpu *steady = add(sim, "steady", 40, "busy");
	char id[ID_MAX];
	uint64_t random = 9;

	for (uint64_t i = 1; i <= 4000; i++) {
		static const char *const workloads[] = {"glxgears", "glmark2", "load:pct=3",
							"busy"};
		struct sim_vgpu *vgpu;

		random = random * 6364136223846793005u + 1442695040888963407u;
		snprintf(id, sizeof(id), "v%u", (unsigned int)(random >> 40) % 60);
		vgpu = sim_find(sim, id);
		if (vgpu)
			sim_remove(sim, vgpu);
		else
			add(sim, id, 1, workloads[(random >> 34) % 4]);
		sim_advance(sim, i * 5 * NS_PER_MS);
	}
	assert_int_equal(read_counters(sim, steady).busy_ns, 8 * NS_PER_S);
	assert_true(sim_busy_ns(sim) > 8 * NS_PER_S && sim_busy_ns(sim) <= 20 * NS_PER_S);
}

TEST(many_vgpus_get_their_caps)
{
	struct sim_vgpu *vgpus[64];
	char id[ID_MAX];

	for (int i = 0; i < 64; i++) {
		snprintf(id, sizeof(id), "v%d", i);
		vgpus[i] = add(sim, id, 1 + (i % 2 && i < 62), i % 3 ? "busy" : "glmark2");
	}
	sim_advance(sim, 10 * NS_PER_S);
	for (int i = 0; i < 64; i++) {
		struct sim_counters c = read_counters(sim, vgpus[i]);

		assert_between((double)c.busy_ns, (double)c.sched_ns * 0.99, (double)c.sched_ns);
	}
}

/* --- hashes of the results --- */

/*
 * Each hash covers all counters in every interval of 100 ms. If a hash changes, new figures cannot
 * be compared with old figures.
 */

#define TENANTS 8

/* Adds bytes to a FNV-1a hash. */
static void mix(uint64_t *sum, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		*sum = (*sum ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
}

static void mix_counters(uint64_t *sum, struct sim_vgpu *vgpu)
{
	struct sim_counters c = read_counters(sim, vgpu);

	mix(sum, &c.busy_ns, sizeof(c.busy_ns));
	mix(sum, &c.sched_ns, sizeof(c.sched_ns));
	mix(sum, &c.frames, sizeof(c.frames));
	mix(sum, &c.frame_p99_ms, sizeof(c.frame_p99_ms));
}

struct row {
	const char *workloads[TENANTS]; /* NULL: end of the list */
	int caps[TENANTS];
	bool moving; /* true: the caps change every second */
	uint64_t sum;
};

static uint64_t hash_of(const struct row *row)
{
	struct sim_vgpu *vgpus[TENANTS];
	uint64_t sum = 0xcbf29ce484222325u;
	uint64_t random = 1;
	int n = 0;

	while (n < TENANTS && row->workloads[n]) {
		char id[ID_MAX];

		snprintf(id, sizeof(id), "v%d", n);
		vgpus[n] = add(sim, id, row->caps[n], row->workloads[n]);
		n++;
	}
	for (uint64_t t = 1; t <= 400; t++) {
		sim_advance(sim, t * (NS_PER_S / 10));
		for (int i = 0; i < n; i++)
			mix_counters(&sum, vgpus[i]);
		for (int i = 0; row->moving && t % 10 == 0 && i < n; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			sim_set_cap(sim, vgpus[i], (int)(random >> 33) % (200 / n));
		}
	}
	restart();
	return sum;
}

TEST(histories_have_not_changed)
{
	static const struct row rows[] = {
		{{"glxgears", "glmark2", "plot3d", "glxgears", "glmark2", "plot3d", "glxgears",
		  "glmark2"},
		 {13, 12, 13, 12, 13, 12, 13, 12},
		 false,
		 0x03d02a42136b27cd},
		{{"glxgears", "glmark2", "plot3d", "glxgears", "glmark2", "plot3d", "glxgears",
		  "glmark2"},
		 {5, 20, 30, 5, 10, 20, 5, 5},
		 true,
		 0x3b6c3423a5c8e3c9},
		{{"glxgears:fps_max=140", "glmark2:fps_max=160", "plot3d:fps_max=30",
		  "glmark2:seed=7", "plot3d:scale=0.5"},
		 {7, 25, 44, 12, 12},
		 true,
		 0x73e26968a1e739b0},
		{{"busy", "load:pct=12.5", "load:pct=40", "idle", "frame:gpu_ms=0.01,cpu_ms=0",
		  "frame:gpu_ms=30,cpu_ms=3"},
		 {0, 20, 10, 30, 1, 0},
		 false,
		 0xb41b701c0bb7a6f7},
		{{"busy", "load:pct=33.3", "load:pct=40", "glmark2", "frame:gpu_ms=0.01,cpu_ms=0",
		  "frame:gpu_ms=30,cpu_ms=3", "plot3d"},
		 {0, 20, 10, 30, 1, 0, 50},
		 true,
		 0xf1bb1bc85e1fb352},
		{{"game:gpu_ms=9,cpu_ms=5,vsync_hz=60", "square:period_s=7,low_pct=2,high_pct=40",
		  "burst:on_s=1,off_s=2,pct=60", "game:gpu_ms=2,cpu_ms=6,vsync_hz=144,seed=3"},
		 {40, 20, 30, 10},
		 true,
		 0xaf239027610db63f},
		{{"glmark2"}, {50}, false, 0xf66a0b71e9b38655},
		{{"busy"}, {33}, true, 0xf89defb0f2280ae5},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t sum = hash_of(&rows[i]);

		if (sum != rows[i].sum)
			fail_msg("row %zu: 0x%016llx", i, (unsigned long long)sum);
	}
}

TEST(print_the_speed)
{
	static const char *const workloads[] = {"glxgears", "glmark2", "plot3d"};
	const uint64_t seconds = 60;
	struct timespec begin, end;
	double took_s;
	char id[ID_MAX];

	for (int i = 0; i < 8; i++) {
		snprintf(id, sizeof(id), "v%d", i);
		add(sim, id, 12, workloads[i % 3]);
	}
	clock_gettime(CLOCK_MONOTONIC, &begin);
	sim_advance(sim, seconds * NS_PER_S);
	clock_gettime(CLOCK_MONOTONIC, &end);
	took_s = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
	printf("# 8 vGPUs frame by frame: %.0f x real time\n", (double)seconds / took_s);
	assert_between((double)sim_busy_ns(sim) / (double)(seconds * NS_PER_S), 0.9, 0.96);
}
