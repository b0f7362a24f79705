/* SPDX-License-Identifier: MIT */
/*
 * Sales across restarts, where only a repetition of the original claim succeeds, and sales and
 * promises where nothing was measured.
 */
#include "tests/unit/gover-d/manager/test-manager.h"

/* Returns the id of an open offer. */
static int64_t start_with_offer(void)
{
	start();
	sell("a", 50, 0);
	tick(20);
	return live_offer()->id;
}

/* Sells vGPU d through an offer and returns the id of the offer. */
static int64_t sell_d_by_offer(void)
{
	int64_t id = start_with_offer();

	assert_int_equal(claim(id, "key-1", "d"), 0);
	return id;
}

static void expect_state(int64_t id, enum offer_state state)
{
	const struct offer *offer = offers_find(m->sales.offers, id);

	assert_non_null(offer);
	assert_int_equal(offer->life.state, state);
}

/* The repeated claim has @result. A claim with another key or vGPU fails. */
static void expect_claimed(int64_t id, int result, enum offer_state state)
{
	const struct offer *offer;

	assert_int_equal(claim(id, "key-1", "d"), result);
	assert_int_equal(claim(id, "key-1", "c"), CONTROL_E_KEY_USED);
	offer = offers_find(m->sales.offers, id);
	assert_non_null(offer);
	assert_int_equal(offer->id, id);
	assert_string_equal(offer->vgpu, "d");
	assert_string_equal(offer->gpu, "gpu0");
	assert_string_equal(offer->flavors[0].name, "default");
	assert_int_equal(offer->life.state, state);
	assert_int_equal(claim(id, "key-2", "c"), CONTROL_E_EXISTS);
	assert_int_equal(claim(id, "", "d"), CONTROL_E_EXISTS);
	assert_null(host_find_vgpu(&m->host, "c", NULL));
}

static void expect_sold(int64_t id, enum offer_state state)
{
	expect_claimed(id, CONTROL_E_REPEATED, state);
}

TEST(a_sale_missing_from_the_history_remains_valid)
{
	int64_t id = sell_d_by_offer();

	stop_daemon();
	change_database("UPDATE offer SET state = 'open', vgpu = NULL");
	start();
	expect_sold(id, OFFER_PROBATION);
	tick(40);
	expect_sold(id, OFFER_KEPT);
}

TEST(a_restart_closes_an_unclaimed_offer)
{
	int64_t id = start_with_offer();

	restart();
	assert_null(offers_live(m->sales.offers, "gpu0"));
	assert_int_equal(claim(id, "key-1", "d"), CONTROL_E_OFFER_OVER);
	assert_non_null(strstr(err.msg, "restarted"));
}

TEST(a_repeated_claim_of_a_kept_offer_succeeds_after_a_restart)
{
	int64_t id = sell_d_by_offer();

	tick(40);
	expect_sold(id, OFFER_KEPT);
	restart();
	expect_sold(id, OFFER_KEPT);
	assert_int_equal(remove_vgpu("d"), 0);
	expect_claimed(id, CONTROL_E_GONE, OFFER_KEPT);
	restart();
	/* the state of the offer does not change, although vGPU d was removed */
	expect_claimed(id, CONTROL_E_GONE, OFFER_KEPT);
	assert_int_equal(claim(id, "key-1", "d"), CONTROL_E_GONE);
	assert_string_equal(err.msg, "Idempotency-Key: vGPU d, which was sold with key key-1, was "
				     "removed (use a new key to sell it again)");
	assert_null(host_find_vgpu(&m->host, "d", NULL));
}

TEST(without_history_a_recent_sale_is_on_probation)
{
	int64_t id = sell_d_by_offer();

	stop_daemon();
	delete_database();
	start();
	expect_sold(id, OFFER_PROBATION);
	assert_int_equal(offers_count(m->sales.offers), 1);
	restart();
	expect_sold(id, OFFER_PROBATION);
}

TEST(without_history_an_old_sale_is_kept)
{
	int64_t id = sell_d_by_offer();

	vgpu("d")->contract.created_ms -= 3600000;
	m->store.keys.list[0].created_ms -= 3600000;
	save_soon(&m->store);
	stop_daemon();
	delete_database();
	start();
	expect_sold(id, OFFER_KEPT);
	tick(20);
	assert_true(live_offer()->id > id); /* new offers are still opened */
}

