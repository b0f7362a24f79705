/* SPDX-License-Identifier: MIT */
/* Reports of gover-fleet: the state, its alerts, and the recorded migrations. */
#include "gover-d/core/control.h"
#include "tests/unit/gover-d/core/test-manager.h"

static const struct fleet_report published = {
	.state = FLEET_PUBLISHED,
	.cloud = "https://cloud",
	.ttl_s = 60,
};

/* Returns the text of the active alert @kind; NULL: it is not active. */
static const char *active(enum alert_kind kind)
{
	for (size_t i = 0; i < alerts_count(m->alerts); i++)
		if (alerts_at(m->alerts, i)->kind == kind && !alerts_at(m->alerts, i)->cleared_ms)
			return alerts_at(m->alerts, i)->text;
	return NULL;
}

static void report(const struct fleet_report *given)
{
	control_fleet_report(m, given, now);
}

static void expect_only(enum alert_kind kind, const char *word)
{
	static const enum alert_kind kinds[] = {ALERT_FLEET_UNREACHABLE, ALERT_FLEET_GONE,
						ALERT_FLEET_LEAK, ALERT_FLEET_UNVERIFIED};

	tick(4);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const char *text = active(kinds[i]);

		if ((text != NULL) != (kinds[i] == kind))
			fail_msg("alert %d: %s", (int)kinds[i], text ? text : "not active");
		if (text && !strstr(text, word))
			fail_msg("alert %d: %s", (int)kinds[i], text);
	}
}

FIXTURE(set_up, tear_down)

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
	assert_null(active(ALERT_FLEET_GONE));
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
	return decisions_after(m->decisions, decisions_last_id(m->decisions) - 1);
}

static int move(const char *vgpu, enum fleet_migration_state state, int64_t duration_ms,
		const char *to, const char *reason)
{
	struct fleet_migration migration = {.state = state, .duration_ms = duration_ms};

	snprintf(migration.to, sizeof(migration.to), "%s", to);
	snprintf(migration.reason, sizeof(migration.reason), "%s", reason);
	err.msg[0] = '\0';
	return control_fleet_migration(m, vgpu, &migration, now, &err);
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
	assert_int_equal(await_change(control_vgpu_remove(m, "a", at_end, &err)), 0);
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
