/* SPDX-License-Identifier: MIT */
/* Tests when the daemon raises and clears alerts and how often it records decisions. */
#include "tests/unit/gover-d/manager/test-manager.h"

/* vGPUs a, b and c each demand more than the whole GPU, so there is no donor. */
static void start_overload(void)
{
	start();
	sell("a", 100, 0);
	tick(2); /* vGPU a gives cap to vGPU b only after ticks with low use */
	sell("b", 100, 0);
	tick(2);
	sell("c", 100, 0);
	device("a")->demand = device("b")->demand = device("c")->demand = BUSY;
}

static bool severe_overload_is_active(void)
{
	return find_active_alert(ALERT_SEVERE_OVERLOAD, NULL);
}

TEST(the_severe_overload_alert_lasts_as_long_as_the_overload)
{
	start_overload();
	tick(10);
	assert_int_equal(count_decisions("severe", NULL), 1);
	assert_true(severe_overload_is_active());
	tick(20);
	assert_true(severe_overload_is_active());
	assert_int_equal(count_decisions("severe", NULL), 1);
	device("a")->demand = device("b")->demand = device("c")->demand = 0;
	tick(70);
	assert_false(severe_overload_is_active());
}

TEST(the_severe_overload_alert_outlives_the_vgpu_it_names)
{
	char named[ID_MAX];

	start_overload();
	tick(10);
	strcpy(named, gpu->severe_vgpu);
	assert_non_null(find_active_alert(ALERT_SEVERE_OVERLOAD, named));
	assert_int_equal(remove_vgpu(named), 0);
	for (int i = 0; i < 20; i++) {
		tick(1);
		assert_true(severe_overload_is_active());
	}
	assert_null(find_active_alert(ALERT_SEVERE_OVERLOAD, named));
}

/* Counts active and cleared alerts of all vGPUs. */
static int count_alerts(enum alert_kind kind)
{
	int n = 0;

	for (size_t i = 0; i < alerts_count(m->recorder.alerts); i++)
		n += alerts_at(m->recorder.alerts, i)->kind == kind;
	return n;
}

TEST(a_late_tick_does_not_end_severe_overload)
{
	start_overload();
	tick(10);
	for (int late = 0; late < 5; late++) {
		tick_late();
		assert_true(severe_overload_is_active());
		for (int i = 0; i < 5 - late; i++) {
			tick(1);
			assert_true(severe_overload_is_active());
		}
	}
	assert_int_equal(count_alerts(ALERT_SEVERE_OVERLOAD), 1);
	assert_int_equal(count_decisions("severe", NULL), 1);
	device("a")->demand = device("b")->demand = device("c")->demand = 0;
	tick_late();
	tick(62);
	assert_true(severe_overload_is_active());
	tick(1);
	assert_false(severe_overload_is_active());
}

TEST(unreadable_busy_time_does_not_end_severe_overload)
{
	start_overload();
	tick(10);
	device("b")->stale = device("c")->stale = true;
	tick(20);
	assert_true(severe_overload_is_active());
	device("b")->stale = device("c")->stale = false;
	tick(5);
	assert_true(severe_overload_is_active());
	assert_int_equal(count_alerts(ALERT_SEVERE_OVERLOAD), 1);
	assert_int_equal(count_decisions("severe", NULL), 1);
}

TEST(a_restart_does_not_end_severe_overload)
{
	start_overload();
	tick(10);
	restart();
	assert_true(severe_overload_is_active());
	for (int i = 0; i < 10; i++) {
		tick(1);
		assert_true(severe_overload_is_active());
	}
	assert_int_equal(count_alerts(ALERT_SEVERE_OVERLOAD), 1);
}

TEST(severe_overload_stays_active_with_a_long_breach_window)
{
	config.params.overload_periods = 90;
	start_overload();
	tick(100);
	assert_true(severe_overload_is_active());
	tick_late();
	tick(100);
	assert_true(severe_overload_is_active());
	assert_int_equal(count_alerts(ALERT_SEVERE_OVERLOAD), 1);
	assert_int_equal(count_decisions("severe", NULL), 1);
}

/* --- contract limits and holds --- */

TEST(use_that_oscillates_around_the_limit_raises_one_alert)
{
	start();
	sell("a", 50, BUSY);
	tick(10);
	assert_non_null(find_active_alert(ALERT_CONTRACT_LIMIT, "a"));
	for (int i = 0; i < 30; i++) {
		device("a")->demand = i % 2 ? BUSY : 0.4;
		tick(10);
		if (i % 5 == 0)
			tick_late();
	}
	assert_non_null(find_active_alert(ALERT_CONTRACT_LIMIT, "a"));
	assert_int_equal(count_alerts(ALERT_CONTRACT_LIMIT), 1);
	device("a")->demand = 0.4;
	tick(61);
	assert_null(find_active_alert(ALERT_CONTRACT_LIMIT, "a"));
}