TEST(without_history_at_most_one_sale_is_on_probation)
{
	int64_t first, second;

	first = sell_d_by_offer();
	tick(60);
	second = live_offer()->id;
	assert_int_equal(claim(second, "key-2", "c"), 0);
	stop_daemon();
	delete_database();
	start();
	assert_int_equal(offers_count(m->sales.offers), 2);
	assert_int_equal(
		(offers_find(m->sales.offers, first)->life.state == OFFER_PROBATION) +
			(offers_find(m->sales.offers, second)->life.state == OFFER_PROBATION),
		1);
	assert_int_equal(claim(first, "key-1", "d"), CONTROL_E_REPEATED);
	assert_int_equal(claim(second, "key-2", "c"), CONTROL_E_REPEATED);
}

/* --- sales without an offer --- */

static json_t *body_of(const char *id, int cap_pct)
{
	return json_pack("{s:s, s:i}", "id", id, "initial_cap_pct", cap_pct);
}

/* Begins a sale with @key, which at_end reports. */
static int begin_keyed(const char *key, const char *id, int cap_pct)
{
	struct contract contract = contract_of(id, cap_pct);
	json_t *body = body_of(id, cap_pct);
	const struct control_key given = {"root", key, body};
	int r = control_vgpu_add(&m->changes, &given, CONTRACT_ID | CONTRACT_INITIAL_CAP, &contract,
				 at_end, &err);

	json_decref(body);
	return r;
}

static int sell_keyed(const char *key, const char *id, int cap_pct)
{
	return await_change(begin_keyed(key, id, cap_pct));
}

TEST(a_key_is_known_after_a_restart_and_after_the_removal_of_its_vgpu)
{
	start();
	assert_int_equal(sell_keyed("k", "a", 50), 0);
	for (int restarts = 0; restarts < 2; restarts++) {
		assert_int_equal(sell_keyed("k", "a", 50), CONTROL_E_REPEATED);
		assert_int_equal(sell_keyed("k", "a", 51), CONTROL_E_KEY_USED);
		assert_int_equal(claim(7, "k", "a"), CONTROL_E_KEY_USED);
		assert_int_equal(sell_keyed("l", "a", 50), CONTROL_E_EXISTS);
		restart();
	}
	assert_int_equal(remove_vgpu("a"), 0);
	for (int restarts = 0; restarts < 2; restarts++) {
		assert_int_equal(sell_keyed("k", "a", 50), CONTROL_E_GONE);
		assert_int_equal(sell_keyed("k", "b", 50), CONTROL_E_KEY_USED);
		assert_null(host_find_vgpu(&m->host, "a", NULL));
		restart();
	}
	assert_int_equal(sell_keyed("l", "a", 50), 0);
	assert_int_equal(sell_keyed("k", "a", 50), CONTROL_E_GONE); /* another vGPU with this id */
	assert_int_equal(sell_keyed("l", "a", 50), CONTROL_E_REPEATED);
}

TEST(a_key_is_in_the_file_before_its_sale_is_answered)
{
	start();
	assert_int_equal(sell_keyed("k", "a", 50), 0);
	assert_true(contracts_file_contains("\"key\": \"root k\""));
}

TEST(a_failed_request_leaves_no_key)
{
	start();
	fake.create_errno = EIO;
	assert_int_equal(sell_keyed("k", "a", 50), -EIO);
	assert_false(contracts_file_contains("root k"));
	fake.create_errno = 0;
	assert_int_equal(sell_keyed("k", "b", 40), 0);
}

TEST(a_request_waits_for_the_first_one_with_its_key)
{
	struct change_subject conflict = {.gpu = ""};
	struct contract contract = contract_of("b", 40);
	json_t *body = body_of("b", 40);
	const struct control_key key = {"root", "k", body};
	const struct change_done done = {.call = end_change, .ret_conflict = &conflict};

	start();
	assert_int_equal(begin_keyed("k", "a", 50), 0);
	assert_int_equal(control_vgpu_add(&m->changes, &key, 0, &contract, done, &err), -EBUSY);
	assert_string_equal(conflict.key, "root k");
	assert_true(change_conflicts(&m->changes, &(struct change_subject){.key = "root k"}));
	assert_false(change_conflicts(&m->changes, &(struct change_subject){.key = "root l"}));
	assert_int_equal(await_change(0), 0);
	assert_int_equal(sell_keyed("k", "b", 40), CONTROL_E_KEY_USED);
	json_decref(body);
}

