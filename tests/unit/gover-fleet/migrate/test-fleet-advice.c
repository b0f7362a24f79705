/* SPDX-License-Identifier: MIT */
/* gover-fleet/migrate/advice.h: which alerts move a vGPU, which vGPU moves, and when none does. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-fleet/migrate/advice.h"
#include "tests/unit/unit.h"

#define NOW_S 100000

/* Two vGPUs on gpu0, of which "a" has the smaller contract, and one on gpu1. All are in trouble. */
static struct state_vgpu vgpus[3];
static struct state_alert alerts[3];
static struct state_offer offers[2]; /* "a" failed its probation */
static struct advice_past past[2];
static struct host_state host;
static struct advice_input input;

static const struct instant now = {.mono_ns = NOW_S * NS_PER_S, .wall_ms = 1800000000000};

static int set_up(void)
{
	static const struct state_vgpu first[3] = {
		{.id = "a", .gpu = "gpu0", .vm = "vm-a", .initial_cap_pct = 40},
		{.id = "b", .gpu = "gpu0", .vm = "vm-b", .initial_cap_pct = 60},
		{.id = "c", .gpu = "gpu1", .vm = "vm-c", .initial_cap_pct = 30},
	};

	memcpy(vgpus, first, sizeof(vgpus));
	for (size_t i = 0; i < ARRAY_SIZE(vgpus); i++)
		vgpus[i].sold = vgpus[i].broken = true;
	memset(alerts, 0, sizeof(alerts));
	memset(past, 0, sizeof(past));
	offers[0] = (struct state_offer){.gpu = "gpu0", .open = true, .vgpu = "b"};
	offers[1] = (struct state_offer){.gpu = "gpu0", .failed = true, .vgpu = "a"};
	host = (struct host_state){
		.vgpus = vgpus,
		.offers = offers,
		.alerts = alerts,
		.n_vgpus = ARRAY_SIZE(vgpus),
		.n_offers = ARRAY_SIZE(offers),
	};
	input = (struct advice_input){
		.state = &host,
		.published = true,
		.past = past,
		.may_migrate = true,
		.limits = {ADVICE_HOLDOFF_S, ADVICE_STAY_S, ADVICE_RETRY_S, ADVICE_ASK_S},
	};
	return 0;
}

FIXTURE(set_up, NULL)

static void add_alert(const char *name, const char *gpu, const char *vgpu, const char *cause)
{
	struct state_alert *alert = &alerts[host.n_alerts++];

	*alert = (struct state_alert){0};
	snprintf(alert->name, sizeof(alert->name), "%s", name);
	snprintf(alert->gpu, sizeof(alert->gpu), "%s", gpu);
	snprintf(alert->vgpu, sizeof(alert->vgpu), "%s", vgpu);
	snprintf(alert->cause, sizeof(alert->cause), "%s", cause);
}

static void add_past(const char *vgpu, int ago_s, enum advice_end end)
{
	struct advice_past *p = &past[input.n_past++];

	snprintf(p->vgpu, sizeof(p->vgpu), "%s", vgpu);
	p->ended_ns = (NOW_S - (uint64_t)ago_s) * NS_PER_S;
	p->end = end;
}

static struct advice decide(void)
{
	struct advice advice;

	advice_decide(&input, now, &advice);
	return advice;
}

static void expect(enum advice_kind kind, const char *vgpu)
{
	struct advice advice = decide();

	if (advice.kind != kind || strcmp(advice.vgpu, vgpu) != 0)
		fail_msg("kind %d, vGPU '%s' (%s), expected kind %d, vGPU '%s'", advice.kind,
			 advice.vgpu, advice.reason, kind, vgpu);
}

TEST(test_only_a_cause_that_nothing_here_mends_moves_a_vgpu)
{
	static const struct {
		const char *alert, *cause;
		enum advice_kind kind;
	} rows[] = {
		{"severe_overload", "", ADVICE_MIGRATE},
		{"sale_failed", "", ADVICE_MIGRATE},
		{"promise_broken", "gpu_overcommitted", ADVICE_MIGRATE},
		{"promise_broken", "donors_at_floor", ADVICE_MIGRATE},
		{"promise_broken", "telemetry_stale", ADVICE_NOTHING},
		{"promise_broken", "caps_not_enforced", ADVICE_NOTHING},
		{"promise_broken", "guest_limit", ADVICE_NOTHING},
		{"promise_broken", "foreign_cap", ADVICE_NOTHING},
		{"promise_broken", "held", ADVICE_NOTHING},
		{"promise_broken", "contract_too_small", ADVICE_NOTHING},
		{"promise_broken", "not_acting", ADVICE_NOTHING},
		{"promise_broken", "cap_write_failed", ADVICE_NOTHING},
		{"promise_broken", "policy_idle", ADVICE_NOTHING},
		{"promise_broken", "adjusting", ADVICE_NOTHING},
		{"promise_broken", "", ADVICE_NOTHING},
		{"sum_over_100", "", ADVICE_NOTHING},
		{"fleet_unreachable", "", ADVICE_NOTHING},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		set_up();
		add_alert(rows[i].alert, "gpu0", "a", rows[i].cause);
		if (decide().kind != rows[i].kind)
			fail_msg("alert %s with cause '%s'", rows[i].alert, rows[i].cause);
	}
}