TEST(unreadable_busy_time_keeps_the_contract_limit_alert)
{
	start();
	sell("a", 50, BUSY);
	tick(10);
	device("a")->stale = true;
	tick(100);
	assert_non_null(find_active_alert(ALERT_CONTRACT_LIMIT, "a"));
}

TEST(a_larger_contract_clears_the_contract_limit_alert)
{
	start();
	sell("a", 50, 0.6);
	tick(10);
	assert_non_null(find_active_alert(ALERT_CONTRACT_LIMIT, "a"));
	assert_int_equal(set_initial_cap("a", 80), 0);
	/* the policy raises the cap after three periods of overload */
	tick(3);
	assert_null(find_active_alert(ALERT_CONTRACT_LIMIT, "a"));
}

TEST(a_release_clears_the_held_overloaded_alert)
{
	start();
	sell("a", 50, 0.4);
	assert_int_equal(hold("a", 20), 0);
	tick(10);
	assert_non_null(find_active_alert(ALERT_HELD_OVERLOADED, "a"));
	assert_int_equal(release("a"), 0);
	tick(3);
	assert_null(find_active_alert(ALERT_HELD_OVERLOADED, "a"));
}

/* The host is suspended. */
static void sleep_hours(int64_t hours)
{
	now.boot_ns += (uint64_t)hours * 3600 * NS_PER_S;
	now.wall_ms += hours * 3600 * 1000;
}

TEST(a_freeze_and_a_hold_of_a_day_raise_information)
{
	const struct alert *alert;

	start();
	sell("a", 50, 0);
	sell("b", 30, 0);
	assert_int_equal(hold("a", 20), 0);
	sleep_hours(2);
	assert_int_equal(change_mode(GPU_MODE_FROZEN), 0);
	sleep_hours(21);
	tick(5);
	assert_null(find_active_alert(ALERT_HELD_LONG, NULL));
	sleep_hours(1);
	tick(1);
	alert = find_active_alert(ALERT_HELD_LONG, "a");
	assert_non_null(alert);
	assert_int_equal(alert->severity, ALERT_INFO);
	/* requests have the real time */
	sleep_hours(1);
	tick(1);
	alert = find_active_alert(ALERT_FROZEN_LONG, "");
	assert_non_null(alert);
	assert_int_equal(alert->severity, ALERT_INFO);
	assert_string_equal(alert->next, "gover-ctl thaw gpu0");
	assert_null(find_active_alert(ALERT_HELD_LONG, "b"));
	assert_int_equal(release("a"), 0);
	assert_int_equal(change_mode(GPU_MODE_ACT), 0);
	tick(3);
	assert_null(find_active_alert(ALERT_HELD_LONG, NULL));
	assert_null(find_active_alert(ALERT_FROZEN_LONG, NULL));
}

TEST(an_external_hold_of_a_day_raises_information)
{
	start();
	sell("a", 50, 0);
	tick(1);
	device("a")->cap_pct = 37;
	tick(2);
	assert_true(vgpu("a")->contract.held);
	assert_null(find_active_alert(ALERT_HELD_LONG, NULL));
	sleep_hours(25);
	tick(1);
	assert_non_null(find_active_alert(ALERT_HELD_LONG, "a"));
}

TEST(a_removed_or_missing_vgpu_has_no_contract_limit_alert)
{
	start();
	sell("a", 30, BUSY);
	sell("b", 30, BUSY);
	tick(10);
	assert_int_equal(remove_vgpu("a"), 0);
	device("b")->exists = false;
	tick(2);
	assert_null(find_active_alert(ALERT_CONTRACT_LIMIT, "a"));
	assert_null(find_active_alert(ALERT_CONTRACT_LIMIT, "b"));
	assert_int_equal(count_alerts(ALERT_CONTRACT_LIMIT), 2);
}

TEST(a_frozen_gpu_raises_the_severe_overload_alert)
{
	start_overload();
	assert_int_equal(change_mode(GPU_MODE_FROZEN), 0);
	tick(10);
	assert_true(severe_overload_is_active());
	assert_int_equal(count_decisions("severe", NULL), 0);
}