/* --- lost results of sales --- */

/*
 * Sells d and then c through two offers, restarts with the row of the first offer set to @state,
 * and returns the first offer. The second offer is on probation.
 */
static const struct offer *restart_with_first_offer(const char *state)
{
	int64_t first, second;
	char sql[128];

	first = sell_d_by_offer();
	tick(60);
	second = live_offer()->id;
	assert_int_equal(claim(second, "key-2", "c"), 0);
	stop_daemon();
	snprintf(sql, sizeof(sql), "UPDATE offer SET state = '%s' WHERE id = %lld", state,
		 (long long)first);
	change_database(sql);
	start();
	assert_int_equal(offers_find(m->sales.offers, second)->life.state, OFFER_PROBATION);
	return offers_find(m->sales.offers, first);
}

TEST(a_newer_offer_ends_a_probation_whose_result_is_lost)
{
	const struct offer *first = restart_with_first_offer("probation");

	assert_int_equal(first->life.state, OFFER_KEPT);
	assert_non_null(strstr(first->reason, "is missing in the history"));
}

TEST(a_newer_offer_shows_that_a_failed_sale_was_removed)
{
	const struct offer *first = restart_with_first_offer("failed");

	assert_int_equal(first->life.state, OFFER_FAILED);
	assert_false(offer_is_live(&first->life));
}

/* --- holds --- */

static int hold_offer(int64_t id, const char *holder, int ttl_s)
{
	err.msg[0] = '\0';
	return await_change(control_offer_hold(&m->changes, id, holder, ttl_s, at_end, &err));
}

/* Returns the id of an open offer that is held by "vm-1". */
static int64_t hold_an_offer(void)
{
	int64_t id = start_with_offer();

	assert_int_equal(hold_offer(id, "vm-1", 600), 0);
	wait_for_saves();
	return id;
}

TEST(only_the_holder_claims_a_held_offer)
{
	int64_t id = hold_an_offer();

	assert_int_equal(hold_offer(id, "vm-2", 5), CONTROL_E_OFFER_HELD);
	assert_non_null(strstr(err.msg, "vm-1"));
	assert_int_equal(claim(id, "vm-2", "d"), CONTROL_E_OFFER_HELD);
	assert_non_null(strstr(err.msg, "vm-1"));
	assert_int_equal(claim(id, "", "d"), CONTROL_E_OFFER_HELD);
	assert_int_equal(claim(id, "vm-1", "d"), 0);
	assert_int_equal(hold_offer(id, "vm-1", 5), CONTROL_E_OFFER_OVER);
	assert_int_equal(hold_offer(id + 1, "vm-1", 5), CONTROL_E_NOT_FOUND);
}

TEST(a_repeated_hold_is_extended_and_never_shortened)
{
	const struct offer *offer;
	int64_t id = start_with_offer(), until_ms;

	assert_int_equal(hold_offer(id, "vm-1", 60), 0);
	offer = offers_find(m->sales.offers, id);
	until_ms = offer->hold.until_ms;
	assert_int_equal(hold_offer(id, "vm-1", 5), 0);
	assert_int_equal(offer->hold.until_ms, until_ms);
	assert_int_equal(hold_offer(id, "vm-1", 600), 0);
	assert_true(offer->hold.until_ms > until_ms);
	assert_true(offer->expires_ms >= offer->hold.until_ms);
}

