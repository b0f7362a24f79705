/* SPDX-License-Identifier: MIT */
/*
 * Reports of gover-fleet: the state, its alerts, and the recorded migrations; and what a restarted
 * daemon knows about migrations and past demands.
 */
#include <math.h>

#include "gover-d/store/contracts.h"
#include "gover-d/tick/learned.h"
#include "policy/qos/moving.h"
#include "tests/unit/gover-d/manager/test-manager.h"

static const struct fleet_report published = {
	.state = FLEET_PUBLISHED,
	.cloud = "https://cloud",
	.ttl_s = 60,
};

static void report(const struct fleet_report *given)
{
	control_fleet_report(&m->changes, given, now);
}

static void expect_only(enum alert_kind kind, const char *word)
{
	static const enum alert_kind kinds[] = {ALERT_FLEET_UNREACHABLE, ALERT_FLEET_GONE,
						ALERT_FLEET_LEAK, ALERT_FLEET_UNVERIFIED};

	tick(4);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct alert *alert = find_active_alert(kinds[i], NULL);
		const char *text = alert ? alert->text : NULL;

		if ((text != NULL) != (kinds[i] == kind))
			fail_msg("alert %d: %s", (int)kinds[i], text ? text : "not active");
		if (text && !strstr(text, word))
			fail_msg("alert %d: %s", (int)kinds[i], text);
	}
}

TEST(each_condition_raises_its_alert_and_ends)
{
	struct fleet_report changed = published;

	start();
	assert_int_equal(fleet_state_at(&m->fleet, now), FLEET_UNKNOWN);
	expect_only(ALERT_KINDS, "");
	report(&published);
	expect_only(ALERT_KINDS, "");
	changed.state = FLEET_UNREACHABLE;
	strcpy(changed.problem, "connection refused");
	report(&changed);
	expect_only(ALERT_FLEET_UNREACHABLE, "https://cloud: connection refused");
	report(&published);
	expect_only(ALERT_KINDS, "");
	changed = published;
	changed.unverified = 3;
	report(&changed);
	expect_only(ALERT_FLEET_UNVERIFIED, "3 virtual machines");
	changed = published;
	changed.n_leaks = 1;
	changed.leaks[0] = (struct fleet_leak){"gpu0", "HALF", 5, 2};
	report(&changed);
	expect_only(ALERT_FLEET_LEAK, "5 allocations of flavour HALF on GPU gpu0");
	report(&published);
	expect_only(ALERT_KINDS, "");
}

TEST(after_its_time_a_report_is_gone)
{
	struct fleet_report troubled = published;

	start();
	troubled.state = FLEET_UNREACHABLE;
	troubled.unverified = 1;
	troubled.n_leaks = 1;
	troubled.leaks[0] = (struct fleet_leak){"gpu0", "HALF", 5, 2};
	report(&troubled);
	tick(59);
	assert_int_equal(fleet_state_at(&m->fleet, now), FLEET_UNREACHABLE);
	assert_null(find_active_alert(ALERT_FLEET_GONE, NULL));
	tick(1);
	assert_int_equal(fleet_state_at(&m->fleet, now), FLEET_GONE);
	expect_only(ALERT_FLEET_GONE, "limit 60 s");
	report(&published);
	expect_only(ALERT_KINDS, "");
	restart();
	tick(100);
	assert_int_equal(fleet_state_at(&m->fleet, now), FLEET_UNKNOWN);
	expect_only(ALERT_KINDS, "");
}

/* Returns the newest decision. */
static const struct decision *newest(void)
{
	return decisions_after(m->recorder.decisions, decisions_last_id(m->recorder.decisions) - 1);
}

static int move(const char *vgpu, enum fleet_migration_state state, int64_t duration_ms,
		const char *to, const char *reason)
{
	struct fleet_migration migration = {.state = state, .duration_ms = duration_ms};

	snprintf(migration.to, sizeof(migration.to), "%s", to);
	snprintf(migration.reason, sizeof(migration.reason), "%s", reason);
	err.msg[0] = '\0';
	return await_change(
		control_fleet_migration(&m->changes, vgpu, &migration, now, at_end, &err));
}

TEST(a_migration_is_recorded_as_a_decision)
{
	static const struct {
		enum fleet_migration_state state;
		int64_t duration_ms;
		const char *to, *reason, *why;
	} rows[] = {
		{FLEET_REQUESTED, -1, "host2", "overload",
		 "the migration of vGPU a to host2 was requested: overload"},
		{FLEET_COMPLETED, 2500, "host2", "",
		 "the migration of vGPU a to host2 was completed after 2.5 s"},
		{FLEET_FAILED, -1, "", "no host", "the migration of vGPU a failed: no host"},
	};

	start();
	sell("a", 50, 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(
			move("a", rows[i].state, rows[i].duration_ms, rows[i].to, rows[i].reason),
			0);
		assert_int_equal(newest()->kind, DECISION_MIGRATION);
		assert_string_equal(newest()->gpu, "gpu0");
		assert_string_equal(newest()->vgpu, "a");
		assert_string_equal(newest()->why, rows[i].why);
		assert_int_equal(vgpu("a")->last_decision_id, newest()->id);
		assert_int_equal(m->fleet.migrations[rows[i].state], 1);
	}
	assert_float_equal(m->fleet.migration_s, 2.5, 1e-9);
}

