/* SPDX-License-Identifier: MIT */
/* Nothing is sold, and no promise counts as kept, where nothing was measured. */
#include "tests/unit/gover-d/core/test-manager.h"

static const char *const policies[] = {"gover", "qos", "fair",	 "credit", "static",
				       "none",	"p99", "nsigma", "max"};

static void set_policy(const char *name)
{
	json_t *object = json_pack("{s:s}", "name", name);

	assert_int_equal(await_change(control_policy_change(m, object, at_end, &err)), 0);
	json_decref(object);
	wait_for_saves();
}

/* A vGPU with a target whose programs draw. */
static void promise(const char *id, int initial_cap_pct, double demand)
{
	const struct contract values = {.terms = {.target_fps = 60}};

	sell(id, initial_cap_pct, demand);
	assert_int_equal(change(id, CONTRACT_TARGET_FPS, values), 0);
	wait_for_saves();
	device(id)->draws = true;
	device(id)->fps = 60;
}

/* The GPU hangs: its programs live and get nothing. */
static void hang(const char *id)
{
	device(id)->demand = 0;
	device(id)->fps = 0;
}

static void resume(const char *id, double demand)
{
	device(id)->demand = demand;
	device(id)->fps = 60;
}

static struct offer *open_offer(void)
{
	struct offer *offer = offers_live(m->offers, "gpu0");

	return offer && offer->life.state == OFFER_OPEN ? offer : NULL;
}

FIXTURE(set_up, tear_down)

TEST(no_offer_opens_for_missing_vgpus)
{
	fake.external_vgpus = true;
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		set_up();
		fake.external_vgpus = true;
		strcpy(config.policy, policies[i]);
		config.params.static_ratio = 1;
		config.params.none_vgpus = 2;
		device("a")->exists = device("b")->exists = true;
		device("a")->cap_pct = device("b")->cap_pct = 50;
		start();
		tick(1);
		sell("a", 50, 0.48);
		sell("b", 50, 0.48);
		tick(20);
		assert_null(open_offer());
		device("a")->exists = device("b")->exists = false;
		tick(60);
		assert_null(open_offer());
		assert_non_null(find_active_alert(ALERT_VGPU_MISSING, "a"));
		assert_int_equal(vgpu("a")->promise.state, PROMISE_UNKNOWN);
		assert_int_equal(host_gpu_reserved_cap_pct(gpu), 100);
		device("a")->exists = device("b")->exists = true;
		tick(20);
		assert_int_equal(host_gpu_reserved_cap_pct(gpu), 0);
		assert_true(host_gpu_sum_cap_pct(gpu) <= 100);
		assert_false(vgpu("a")->contract.held);
		tear_down();
	}
	set_up();
}

TEST(an_offer_closes_when_a_vgpu_vanishes)
{
	struct offer *offer;

	start();
	sell("a", 30, 0.05);
	tick(5);
	offer = open_offer();
	assert_non_null(offer);
	device("a")->exists = false;
	tick(1);
	assert_int_equal(offer->life.state, OFFER_CLOSED);
	assert_non_null(strstr(offer->reason, "vGPU a vanished"));
	/* The critical alert vgpu_missing prevents another one. */
	tick(30);
	assert_null(open_offer());
}

TEST(a_hold_must_fit_beside_a_missing_vgpu)
{
	start();
	sell("a", 60, 0.2);
	sell("b", 50, 0.2);
	assert_int_equal(hold("b", 50), 0);
	device("b")->exists = false;
	tick(3);
	/* b returns with its 50 % */
	assert_int_equal(hold("a", 60), CONTROL_E_DOES_NOT_FIT);
	assert_int_equal(hold("a", 50), 0);
	device("b")->exists = true;
	tick(5);
	assert_true(host_gpu_sum_cap_pct(gpu) <= 100);
}

TEST(a_hold_of_a_missing_vgpu_must_fit)
{
	start();
	sell("a", 60, 0.2);
	sell("b", 50, 0.2);
	assert_int_equal(hold("a", 55), 0);
	device("b")->exists = false;
	tick(3);
	assert_int_equal(hold("b", 50), CONTROL_E_DOES_NOT_FIT);
	assert_int_equal(hold("b", 45), 0);
	assert_int_equal(vgpu("b")->cap_pct, 45);
	device("b")->exists = true;
	tick(5);
	assert_int_equal(vgpu("b")->cap_pct, 45);
	assert_true(host_gpu_sum_cap_pct(gpu) <= 100);
}

TEST(a_missing_vgpu_is_known_to_a_restarted_daemon)
{
	start();
	fake.external_vgpus = true;
	sell("a", 60, 0.2);
	tick(2);
	device("a")->exists = false;
	tick(2);
	restart();
	tick(2);
	assert_null(vgpu("a")->device);
	assert_int_equal(host_gpu_reserved_cap_pct(gpu), 60);
}