TEST(freezing_does_not_end_severe_overload)
{
	start_overload();
	tick(10);
	assert_int_equal(change_mode(GPU_MODE_FROZEN), 0);
	tick(20);
	assert_true(severe_overload_is_active());
}

TEST(severe_overload_of_a_frozen_gpu_names_the_currently_best_vgpu_to_move)
{
	char before[ID_MAX];

	start_overload();
	tick(10);
	strcpy(before, gpu->severe_vgpu);
	device("a")->demand = device("b")->demand = device("c")->demand = 0;
	tick(70);
	assert_false(severe_overload_is_active());
	assert_int_equal(change_mode(GPU_MODE_FROZEN), 0);
	device("a")->demand = device("b")->demand = device("c")->demand = BUSY;
	device(before)->demand = 0.01;
	tick(10);
	assert_true(severe_overload_is_active());
	assert_null(find_active_alert(ALERT_SEVERE_OVERLOAD, before));
	/* no alert is about the whole GPU */
	assert_null(find_active_alert(ALERT_SEVERE_OVERLOAD, ""));
}

/* --- observed and written decisions --- */

static void start_with_overloaded_b(void)
{
	start();
	sell("a", 80, 0.05);
	sell("b", 50, BUSY);
}

TEST(an_observed_decision_is_recorded_once_a_minute)
{
	start_with_overloaded_b();
	assert_int_equal(change_mode(GPU_MODE_OBSERVE), 0);
	tick(60);
	assert_int_equal(count_decisions("steal", "observed"), 1);
	assert_int_equal(count_decisions("steal", NULL), 1);
	tick(60);
	assert_int_equal(count_decisions("steal", "observed"), 2);
	assert_int_equal(device("b")->cap_pct, 20);
}

TEST(each_of_several_observed_decisions_is_recorded_once_a_minute)
{
	start_with_overloaded_b();
	assert_int_equal(change_mode(GPU_MODE_OBSERVE), 0);
	*device("c") = (struct gpu_vgpu){.exists = true, .cap_pct = 30};
	tick(60); /* the sum of the caps is 130 %, so each tick decides a fit and a steal */
	assert_int_equal(count_decisions("fit", "observed"), 1);
	assert_int_equal(count_decisions("steal", "observed"), 1);
}

TEST(every_written_decision_is_recorded)
{
	start_with_overloaded_b();
	tick(6);
	assert_int_equal(count_decisions("steal", "written"), 3);
}

TEST(a_missing_vgpu_is_not_overloaded)
{
	start_with_overloaded_b();
	tick(4);
	assert_true(vgpu("b")->view.overloaded);
	device("b")->exists = false;
	tick(1);
	assert_null(vgpu("b")->device);
	assert_false(vgpu("b")->view.overloaded);
	assert_false(vgpu("b")->view.broken);
}

/* --- telemetry --- */

TEST(stale_telemetry_closes_an_open_offer_at_once)
{
	const struct offer *offer;

	start();
	sell("a", 50, 0.05);
	tick(5);
	offer = live_offer();
	assert_int_equal(offer->life.state, OFFER_OPEN);
	device("a")->stale = true;
	tick(1);
	expect_closed(offer, "busy time");
	tick(10);
	assert_null(offers_live(m->sales.offers, "gpu0"));
	assert_non_null(find_active_alert(ALERT_TELEMETRY_STALE, ""));
	device("a")->stale = false;
	tick(6);
	/* The alert clears only after more ticks with valid readings. */
	assert_non_null(find_active_alert(ALERT_TELEMETRY_STALE, ""));
	tick(5);
	assert_null(find_active_alert(ALERT_TELEMETRY_STALE, ""));
	/* Nothing is sold before the alert has ended. */
	assert_null(offers_live(m->sales.offers, "gpu0"));
	tick(1);
	assert_non_null(offers_live(m->sales.offers, "gpu0"));
}

TEST(late_ticks_do_not_clear_the_stale_telemetry_alert)
{
	start();
	sell("a", 50, 0.05);
	tick(2);
	device("a")->stale = true;
	tick(5);
	assert_non_null(find_active_alert(ALERT_TELEMETRY_STALE, ""));
	device("a")->stale = false;
	for (int i = 0; i < 20; i++)
		tick_late();
	assert_non_null(find_active_alert(ALERT_TELEMETRY_STALE, ""));
	tick(10);
	assert_null(find_active_alert(ALERT_TELEMETRY_STALE, ""));
}

