/* SPDX-License-Identifier: MIT */
/* What a whole daemon tells, how long and how often, over periods of a time of our own. */
#include "tests/unit/gover-d/core/test-manager.h"

/* a, b and c want all there is; nobody has anything left to give. */
static void overload(void)
{
	start();
	sell("a", 100, 0);
	tick(2); /* who is to give must have been seen not to need it */
	sell("b", 100, 0);
	tick(2);
	sell("c", 100, 0);
	device("a")->want = device("b")->want = device("c")->want = BUSY;
}

static void set_mode(enum gpu_mode mode)
{
	assert_int_equal(control_gpu_change(m, "gpu0", &mode, NULL, &err), 0);
}

static bool severe_stands(void)
{
	for (size_t i = 0; i < alerts_count(m->alerts); i++) {
		const struct alert *alert = alerts_at(m->alerts, i);

		if (alert->kind == ALERT_SEVERE_OVERLOAD && !alert->cleared_ms)
			return true;
	}
	return false;
}

static void severe_overload_stands_as_long_as_it_lasts(void **state)
{
	(void)state;
	overload();
	tick(10);
	assert_int_equal(count("severe", NULL), 1);
	assert_true(severe_stands());
	tick(20);
	assert_true(severe_stands());
	assert_int_equal(count("severe", NULL), 1);
	device("a")->want = device("b")->want = device("c")->want = 0;
	tick(5);
	assert_false(severe_stands());
}

static void severe_overload_outlives_the_vgpu_it_named(void **state)
{
	char named[ID_MAX];

	(void)state;
	overload();
	tick(10);
	strcpy(named, gpu->severe_vgpu);
	assert_non_null(alert_of(ALERT_SEVERE_OVERLOAD, named));
	assert_int_equal(control_vgpu_remove(m, named, &err), 0);
	for (int i = 0; i < 20; i++) {
		tick(1);
		assert_true(severe_stands());
	}
	assert_null(alert_of(ALERT_SEVERE_OVERLOAD, named));
}

/* How often an alert was raised, whomever it names. */
static int raised(enum alert_kind kind)
{
	int n = 0;

	for (size_t i = 0; i < alerts_count(m->alerts); i++)
		n += alerts_at(m->alerts, i)->kind == kind;
	return n;
}

static void a_late_tick_does_not_end_severe_overload(void **state)
{
	(void)state;
	overload();
	tick(10);
	for (int late = 0; late < 5; late++) {
		tick_late();
		assert_true(severe_stands());
		for (int i = 0; i < 5 - late; i++) {
			tick(1);
			assert_true(severe_stands());
		}
	}
	assert_int_equal(raised(ALERT_SEVERE_OVERLOAD), 1);
	assert_int_equal(count("severe", NULL), 1);
	device("a")->want = device("b")->want = device("c")->want = 0;
	tick_late();
	tick(3);
	assert_true(severe_stands());
	tick(1);
	assert_false(severe_stands());
}

static void nor_does_a_busy_time_that_cannot_be_read(void **state)
{
	(void)state;
	overload();
	tick(10);
	device("b")->stale = device("c")->stale = true;
	tick(20);
	assert_true(severe_stands());
	device("b")->stale = device("c")->stale = false;
	tick(5);
	assert_true(severe_stands());
	assert_int_equal(raised(ALERT_SEVERE_OVERLOAD), 1);
	assert_int_equal(count("severe", NULL), 1);
}

static void nor_does_a_restart(void **state)
{
	(void)state;
	overload();
	tick(10);
	restart();
	assert_true(severe_stands());
	for (int i = 0; i < 10; i++) {
		tick(1);
		assert_true(severe_stands());
	}
	assert_int_equal(raised(ALERT_SEVERE_OVERLOAD), 1);
}

static void as_long_as_breaches_are_counted_nothing_is_over(void **state)
{
	(void)state;
	config.params.overload_periods = 90;
	overload();
	tick(100);
	assert_true(severe_stands());
	tick_late();
	tick(100);
	assert_true(severe_stands());
	assert_int_equal(raised(ALERT_SEVERE_OVERLOAD), 1);
	assert_int_equal(count("severe", NULL), 1);
}

/* --- a tenant at its limit --- */

static void a_use_that_swings_around_its_limit_is_one_alert(void **state)
{
	(void)state;
	start();
	sell("a", 50, BUSY);
	tick(10);
	assert_non_null(alert_of(ALERT_CONTRACT_LIMIT, "a"));
	for (int i = 0; i < 30; i++) {
		device("a")->want = i % 2 ? BUSY : 0.4;
		tick(10);
		if (i % 5 == 0)
			tick_late();
	}
	assert_non_null(alert_of(ALERT_CONTRACT_LIMIT, "a"));
	assert_int_equal(raised(ALERT_CONTRACT_LIMIT), 1);
	device("a")->want = 0.4;
	tick(61);
	assert_null(alert_of(ALERT_CONTRACT_LIMIT, "a"));
}