TEST(a_gpu_that_hangs_is_not_idle)
{
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		const struct alert *alert;

		set_up();
		strcpy(config.policy, policies[i]);
		start();
		promise("a", 50, 0.4);
		promise("b", 50, 0.4);
		tick(10);
		if (open_offer()) /* policies none and static sell by numbers */
			assert_true(strcmp(policies[i], "none") == 0 ||
				    strcmp(policies[i], "static") == 0);
		hang("a");
		hang("b");
		tick(1);
		assert_null(open_offer());
		tick(4);
		alert = find_active_alert(ALERT_GPU_STALLED, "");
		assert_non_null(alert);
		assert_int_equal(alert->severity, ALERT_CRITICAL);
		assert_non_null(strstr(alert->text, "vGPUs a, b stopped"));
		assert_int_equal(vgpu("a")->promise.state, PROMISE_BROKEN);
		assert_int_equal(vgpu("a")->promise.cause, PROMISE_GPU_STALLED);
		tick(60);
		assert_null(open_offer());
		assert_non_null(find_active_alert(ALERT_PROMISE_BROKEN, "a"));
		resume("a", 0.4);
		resume("b", 0.4);
		tick(6);
		assert_null(find_active_alert(ALERT_GPU_STALLED, ""));
		tear_down();
	}
	set_up();
}

TEST(no_probation_passes_while_the_gpu_serves_nothing)
{
	struct offer *offer;
	int64_t id;

	config.offer.probation_s = 20;
	start();
	promise("a", 30, 0.1);
	tick(5);
	offer = open_offer();
	assert_non_null(offer);
	id = offer->id;
	assert_int_equal(claim(id, "", "c"), 0);
	device("c")->draws = true;
	resume("c", 0.1);
	tick(10);
	offer = offers_find(m->offers, id);
	assert_int_equal(offer->life.state, OFFER_PROBATION);
	hang("a");
	hang("c");
	tick(120);
	assert_int_equal(offer->life.state, OFFER_PROBATION);
	resume("a", 0.1);
	resume("c", 0.1);
	tick(15);
	assert_int_equal(offer->life.state, OFFER_KEPT);
}

TEST(a_lone_vgpu_that_stops_leaves_its_promise_unknown)
{
	const struct alert *alert;

	start();
	promise("a", 30, 0.1);
	tick(10);
	assert_non_null(open_offer());
	hang("a");
	tick(1);
	assert_null(open_offer());
	tick(5);
	assert_int_equal(vgpu("a")->promise.state, PROMISE_UNKNOWN);
	assert_int_equal(vgpu("a")->promise.cause, PROMISE_SERVICE_UNKNOWN);
	alert = find_active_alert(ALERT_QOS_NOT_GPU_BOUND, "a");
	assert_non_null(alert);
	assert_non_null(strstr(alert->text, "unknown whether its program waits for its user"));
	tick(60);
	assert_null(open_offer());
}

TEST(a_program_waits_for_its_user_while_others_are_served)
{
	const struct alert *alert;

	start();
	promise("a", 20, 0.1);
	promise("b", 20, 0.1);
	tick(5);
	hang("a");
	tick(10);
	assert_int_equal(vgpu("a")->promise.state, PROMISE_KEPT);
	alert = find_active_alert(ALERT_QOS_NOT_GPU_BOUND, "a");
	assert_non_null(alert);
	assert_non_null(strstr(alert->text, "its program waits for its user"));
	tick(10);
	assert_non_null(open_offer());
}

TEST(an_offer_closes_with_the_policy_and_with_a_reporter)
{
	struct offer *offer;

	start();
	promise("a", 20, 0.1);
	promise("b", 20, 0.1);
	tick(5);
	offer = open_offer();
	assert_non_null(offer);
	set_policy("fair");
	assert_int_equal(offer->life.state, OFFER_CLOSED);
	assert_non_null(strstr(offer->reason, "changed the policy"));
	tick(5);
	offer = open_offer();
	assert_non_null(offer);
	device("b")->draws = false;
	tick(1);
	assert_int_equal(offer->life.state, OFFER_CLOSED);
	assert_non_null(strstr(offer->reason, "vGPU b have ended"));
}

TEST(a_critical_alert_closes_offers_and_refuses_claims)
{
	struct offer *offer;
	int64_t id;

	start();
	sell("a", 30, 0.05);
	tick(5);
	offer = open_offer();
	assert_non_null(offer);
	id = offer->id;
	alerts_hold(m->alerts, ALERT_PROMISE_BROKEN, "gpu0", vgpu("a"), now.wall_ms, "test");
	assert_int_equal(claim(id, "", "c"), CONTROL_E_OFFER_OVER);
	assert_non_null(strstr(err.msg, "critical alert promise_broken"));
	assert_int_equal(offer->life.state, OFFER_CLOSED);
}

TEST(an_unsold_vgpu_that_takes_from_contracts_is_named)
{
	const struct alert *alert;

	fake.external_vgpus = true;
	device("a")->exists = device("b")->exists = true;
	device("a")->cap_pct = 60;
	device("b")->cap_pct = 40;
	start();
	tick(1);
	sell("a", 60, 0.2);
	tick(5);
	assert_null(find_active_alert(ALERT_VGPU_UNSOLD, "b")); /* both fit */
	assert_int_equal(change("a", CONTRACT_INITIAL_CAP,
				(struct contract){.terms = {.initial_cap_pct = 80}}),
			 0);
	tick(5);
	alert = find_active_alert(ALERT_VGPU_UNSOLD, "b");
	assert_non_null(alert);
	assert_non_null(strstr(alert->text, "vGPU b has no contract"));
}