TEST(an_unreadable_cap_is_reported_until_it_can_be_read)
{
	const struct alert *alert;

	start();
	sell("a", 50, 0.05);
	sell("b", 30, 0.05);
	tick(2);
	device("a")->reading_cap_errno = EIO;
	tick(4); /* a short fault */
	device("a")->reading_cap_errno = 0;
	tick(1);
	device("a")->reading_cap_errno = EIO;
	tick(4);
	assert_null(find_active_alert(ALERT_CAP_UNREADABLE, "a"));
	tick(1);
	alert = find_active_alert(ALERT_CAP_UNREADABLE, "a");
	assert_non_null(alert);
	assert_string_equal(alert->text,
			    "the cap of vGPU a cannot be read: Input/output error; it was 50 %");
	assert_null(find_active_alert(ALERT_CAP_UNREADABLE, "b"));
	assert_null(find_active_alert(ALERT_TELEMETRY_STALE, ""));
	device("a")->reading_cap_errno = 0;
	tick(9);
	assert_non_null(find_active_alert(ALERT_CAP_UNREADABLE, "a"));
	tick(1);
	assert_null(find_active_alert(ALERT_CAP_UNREADABLE, "a"));
}

TEST(stale_telemetry_suspends_stealing)
{
	start_with_overloaded_b();
	device("a")->stale = true; /* vGPU a is the only donor, and its use is unknown */
	tick(20);
	assert_int_equal(count_decisions("steal", NULL), 0);
	device("a")->stale = false;
	tick(5);
	assert_true(count_decisions("steal", "written") > 0);
}

/* --- offers --- */

/* A new offer opens in the third calm period after the previous offer, not earlier. */
static void expect_three_new_calm_periods(void)
{
	assert_null(offers_live(m->sales.offers, "gpu0"));
	assert_int_equal(gpu->view.calm_run, 0);
	tick(2);
	assert_null(offers_live(m->sales.offers, "gpu0"));
	tick(1);
	assert_non_null(offers_live(m->sales.offers, "gpu0"));
	assert_int_equal(offers_live(m->sales.offers, "gpu0")->life.state, OFFER_OPEN);
}

TEST(calm_periods_are_counted_again_after_an_offer)
{
	config.offer.ttl_s = 10;
	start();
	sell("a", 50, 0.05);
	tick(5);
	assert_int_equal(count_decisions("offer", NULL), 1);
	/* Wait until the offer expires. */
	while (offers_live(m->sales.offers, "gpu0"))
		tick(1);
	expect_three_new_calm_periods();
	tick(5);
	assert_int_equal(await_change(control_offer_close(&m->changes,
							  offers_live(m->sales.offers, "gpu0")->id,
							  at_end, &err)),
			 0);
	expect_three_new_calm_periods();
}

TEST(calm_periods_are_counted_again_after_a_probation)
{
	const struct offer *offer;

	config.offer.flavor_cap_pct = 20;
	config.offer.probation_s = 30;
	start();
	sell("a", 50, 0.05);
	tick(5);
	offer = live_offer();
	assert_int_equal(claim(offer->id, "", "d"), 0);
	assert_int_equal(offer->life.state, OFFER_PROBATION);
	while (offers_live(m->sales.offers, "gpu0"))
		tick(1);
	assert_int_equal(offer->life.state, OFFER_KEPT);
	expect_three_new_calm_periods();
}

TEST(a_gpu_without_vgpus_that_cannot_be_listed_has_no_telemetry)
{
	const struct alert *alert;

	start();
	tick(5);
	fake.list_errno = ENOENT;
	tick(10);
	alert = find_active_alert(ALERT_TELEMETRY_STALE, "");
	assert_non_null(alert);
	assert_string_equal(alert->text, "the vGPUs of GPU gpu0 cannot be listed: "
					 "No such file or directory");
	fake.list_errno = 0;
	tick(10);
	assert_null(find_active_alert(ALERT_TELEMETRY_STALE, ""));
	sell("a", 50, 0.1);
	fake.list_errno = ENOENT;
	tick(10); /* the readings of its vGPU show that the GPU works */
	assert_null(find_active_alert(ALERT_TELEMETRY_STALE, ""));
}

/* --- guarantees: the use may exceed the cap --- */

TEST(with_guarantees_the_contract_is_compared_with_the_use_and_not_the_cap)
{
	start();
	gpu->traits.guarantees = fake.spares = true;
	sell("a", 39, 0.5);
	assert_int_equal(change_mode(GPU_MODE_FROZEN), 0);
	assert_int_equal(set_initial_cap("a", 50), 0);
	tick(10);
	assert_int_equal(device("a")->cap_pct, 39);
	expect_alert(ALERT_CONTRACT_LIMIT, "a",
		     "vGPU a uses 50.0 % of the GPU, and its contract is 50 %");
}