static void what_cannot_be_read_is_at_its_limit_still(void **state)
{
	(void)state;
	start();
	sell("a", 50, BUSY);
	tick(10);
	device("a")->stale = true;
	tick(100);
	assert_non_null(alert_of(ALERT_CONTRACT_LIMIT, "a"));
}

static void a_larger_contract_ends_it_at_once(void **state)
{
	const struct contract larger = {.terms = {.initial_cap_pct = 80}};

	(void)state;
	start();
	sell("a", 50, 0.6);
	tick(10);
	assert_non_null(alert_of(ALERT_CONTRACT_LIMIT, "a"));
	assert_int_equal(control_vgpu_change(m, "a", CONTRACT_INITIAL_CAP, &larger, &err), 0);
	tick(3); /* the cap follows the contract once the breaches are counted out */
	assert_null(alert_of(ALERT_CONTRACT_LIMIT, "a"));
}

static void a_release_ends_what_was_said_of_the_hold(void **state)
{
	const struct contract release = {.held = false};

	(void)state;
	start();
	sell("a", 50, 0.4);
	assert_int_equal(hold("a", 20), 0);
	tick(10);
	assert_non_null(alert_of(ALERT_HELD_OVERLOADED, "a"));
	assert_int_equal(control_vgpu_change(m, "a", CONTRACT_HELD, &release, &err), 0);
	tick(3);
	assert_null(alert_of(ALERT_HELD_OVERLOADED, "a"));
}

static void who_is_gone_is_at_no_limit(void **state)
{
	(void)state;
	start();
	sell("a", 30, BUSY);
	sell("b", 30, BUSY);
	tick(10);
	assert_int_equal(control_vgpu_remove(m, "a", &err), 0);
	device("b")->exists = false; /* vanished */
	tick(2);
	assert_null(alert_of(ALERT_CONTRACT_LIMIT, "a"));
	assert_null(alert_of(ALERT_CONTRACT_LIMIT, "b"));
	assert_int_equal(raised(ALERT_CONTRACT_LIMIT), 2);
}

static void severe_overload_is_told_of_a_frozen_gpu_too(void **state)
{
	(void)state;
	overload();
	set_mode(GPU_MODE_FROZEN);
	tick(10);
	assert_true(severe_stands());
	assert_int_equal(count("severe", NULL), 0);
}

static void freezing_does_not_end_severe_overload(void **state)
{
	(void)state;
	overload();
	tick(10);
	set_mode(GPU_MODE_FROZEN);
	tick(20);
	assert_true(severe_stands());
}

static void severe_overload_of_a_frozen_gpu_names_who_relieves_most_now(void **state)
{
	char before[ID_MAX];

	(void)state;
	overload();
	tick(10);
	strcpy(before, gpu->severe_vgpu);
	device("a")->want = device("b")->want = device("c")->want = 0;
	tick(5);
	assert_false(severe_stands());
	set_mode(GPU_MODE_FROZEN);
	device("a")->want = device("b")->want = device("c")->want = BUSY;
	device(before)->want = 0.01;
	tick(10);
	assert_true(severe_stands());
	assert_null(alert_of(ALERT_SEVERE_OVERLOAD, before));
	assert_null(alert_of(ALERT_SEVERE_OVERLOAD, "")); /* it names one */
}

/* --- decisions that are not acted on --- */

static void starve(void)
{
	start();
	sell("a", 80, 0.05);
	sell("b", 50, BUSY);
}

static void an_observed_decision_is_told_once_a_minute(void **state)
{
	(void)state;
	starve();
	set_mode(GPU_MODE_OBSERVE);
	tick(60);
	assert_int_equal(count("steal", "observed"), 1);
	assert_int_equal(count("steal", NULL), 1);
	tick(60);
	assert_int_equal(count("steal", "observed"), 2);
	assert_int_equal(device("b")->cap_pct, 20);
}

static void of_several_in_a_period_each_is_told_once_a_minute(void **state)
{
	(void)state;
	starve();
	set_mode(GPU_MODE_OBSERVE);
	*device("c") = (struct gpu_vgpu){.exists = true, .cap_pct = 30};
	tick(60); /* 130 % in caps: one to fit, one to steal in each */
	assert_int_equal(count("fit", "observed"), 1);
	assert_int_equal(count("steal", "observed"), 1);
}

static void one_that_is_acted_on_is_told_each_time(void **state)
{
	(void)state;
	starve();
	tick(6);
	assert_int_equal(count("steal", "written"), 3);
}

static void one_that_vanished_is_overloaded_no_more(void **state)
{
	(void)state;
	starve();
	tick(4);
	assert_true(vgpu("b")->view.overloaded);
	device("b")->exists = false;
	tick(1);
	assert_null(vgpu("b")->device);
	assert_false(vgpu("b")->view.overloaded);
	assert_false(vgpu("b")->view.broken);
}

/* --- telemetry --- */