TEST(a_vgpu_that_has_left_is_known_by_its_request)
{
	start();
	sell("a", 50, 0);
	assert_int_equal(move("b", FLEET_REQUESTED, -1, "", ""), CONTROL_E_NOT_FOUND);
	assert_non_null(strstr(err.msg, "b"));
	assert_int_equal(move("a", FLEET_REQUESTED, -1, "", ""), 0);
	assert_int_equal(remove_vgpu("a"), 0);
	assert_int_equal(move("a", FLEET_COMPLETED, 1000, "", ""), 0);
	assert_string_equal(newest()->gpu, "gpu0");
	for (int i = 0; i < FLEET_ASKED_MAX; i++)
		fleet_remember(&m->fleet, "other", "gpu0");
	assert_int_equal(move("a", FLEET_COMPLETED, 1000, "", ""), CONTROL_E_NOT_FOUND);
	assert_int_equal(m->fleet.migrations[FLEET_COMPLETED], 1);
}

/* A host has one migration at a time: the newest. */
TEST(the_migration_in_progress_and_the_last_one)
{
	struct fleet *fleet;

	start();
	fleet = &m->fleet;
	sell("a", 50, 0);
	sell("b", 25, 0);
	assert_string_equal(fleet->course.vgpu, "");
	assert_string_equal(fleet->last.vgpu, "");
	assert_int_equal(move("a", FLEET_REQUESTED, -1, "", ""), 0);
	assert_string_equal(fleet->course.vgpu, "a");
	assert_string_equal(fleet->course.gpu, "gpu0");
	assert_int_equal(fleet->course.since_ms, now.wall_ms);
	/* the destination becomes known later: this is not another request */
	assert_int_equal(move("a", FLEET_REQUESTED, -1, "host2", ""), 0);
	assert_string_equal(fleet->course.to, "host2");
	assert_int_equal(fleet->migrations[FLEET_REQUESTED], 1);
	/* the end of another migration does not end this one */
	assert_int_equal(move("b", FLEET_FAILED, 7, "", "no host"), 0);
	assert_string_equal(fleet->course.vgpu, "a");
	assert_string_equal(fleet->last.vgpu, "b");
	assert_int_equal(move("a", FLEET_COMPLETED, 2500, "host2", ""), 0);
	assert_string_equal(fleet->course.vgpu, "");
	assert_string_equal(fleet->last.vgpu, "a");
	assert_int_equal(fleet->last.end.state, FLEET_COMPLETED);
	assert_int_equal(fleet->last.end.duration_ms, 2500);
	/* with a known destination, a request is a new one */
	assert_int_equal(move("a", FLEET_REQUESTED, -1, "host3", ""), 0);
	assert_int_equal(move("a", FLEET_REQUESTED, -1, "host3", ""), 0);
	assert_int_equal(fleet->migrations[FLEET_REQUESTED], 3);
}

TEST(the_policy_learns_from_the_migrations_of_gover_fleet)
{
	start();
	sell("a", 50, 0);
	tick(1);
	assert_false(m->host.gpus->view.migrates);
	report(&published);
	assert_int_equal(move("a", FLEET_REQUESTED, -1, "", ""), 0);
	tick(1);
	assert_true(m->host.gpus->view.migrates);
	assert_false(m->host.gpus->view.moving.unanswered);
	assert_int_equal(move("a", FLEET_FAILED, 1000, "", "refused"), 0);
	assert_true(m->host.gpus->view.moving.unanswered);
	tick(61); /* without another report, gover-fleet is gone */
	assert_false(m->host.gpus->view.migrates);
}

/* --- past demands and the estimate of migrations after a restart --- */

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
	strcpy(m->store.settings.config.policy, "qos");
}

static void append(const struct row *row)
{
	struct db_sample sample = {
		.ts_ms = now.wall_ms + row->slot * SLOT_MS + 10,
		.vgpu = {row->vgpu},
		.gpu = "gpu0",
		.sample = {.dt_s = 1,
			   .busy_valid = true,
			   .load = row->load_pct / 100,
			   .util = row->util_pct / 100,
			   .fps_valid = row->fps > 0,
			   .fps = row->fps},
		.cap_pct = row->cap_pct,
		.initial_cap_pct = 50,
		.target_fps = NAN,
		.broken = row->broken,
	};

	assert_int_equal(db_append_samples(m->recorder.history.db, NULL, &sample, 1), 0);
}

/* Loads the past as if @slots slots had passed since now. */
static void load_after(int slots)
{
	struct instant later = {.wall_ms = now.wall_ms + slots * SLOT_MS};

	db_flush(m->recorder.history.db);
	learned_load(&m->tick, later);
}

/* The demand of the slot that ended @age slots before the present one. */
static int past_pct(const char *id, int age)
{
	return vgpu(id)->policy.past.pct[(unsigned int)-age % POLICY_PAST_SLOTS];
}

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
		tear_down();
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

		tear_down();
		assert_int_equal(set_up(), 0);
		start_with_contracts(0);
		append(&cases[i].other);
		append(&newest);
		load_after(cases[i].newest + 1);
		assert_int_equal(past_pct("a", 1), 3);
		assert_int_equal(vgpu("a")->policy.past.slots, 2);
		assert_int_equal(vgpu("a")->policy.past.peak_pct, 3);
	}
}

TEST(a_long_period_covers_several_slots)
{
	static const struct row row = {5, 'a', 10, 20, 0, 50, false};

	start_with_contracts(0);
	m->store.settings.config.period_ms = 10000;
	append(&row);
	load_after(6);
	assert_int_equal(vgpu("a")->policy.past.slots, 4);
	assert_int_equal(past_pct("a", 3), 10);
}

TEST(other_policies_read_no_past)
{
	static const struct row row = {0, 'a', 10, 20, 0, 50, false};

	start_with_contracts(0);
	strcpy(m->store.settings.config.policy, "gover");
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
		period_run(&m->tick, now, false);
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
		assert_int_equal(contracts_load(m->store.contracts_path, &contracts, &err), 0);
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
	revision = m->store.revision;
	tick(5);
	assert_false(m->store.running);
	assert_int_equal(m->store.revision, revision);
}