TEST(with_guarantees_a_held_cap_is_no_measure_of_the_use)
{
	start();
	gpu->traits.guarantees = fake.spares = true;
	sell("a", 50, 0.5);
	assert_int_equal(hold("a", 39), 0);
	tick(10);
	expect_alert(ALERT_HELD_OVERLOADED, "a",
		     "vGPU a uses 50.0 % of the GPU, and its cap is held at 39 %");
}

TEST(a_cap_of_a_burst_is_not_its_contract)
{
	struct contract contract = contract_of("a", 50);

	contract.terms.burst = true;
	start();
	assert_int_equal(add(contract), 0);
	device("a")->demand = BUSY;
	tick(60);
	expect_alert(
		ALERT_CONTRACT_LIMIT, "a",
		"vGPU a uses 100.0 % of its cap of 100 %, and its contract is 50 % with burst");
}

/* --- the diagnosis --- */

/* vGPU a draws 1.2 frames per second for each percent of the GPU: it needs 50 % for its target. */
static void start_drawing(int initial_cap_pct)
{
	struct contract contract = contract_of("a", initial_cap_pct);

	contract.terms.target_fps = 60;
	start();
	assert_int_equal(add(contract), 0);
	device("a")->draws = true;
	device("a")->demand = 0.5;
}

static void draw(int periods)
{
	while (periods-- > 0) {
		int cap_pct = device("a")->cap_pct;

		device("a")->fps = 1.2 * (cap_pct < 50 ? cap_pct : 50);
		tick(1);
	}
}

static bool advises(const char *command)
{
	return strcmp(vgpu("a")->diagnosis.command, command) == 0;
}

TEST(the_advice_is_the_same_until_the_right_fix_has_worked)
{
	start_drawing(30);
	draw(30);
	assert_true(advises("gover-ctl vgpu set a --cap 53"));
	assert_int_equal(set_initial_cap("a", 53), 0);
	assert_true(advises("gover-ctl vgpu set a --cap 53"));
	for (int s = 0; s < 20 && vgpu("a")->promise.state == PROMISE_BROKEN; s++) {
		if (vgpu("a")->promise.cause == PROMISE_CONTRACT_TOO_SMALL)
			assert_true(advises("gover-ctl vgpu set a --cap 53"));
		draw(1);
	}
	assert_int_equal(vgpu("a")->promise.state, PROMISE_KEPT);
	assert_true(advises(""));
}

TEST(a_released_vgpu_is_not_explained_by_a_driver_that_loses_caps)
{
	start_drawing(60);
	draw(5);
	assert_int_equal(hold("a", 20), 0);
	draw(15);
	assert_true(advises("gover-ctl vgpu release a"));
	assert_int_equal(release("a"), 0);
	for (int s = 0; s < 20; s++) {
		assert_null(strstr(vgpu("a")->diagnosis.text, "driver"));
		draw(1);
	}
}

TEST(a_limit_of_the_guest_is_stated_with_its_own_numbers)
{
	start_drawing(60);
	draw(5);
	device("a")->demand = 0.15;
	for (int s = 0; s < 15; s++) {
		device("a")->fps = 18;
		tick(1);
	}
	assert_int_equal(vgpu("a")->promise.cause, PROMISE_GUEST_LIMIT);
	device("a")->demand = 0.5;
	assert_int_equal(hold("a", 26), 0);
	for (int s = 0; s < 20; s++) {
		const struct diagnosis *d = &vgpu("a")->diagnosis;

		draw(1);
		if (d->cause == PROMISE_GUEST_LIMIT)
			assert_non_null(strstr(d->text, "with a cap of 60 %"));
	}
	assert_int_equal(vgpu("a")->promise.cause, PROMISE_HELD);
}

TEST(a_new_break_does_not_begin_with_the_cause_of_an_older_one)
{
	start_drawing(60);
	draw(5);
	assert_int_equal(hold("a", 20), 0);
	draw(15);
	assert_int_equal(vgpu("a")->promise.cause, PROMISE_HELD);
	assert_int_equal(release("a"), 0);
	draw(60);
	assert_int_equal(vgpu("a")->promise.state, PROMISE_KEPT);
	device("a")->demand = 0.15;
	device("a")->fps = 18;
	while (vgpu("a")->promise.state == PROMISE_KEPT)
		tick(1);
	assert_int_equal(vgpu("a")->promise.cause, PROMISE_GUEST_LIMIT);
}
