/* SPDX-License-Identifier: MIT */
/* The past demands and the estimate of migrations after a restart of the daemon. */
#include <math.h>

#include "tests/unit/gover-d/core/test-manager.h"

#include "gover-d/core/learned.h"
#include "gover-d/store/contracts.h"
#include "policy/qos/moving.h"

#define SLOT_MS 4000

/* A sample of vGPU a or b in a slot of the past; slot 0 begins now. */
struct row {
	int slot;
	char vgpu;
	double load_pct, util_pct, fps;
	int cap_pct;
	bool broken;
};

/* Starts with two contracts of 50 %. Policy gover reads no past at the start. */
static void start_with_contracts(double target_fps)
{
	start();
	sell("a", 50, 0.1);
	sell("b", 50, 0.1);
	vgpu("a")->contract.terms.target_fps = target_fps;
	now = clock_now();
	strcpy(m->config.policy, "qos");
}

static void append(const struct row *row)
{
	struct db_sample sample = {
		.ts_ms = now.wall_ms + row->slot * SLOT_MS + 10,
		.vgpu = {row->vgpu},
		.gpu = "gpu0",
		.dt_s = 1,
		.cap_pct = row->cap_pct,
		.initial_cap_pct = 50,
		.load_pct = row->load_pct,
		.util_pct = row->util_pct,
		.fps = row->fps > 0 ? row->fps : NAN,
		.target_fps = NAN,
		.frame_p99_ms = NAN,
		.broken = row->broken,
	};

	assert_int_equal(db_append_sample(m->history.db, &sample), 0);
}

/* Loads the past as if @slots slots had passed since now. */
static void load_after(int slots)
{
	struct instant later = {.wall_ms = now.wall_ms + slots * SLOT_MS};

	db_flush(m->history.db);
	learned_load(m, later);
}

/* The demand of the slot that ended @age slots before the present one. */
static int past_pct(const char *id, int age)
{
	return vgpu(id)->policy.past.pct[(unsigned int)-age % POLICY_PAST_SLOTS];
}

FIXTURE(set_up, tear_down)

TEST(a_demand_follows_from_a_sample)
{
	static const struct {
		struct row row;
		double target_fps;
		int held, expected;
	} cases[] = {
		{{0, 'a', 20, 40, 0, 50, false}, 0, false, 20},
		{{0, 'a', 20.5, 40, 0, 50, false}, 0, false, 21},
		{{0, 'a', 30, 100, 0, 30, false}, 0, false, 49},  /* the cap limits the load */
		{{0, 'a', 30, 96, 0, 30, false}, 0, false, 30},	  /* the cap does not */
		{{0, 'a', 20, 40, 0, 50, true}, 0, false, 49},	  /* other vGPUs limit the load */
		{{0, 'a', 80, 100, 0, 50, false}, 0, false, 49},  /* at most the contract */
		{{0, 'a', 10, 30, 120, 50, false}, 60, false, 5}, /* faster than the target */
		{{0, 'a', 20, 100, 30, 20, true}, 60, false, 39}, /* slower than the target */
		{{0, 'a', 5, 30, 0, 40, false}, 0, true, 40}, /* the demand of a held vGPU is its
								 cap */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (i > 0)
			assert_int_equal(set_up(), 0);
		start_with_contracts(cases[i].target_fps);
		vgpu("a")->contract.held = cases[i].held;
		append(&cases[i].row);
		load_after(1);
		if (past_pct("a", 1) != cases[i].expected)
			fail_msg("case %zu: %d instead of %d", i, past_pct("a", 1),
				 cases[i].expected);
		assert_int_equal(vgpu("a")->policy.past.slots, 2);
		assert_int_equal(vgpu("b")->policy.past.slots, 0);
		if (i + 1 < ARRAY_SIZE(cases))
			assert_int_equal(tear_down(), 0);
	}
}

/*
 * The largest demand of each slot is stored. Slots in which the daemon did not run are left out,
 * also before and after all samples. A vGPU without a sample keeps its demand.
 */
