/* SPDX-License-Identifier: MIT */
/* The state of gover-d as the migration of vGPUs needs it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "gover-fleet/migration-input.h"

#define UUID "11111111-2222-3333-4444-555555555555"

static struct state_vgpu vgpus[] = {
	{.id = "a",
	 .gpu = "gpu0",
	 .vm = "vm-a",
	 .domain = UUID,
	 .sold = true,
	 .migrated = true,
	 .held = true,
	 .overloaded = true,
	 .initial_cap_pct = 50,
	 .min_cap_pct = 10,
	 .created_ms = 1234},
	{.id = "other", .gpu = "gpu0"},
	{.id = "b", .gpu = "gpu1", .vm = "vm-b", .sold = true, .broken = true, .created_ms = 99},
};
static struct state_offer offers[] = {
	{.id = 1, .gpu = "gpu0", .open = true},
	{.id = 2, .gpu = "gpu1", .failed = true, .vgpu = "b"},
};
static struct state_alert alerts[] = {
	{.name = "severe_overload", .gpu = "gpu0", .silenced = true},
	{.name = "promise_broken", .gpu = "gpu1", .vgpu = "b", .cause = "donors_at_floor"},
	{.name = "history_failing"},
};
static const struct host_state state = {
	.vgpus = vgpus,
	.offers = offers,
	.alerts = alerts,
	.n_vgpus = ARRAY_SIZE(vgpus),
	.n_offers = ARRAY_SIZE(offers),
	.n_alerts = ARRAY_SIZE(alerts),
};

static void vgpus_of_gover_fleet_are_passed_on(void **unused)
{
	struct migration_input input = {.vgpus = NULL};
	const struct advice_vgpu *a, *b;

	(void)unused;
	assert_int_equal(migration_input_fill(&input, &state, true), 0);
	assert_true(input.host.published);
	assert_int_equal(input.host.n_vgpus, 2);
	a = &input.host.vgpus[0];
	b = &input.host.vgpus[1];
	assert_string_equal(a->id, "a");
	assert_string_equal(a->vm, UUID);
	assert_true(a->held && a->overloaded && !a->broken);
	assert_int_equal(a->initial_cap_pct, 50);
	assert_int_equal(a->min_cap_pct, 10);
	assert_int_equal(a->arrived_ms, 1234);
	/* A contract without these labels: its machine is named, and no migration brought it. */
	assert_string_equal(b->vm, "vm-b");
	assert_true(b->broken);
	assert_int_equal(b->arrived_ms, 0);
	migration_input_fini(&input);
}

static void alerts_and_failed_offers_are_passed_on(void **unused)
{
	struct migration_input input = {.vgpus = NULL};

	(void)unused;
	assert_int_equal(migration_input_fill(&input, &state, false), 0);
	assert_false(input.host.published);
	assert_int_equal(input.host.n_alerts, 3);
	assert_int_equal(input.host.alerts[0].alarm, ADVICE_SEVERE_OVERLOAD);
	assert_true(input.host.alerts[0].silenced);
	assert_int_equal(input.host.alerts[1].alarm, ADVICE_PROMISE_BROKEN);
	assert_string_equal(input.host.alerts[1].cause, "donors_at_floor");
	assert_string_equal(input.host.alerts[1].vgpu, "b");
	assert_int_equal(input.host.alerts[2].alarm, ADVICE_ALARMS);
	assert_int_equal(input.host.n_failed_offers, 1);
	assert_string_equal(input.host.failed_offers[0].vgpu, "b");
	migration_input_fini(&input);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vgpus_of_gover_fleet_are_passed_on),
		cmocka_unit_test(alerts_and_failed_offers_are_passed_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