static void stale_telemetry_closes_an_open_offer_at_once(void **state)
{
	const struct offer *offer;

	(void)state;
	start();
	sell("a", 50, 0.05);
	tick(5);
	offer = offers_live(m->offers, "gpu0");
	assert_non_null(offer);
	assert_int_equal(offer->life.state, OFFER_OPEN);
	device("a")->stale = true;
	tick(1);
	assert_int_equal(offer->life.state, OFFER_CLOSED);
	assert_non_null(strstr(offer->reason, "busy time"));
	tick(10);
	assert_null(offers_live(m->offers, "gpu0"));
	assert_non_null(alert_of(ALERT_TELEMETRY_STALE, ""));
	device("a")->stale = false;
	tick(6);
	assert_non_null(alert_of(ALERT_TELEMETRY_STALE, "")); /* it may fail again */
	tick(5);
	assert_null(alert_of(ALERT_TELEMETRY_STALE, ""));
	assert_non_null(offers_live(m->offers, "gpu0"));
}

static void a_late_tick_is_no_sign_that_reading_works_again(void **state)
{
	(void)state;
	start();
	sell("a", 50, 0.05);
	tick(2);
	device("a")->stale = true;
	tick(5);
	assert_non_null(alert_of(ALERT_TELEMETRY_STALE, ""));
	device("a")->stale = false;
	for (int i = 0; i < 20; i++)
		tick_late();
	assert_non_null(alert_of(ALERT_TELEMETRY_STALE, ""));
	tick(10);
	assert_null(alert_of(ALERT_TELEMETRY_STALE, ""));
}

static void stale_telemetry_freezes_stealing(void **state)
{
	(void)state;
	starve();
	device("a")->stale = true; /* the only donor: what it uses is not known */
	tick(20);
	assert_int_equal(count("steal", NULL), 0);
	device("a")->stale = false;
	tick(5);
	assert_true(count("steal", "written") > 0);
}

/* --- offers --- */

/* No offer before the third calm period after the last one. */
static void expect_calm_anew(void)
{
	assert_null(offers_live(m->offers, "gpu0"));
	assert_int_equal(gpu->view.calm_run, 0);
	tick(2);
	assert_null(offers_live(m->offers, "gpu0"));
	tick(1);
	assert_non_null(offers_live(m->offers, "gpu0"));
	assert_int_equal(offers_live(m->offers, "gpu0")->life.state, OFFER_OPEN);
}

static void calm_is_counted_anew_after_an_offer(void **state)
{
	(void)state;
	config.offer.ttl_s = 10;
	start();
	sell("a", 50, 0.05);
	tick(5);
	assert_int_equal(count("offer", NULL), 1);
	while (offers_live(m->offers, "gpu0"))
		tick(1); /* nobody claims it */
	expect_calm_anew();
	tick(5);
	assert_int_equal(control_offer_close(m, offers_live(m->offers, "gpu0")->id, &err), 0);
	expect_calm_anew();
}

static void calm_is_counted_anew_after_a_probation(void **state)
{
	struct contract contract = {.id = "d", .labels = json_object()};
	const struct offer *offer;

	(void)state;
	config.offer.flavor_cap_pct = 20;
	config.offer.probation_s = 30;
	start();
	sell("a", 50, 0.05);
	tick(5);
	offer = offers_live(m->offers, "gpu0");
	assert_non_null(offer);
	assert_int_equal(control_offer_claim(m, offer->id, "", 0, &contract, &offer, &err), 0);
	assert_int_equal(offer->life.state, OFFER_PROBATION);
	while (offers_live(m->offers, "gpu0"))
		tick(1);
	assert_int_equal(offer->life.state, OFFER_KEPT);
	expect_calm_anew();
}

int main(void)
{
#define RIGGED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		RIGGED(severe_overload_stands_as_long_as_it_lasts),
		RIGGED(severe_overload_outlives_the_vgpu_it_named),
		RIGGED(a_late_tick_does_not_end_severe_overload),
		RIGGED(nor_does_a_busy_time_that_cannot_be_read),
		RIGGED(nor_does_a_restart),
		RIGGED(as_long_as_breaches_are_counted_nothing_is_over),
		RIGGED(a_use_that_swings_around_its_limit_is_one_alert),
		RIGGED(what_cannot_be_read_is_at_its_limit_still),
		RIGGED(a_larger_contract_ends_it_at_once),
		RIGGED(a_release_ends_what_was_said_of_the_hold),
		RIGGED(who_is_gone_is_at_no_limit),
		RIGGED(severe_overload_is_told_of_a_frozen_gpu_too),
		RIGGED(freezing_does_not_end_severe_overload),
		RIGGED(severe_overload_of_a_frozen_gpu_names_who_relieves_most_now),
		RIGGED(of_several_in_a_period_each_is_told_once_a_minute),
		RIGGED(one_that_vanished_is_overloaded_no_more),
		RIGGED(an_observed_decision_is_told_once_a_minute),
		RIGGED(one_that_is_acted_on_is_told_each_time),
		RIGGED(stale_telemetry_closes_an_open_offer_at_once),
		RIGGED(a_late_tick_is_no_sign_that_reading_works_again),
		RIGGED(stale_telemetry_freezes_stealing),
		RIGGED(calm_is_counted_anew_after_an_offer),
		RIGGED(calm_is_counted_anew_after_a_probation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