TEST(test_without_alerts_nothing_happens)
{
	struct advice advice = decide();

	assert_int_equal(advice.kind, ADVICE_NOTHING);
	assert_int_equal(advice.alarm, ADVICE_ALARMS);
	assert_string_equal(advice.reason, "");
	assert_true(advice.again_ns == 0);
}

TEST(test_the_result_names_vgpu_gpu_machine_and_reason)
{
	struct advice advice;

	add_alert("severe_overload", "gpu0", "a", "");
	advice = decide();
	assert_string_equal(advice.vgpu, "a");
	assert_string_equal(advice.gpu, "gpu0");
	assert_string_equal(advice.vm, "vm-a");
	assert_int_equal(advice.alarm, ADVICE_SEVERE_OVERLOAD);
	assert_string_equal(advice.reason, "alert severe_overload of GPU gpu0 names it");
}

/* An alert remains for up to 60 periods after its cause. */
TEST(test_an_alert_whose_cause_has_ended_moves_nothing)
{
	add_alert("promise_broken", "gpu0", "a", "gpu_overcommitted");
	add_alert("severe_overload", "gpu0", "b", "");
	vgpus[0].broken = false;
	expect(ADVICE_MIGRATE, "b");
	vgpus[1].broken = false;
	expect(ADVICE_NOTHING, "");
	vgpus[0].overloaded = true;
	expect(ADVICE_MIGRATE, "b");
}

TEST(test_an_unnamed_severe_overload_is_left_to_the_policy)
{
	add_alert("severe_overload", "gpu0", "", "");
	expect(ADVICE_NOTHING, "");
}

TEST(test_a_vgpu_that_is_not_here_cannot_leave)
{
	add_alert("severe_overload", "gpu0", "gone", "");
	expect(ADVICE_NOTHING, "");
	alerts[0] = (struct state_alert){.name = "severe_overload", .gpu = "gpu1", .vgpu = "a"};
	expect(ADVICE_NOTHING, "");
}

TEST(test_only_a_vgpu_that_gover_fleet_has_sold_can_leave)
{
	add_alert("severe_overload", "gpu0", "a", "");
	add_alert("sale_failed", "gpu0", "", "");
	vgpus[0].sold = false;
	expect(ADVICE_NOTHING, "");
}

TEST(test_a_machine_is_named_by_its_domain_if_this_is_known)
{
	add_alert("severe_overload", "gpu0", "a", "");
	strcpy(vgpus[0].domain, "11111111-2222-3333-4444-555555555555");
	assert_string_equal(decide().vm, "11111111-2222-3333-4444-555555555555");
}

TEST(test_without_a_state_nothing_happens)
{
	input.state = NULL;
	expect(ADVICE_NOTHING, "");
}

TEST(test_a_floor_or_a_hold_of_another_vgpu_can_be_mended_here)
{
	add_alert("promise_broken", "gpu0", "a", "donors_at_floor");
	vgpus[0].min_cap_pct = 20; /* its own floor is no donor */
	vgpus[2].held = true;	   /* another GPU */
	expect(ADVICE_MIGRATE, "a");
	vgpus[1].min_cap_pct = 20;
	expect(ADVICE_NOTHING, "");
	vgpus[1].min_cap_pct = 0;
	vgpus[1].held = true;
	expect(ADVICE_NOTHING, "");
}

TEST(test_a_silenced_alert_moves_nothing)
{
	add_alert("severe_overload", "gpu0", "a", "");
	alerts[0].silenced = true;
	expect(ADVICE_NOTHING, "");
}

TEST(test_the_strongest_alert_wins_then_the_smallest_contract)
{
	add_alert("promise_broken", "gpu1", "c", "gpu_overcommitted");
	add_alert("promise_broken", "gpu0", "a", "gpu_overcommitted");
	expect(ADVICE_MIGRATE, "c");
	add_alert("severe_overload", "gpu0", "b", "");
	expect(ADVICE_MIGRATE, "b");
	alerts[2].silenced = true;
	vgpus[2].initial_cap_pct = 40;
	expect(ADVICE_MIGRATE, "a");
}

static void swap(void *a, void *b, size_t size)
{
	unsigned char kept[sizeof(struct state_vgpu)];

	memcpy(kept, a, size);
	memcpy(a, b, size);
	memcpy(b, kept, size);
}