TEST(slots_of_all_vgpus_stay_aligned)
{
	static const struct row rows[] = {
		{3, 'a', 10, 20, 0, 50, false},	 {3, 'a', 30, 60, 0, 50, false},
		{4, 'a', 5, 10, 0, 50, false},	 {4, 'b', 7, 14, 0, 50, false},
		{100, 'b', 9, 18, 0, 50, false}, {101, 'a', 2, 4, 0, 50, false},
		{101, 'b', 1, 2, 0, 50, false},
	};
	static const int a[] = {2, 5, 5, 30}, b[] = {1, 9, 7};

	start_with_contracts(0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		append(&rows[i]);
	load_after(110);
	for (size_t i = 0; i < ARRAY_SIZE(a); i++)
		assert_int_equal(past_pct("a", (int)i + 1), a[i]);
	for (size_t i = 0; i < ARRAY_SIZE(b); i++)
		assert_int_equal(past_pct("b", (int)i + 1), b[i]);
	assert_int_equal(vgpu("a")->policy.past.slots, 5);
	assert_int_equal(vgpu("b")->policy.past.slots, 4);
	assert_float_equal(vgpu("a")->policy.past.seen_s, 16, 0);
	assert_int_equal(vgpu("a")->policy.past.peak_pct, 30);
}

TEST(only_samples_of_the_contract_and_the_window_are_read)
{
	static const struct {
		struct row other;
		int newest;
	} cases[] = {
		{{-20, 'a', 40, 80, 0, 50, false}, 2}, /* an earlier contract of this id */
		{{1, 'a', 45, 90, 0, 50, false}, 1030},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct row newest = {cases[i].newest, 'a', 3, 6, 0, 50, false};

		if (i > 0)
			assert_int_equal(set_up(), 0);
		start_with_contracts(0);
		append(&cases[i].other);
		append(&newest);
		load_after(cases[i].newest + 1);
		assert_int_equal(past_pct("a", 1), 3);
		assert_int_equal(vgpu("a")->policy.past.slots, 2);
		assert_int_equal(vgpu("a")->policy.past.peak_pct, 3);
		if (i + 1 < ARRAY_SIZE(cases))
			assert_int_equal(tear_down(), 0);
	}
}

TEST(a_long_period_covers_several_slots)
{
	static const struct row row = {5, 'a', 10, 20, 0, 50, false};

	start_with_contracts(0);
	m->config.period_ms = 10000;
	append(&row);
	load_after(6);
	assert_int_equal(vgpu("a")->policy.past.slots, 4);
	assert_int_equal(past_pct("a", 3), 10);
}

TEST(other_policies_read_no_past)
{
	static const struct row row = {0, 'a', 10, 20, 0, 50, false};

	start_with_contracts(0);
	strcpy(m->config.policy, "gover");
	append(&row);
	load_after(1);
	assert_int_equal(vgpu("a")->policy.past.slots, 0);
}

/* The contract and all samples are older than the restart. */
TEST(a_restart_reads_the_past)
{
	strcpy(config.policy, "qos");
	start();
	sell("a", 50, 0.2);
	for (int i = 0; i < 3; i++) {
		now.mono_ns += NS_PER_S;
		now.wall_ms = clock_now().wall_ms;
		tick_run(m, now, false);
	}
	restart();
	assert_true(vgpu("a")->policy.past.slots >= 2);
	assert_int_equal(vgpu("a")->policy.past.peak_pct, 20);
}

/* --- migrations --- */

static void expect_estimate(const struct moving_estimate *got, const struct moving_estimate *wanted)
{
	assert_int_equal(got->unanswered, wanted->unanswered);
	assert_int_equal(got->answered, wanted->answered);
	assert_true(got->delay_s == wanted->delay_s);
}

TEST(the_estimate_of_migrations_survives_a_restart)
{
	static const struct moving_estimate learned[] = {
		{.answered = 2, .delay_s = 20.25},
		{.unanswered = true, .delay_s = 20.25},
		{.unanswered = false},
	};

	start();
	for (size_t i = 0; i < ARRAY_SIZE(learned); i++) {
		struct moving_estimate got;
		struct contracts contracts;

		moving_load(&gpu->view.moving, &learned[i]);
		tick(1);
		wait_for_saves();
		/* saved at once, so that a crash loses nothing */
		assert_int_equal(contracts_load(m->contracts_path, &contracts, &err), 0);
		expect_estimate(&contracts.gpus[0].migrations, &learned[i]);
		contracts_fini(&contracts);
		restart();
		got = moving_save(&gpu->view.moving);
		expect_estimate(&got, &learned[i]);
	}
}

TEST(an_unchanged_estimate_is_not_saved_again)
{
	static const struct moving_estimate learned = {.answered = 1, .delay_s = 5};
	int64_t revision;

	start();
	moving_load(&gpu->view.moving, &learned);
	tick(1);
	wait_for_saves();
	restart();
	wait_for_saves();
	revision = m->revision;
	tick(5);
	assert_false(m->save_running);
	assert_int_equal(m->revision, revision);
}