TEST(a_held_offer_survives_a_restart)
{
	int64_t id = hold_an_offer();
	int64_t until_ms = offers_find(m->sales.offers, id)->hold.until_ms;
	const struct offer *offer;

	restart();
	offer = offers_find(m->sales.offers, id);
	assert_int_equal(offer->life.state, OFFER_OPEN);
	assert_string_equal(offer->hold.holder, "vm-1");
	assert_int_equal(offer->hold.until_ms, until_ms);
	assert_int_equal(claim(id, "vm-2", "d"), CONTROL_E_OFFER_HELD);
	assert_int_equal(hold_offer(id, "vm-2", 5), CONTROL_E_OFFER_HELD);
	/* nothing is measured yet: the claim does not fit, but the offer stays open */
	tick(2);
	assert_int_equal(offer->life.state, OFFER_OPEN);
	tick(8);
	assert_int_equal(offer->life.state, OFFER_OPEN);
	assert_int_equal(claim(id, "vm-1", "d"), 0);
	restart();
	expect_state(id, OFFER_PROBATION);
}

TEST(without_history_a_held_offer_is_restored)
{
	int64_t id = hold_an_offer();
	struct offer before = *offers_find(m->sales.offers, id);
	const struct offer *offer;

	stop_daemon();
	delete_database();
	start();
	offer = offers_find(m->sales.offers, id);
	assert_non_null(offer);
	assert_int_equal(offer->life.state, OFFER_OPEN);
	assert_string_equal(offer->gpu, "gpu0");
	assert_string_equal(offer->flavors[0].name, before.flavors[0].name);
	assert_int_equal(offer->flavors[0].terms.initial_cap_pct,
			 before.flavors[0].terms.initial_cap_pct);
	assert_int_equal(offer->created_ms, before.created_ms);
	assert_int_equal(offer->expires_ms, before.expires_ms);
	tick(10);
	assert_int_equal(claim(id, "vm-1", "d"), 0);
	expect_state(id, OFFER_PROBATION);
}

TEST(a_withdrawn_hold_is_named_and_does_not_return)
{
	int64_t id = hold_an_offer();

	assert_int_equal(await_change(control_offer_close(&m->changes, id, at_end, &err)), 0);
	assert_non_null(strstr(offers_find(m->sales.offers, id)->reason, "held by vm-1"));
	stop_daemon();
	delete_database();
	start();
	assert_null(offers_find(m->sales.offers, id));
}

TEST(a_hold_does_not_return_after_its_time_or_without_selling)
{
	static const bool off = false;
	int64_t id = hold_an_offer();

	offers_find(m->sales.offers, id)->hold.until_ms = clock_now().wall_ms;
	save_now();
	restart();
	assert_null(offers_live(m->sales.offers, "gpu0"));
	tick(20);
	id = live_offer()->id;
	assert_int_equal(hold_offer(id, "vm-1", 600), 0);
	/* As after a crash between the file with selling off and the next file. */
	assert_int_equal(
		await_change(control_gpu_change(&m->changes, "gpu0", NULL, &off, at_end, &err)), 0);
	assert_int_equal(offers_find(m->sales.offers, id)->life.state, OFFER_CLOSED);
	restart();
	assert_null(offers_live(m->sales.offers, "gpu0"));
}

/* The hold of an older offer is stored, but a newer offer was sold. */
TEST(a_newer_sale_ends_a_restored_hold)
{
	int64_t first = hold_an_offer(), second;
	struct offer held = *offers_find(m->sales.offers, first);

	assert_int_equal(await_change(control_offer_close(&m->changes, first, at_end, &err)), 0);
	tick(20);
	second = live_offer()->id;
	assert_int_equal(claim(second, "key-1", "d"), 0);
	*offers_find(m->sales.offers, first) = held;
	save_now();
	stop_daemon();
	delete_database();
	start();
	assert_int_equal(offers_find(m->sales.offers, first)->life.state, OFFER_CLOSED);
	assert_int_equal(offers_find(m->sales.offers, second)->life.state, OFFER_PROBATION);
}

/* --- nothing is sold, and no promise is kept, where nothing was measured --- */

static const char *const policies[] = {"gover", "qos", "fair",	 "credit", "static",
				       "none",	"p99", "nsigma", "max"};