TEST(test_the_order_of_vgpus_and_alerts_has_no_effect)
{
	vgpus[0].initial_cap_pct = vgpus[2].initial_cap_pct = vgpus[1].initial_cap_pct;
	add_alert("promise_broken", "gpu0", "b", "gpu_overcommitted");
	add_alert("promise_broken", "gpu1", "c", "gpu_overcommitted");
	add_alert("promise_broken", "gpu0", "a", "gpu_overcommitted");
	for (int i = 0; i < 6; i++) {
		expect(ADVICE_MIGRATE, "a");
		swap(&alerts[i % 2], &alerts[i % 2 + 1], sizeof(alerts[0]));
		swap(&vgpus[i % 2], &vgpus[i % 2 + 1], sizeof(vgpus[0]));
	}
}

TEST(test_the_load_settles_before_the_next_migration)
{
	struct advice advice;

	add_alert("severe_overload", "gpu0", "a", "");
	add_past("b", ADVICE_HOLDOFF_S - 1, ADVICE_MOVED);
	expect(ADVICE_NOTHING, "a");
	advice = decide();
	assert_true(advice.again_ns == now.mono_ns + NS_PER_S);
	past[0].ended_ns -= NS_PER_S;
	expect(ADVICE_MIGRATE, "a");
}

TEST(test_a_vgpu_that_migrated_here_stays_for_a_time)
{
	struct advice advice;

	add_alert("severe_overload", "gpu0", "a", "");
	vgpus[0].created_ms = now.wall_ms - ADVICE_STAY_S * 1000 + 1;
	expect(ADVICE_MIGRATE, "a");
	vgpus[0].migrated = true;
	advice = decide();
	assert_int_equal(advice.kind, ADVICE_ADVISE);
	assert_string_equal(advice.vgpu, "a");
	assert_non_null(strstr(advice.reason, "a migration brought it here lately"));
	assert_true(advice.again_ns == now.mono_ns + NS_PER_MS);
	vgpus[0].created_ms--;
	expect(ADVICE_MIGRATE, "a");
	/* The clock was set back after the arrival. */
	vgpus[0].created_ms = now.wall_ms + 3600000;
	expect(ADVICE_ADVISE, "a");
	assert_true(decide().again_ns == now.mono_ns + ADVICE_STAY_S * NS_PER_S);
}

TEST(test_a_vgpu_that_came_back_stays_for_a_time)
{
	add_alert("severe_overload", "gpu0", "a", "");
	add_past("a", ADVICE_STAY_S - 1, ADVICE_MOVED);
	expect(ADVICE_ADVISE, "a");
	assert_non_null(strstr(decide().reason, "is back"));
	past[0].ended_ns -= NS_PER_S;
	expect(ADVICE_MIGRATE, "a");
}

TEST(test_a_failed_migration_is_repeated_later)
{
	add_alert("severe_overload", "gpu0", "a", "");
	add_past("a", ADVICE_RETRY_S - 1, ADVICE_FAILED);
	expect(ADVICE_ADVISE, "a");
	assert_non_null(strstr(decide().reason, "its last migration failed"));
	past[0].ended_ns -= NS_PER_S;
	expect(ADVICE_MIGRATE, "a");
}

TEST(test_a_refused_migration_is_asked_for_again_soon)
{
	add_alert("severe_overload", "gpu0", "a", "");
	add_alert("promise_broken", "gpu0", "b", "gpu_overcommitted");
	add_past("a", ADVICE_ASK_S - 1, ADVICE_REFUSED);
	/* The load has not changed, so another vGPU need not wait. */
	expect(ADVICE_MIGRATE, "b");
	add_past("b", 0, ADVICE_REFUSED);
	expect(ADVICE_ADVISE, "a");
	assert_non_null(strstr(decide().reason, "its migration was refused"));
	past[0].ended_ns -= NS_PER_S;
	expect(ADVICE_MIGRATE, "a");
}

TEST(test_a_vgpu_with_an_obstacle_leaves_the_turn_to_another)
{
	add_alert("severe_overload", "gpu0", "a", "");
	add_alert("promise_broken", "gpu0", "b", "gpu_overcommitted");
	add_past("a", ADVICE_RETRY_S - 1, ADVICE_FAILED);
	expect(ADVICE_MIGRATE, "b");
	vgpus[1].held = true;
	expect(ADVICE_ADVISE, "a");
}

TEST(test_a_held_vgpu_or_one_without_machine_is_left_to_the_operator)
{
	add_alert("severe_overload", "gpu0", "a", "");
	vgpus[0].held = true;
	expect(ADVICE_ADVISE, "a");
	assert_non_null(strstr(decide().reason, "held"));
	vgpus[0].held = false;
	vgpus[0].vm[0] = '\0';
	expect(ADVICE_ADVISE, "a");
	assert_non_null(strstr(decide().reason, "no virtual machine"));
}

TEST(test_without_permission_the_operator_is_advised)
{
	add_alert("severe_overload", "gpu0", "a", "");
	input.may_migrate = false;
	input.published = false;
	expect(ADVICE_ADVISE, "a");
}

TEST(test_no_migration_before_the_cloud_knows_the_overload)
{
	add_alert("severe_overload", "gpu0", "a", "");
	input.published = false;
	expect(ADVICE_NOTHING, "a");
}