static void set_policy(const char *name)
{
	assert_int_equal(change_policy(json_pack("{s:s}", "name", name)), 0);
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

static struct offer *expect_open_offer(void)
{
	assert_int_equal(live_offer()->life.state, OFFER_OPEN);
	return live_offer();
}

static struct offer *open_offer(void)
{
	struct offer *offer = offers_live(m->sales.offers, "gpu0");

	return offer && offer->life.state == OFFER_OPEN ? offer : NULL;
}

TEST(no_offer_opens_for_missing_vgpus)
{
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		tear_down();
		assert_int_equal(set_up(), 0);
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
	}
}

TEST(an_offer_closes_when_a_vgpu_vanishes)
{
	struct offer *offer;

	start();
	sell("a", 30, 0.05);
	tick(5);
	offer = expect_open_offer();
	device("a")->exists = false;
	tick(1);
	expect_closed(offer, "vGPU a vanished");
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
	assert_int_equal(vgpu("b")->cap.pct, 45);
	device("b")->exists = true;
	tick(5);
	assert_int_equal(vgpu("b")->cap.pct, 45);
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

		tear_down();
		assert_int_equal(set_up(), 0);
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
		alert = expect_alert(ALERT_GPU_STALLED, "", "vGPUs a, b stopped");
		assert_int_equal(alert->severity, ALERT_CRITICAL);
		assert_int_equal(vgpu("a")->promise.state, PROMISE_BROKEN);
		assert_int_equal(vgpu("a")->promise.cause, PROMISE_GPU_STALLED);
		tick(60);
		assert_null(open_offer());
		assert_non_null(find_active_alert(ALERT_PROMISE_BROKEN, "a"));
		resume("a", 0.4);
		resume("b", 0.4);
		tick(6);
		assert_null(find_active_alert(ALERT_GPU_STALLED, ""));
	}
}

TEST(no_probation_passes_while_the_gpu_serves_nothing)
{
	struct offer *offer;
	int64_t id;

	config.offer.probation_s = 20;
	start();
	promise("a", 30, 0.1);
	tick(5);
	offer = expect_open_offer();
	id = offer->id;
	assert_int_equal(claim(id, "", "c"), 0);
	device("c")->draws = true;
	resume("c", 0.1);
	tick(10);
	offer = offers_find(m->sales.offers, id);
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
	expect_alert(ALERT_QOS_NOT_GPU_BOUND, "a",
		     "unknown whether its program waits for its user");
	tick(60);
	assert_null(open_offer());
}

TEST(a_program_waits_for_its_user_while_others_are_served)
{
	start();
	promise("a", 20, 0.1);
	promise("b", 20, 0.1);
	tick(5);
	hang("a");
	tick(10);
	assert_int_equal(vgpu("a")->promise.state, PROMISE_KEPT);
	expect_alert(ALERT_QOS_NOT_GPU_BOUND, "a", "its program waits for its user");
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
	offer = expect_open_offer();
	set_policy("fair");
	expect_closed(offer, "changed the policy");
	tick(5);
	offer = expect_open_offer();
	device("b")->draws = false;
	tick(1);
	expect_closed(offer, "vGPU b have ended");
}

TEST(a_critical_alert_closes_offers_and_refuses_claims)
{
	struct offer *offer;
	int64_t id;

	start();
	sell("a", 30, 0.05);
	tick(5);
	offer = expect_open_offer();
	id = offer->id;
	alerts_hold(m->recorder.alerts, ALERT_PROMISE_BROKEN, "gpu0", vgpu("a"), now.wall_ms,
		    "test");
	assert_int_equal(claim(id, "", "c"), CONTROL_E_OFFER_OVER);
	assert_non_null(strstr(err.msg, "critical alert promise_broken"));
	assert_int_equal(offer->life.state, OFFER_CLOSED);
}

TEST(an_unsold_vgpu_that_takes_from_contracts_is_named)
{
	fake.external_vgpus = true;
	device("a")->exists = device("b")->exists = true;
	device("a")->cap_pct = 60;
	device("b")->cap_pct = 40;
	start();
	tick(1);
	sell("a", 60, 0.2);
	tick(5);
	assert_null(find_active_alert(ALERT_VGPU_UNSOLD, "b")); /* both fit */
	assert_int_equal(set_initial_cap("a", 80), 0);
	tick(5);
	expect_alert(ALERT_VGPU_UNSOLD, "b", "vGPU b has no contract");
}
