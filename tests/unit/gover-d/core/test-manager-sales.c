/* SPDX-License-Identifier: MIT */
/* Tests sales across restarts: only a repetition of the original claim succeeds. */
#include "tests/unit/gover-d/core/test-manager.h"

/* Sells vGPU d through an offer and returns the id of the offer. */
static int64_t sell_d_by_offer(void)
{
	int64_t id;

	start();
	sell("a", 50, 0);
	tick(20);
	id = offers_live(m->offers, "gpu0")->id;
	assert_int_equal(claim(id, "key-1", "d"), 0);
	return id;
}

static void expect_state(int64_t id, enum offer_state state)
{
	const struct offer *offer = offers_find(m->offers, id);

	assert_non_null(offer);
	assert_int_equal(offer->life.state, state);
}

/* Repeating the claim succeeds; a claim with another key or vGPU fails. */
static void expect_sold(int64_t id, enum offer_state state)
{
	const struct offer *offer;

	assert_int_equal(claim(id, "key-1", "d"), 0);
	offer = offers_find(m->offers, id);
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

FIXTURE(set_up, tear_down)

TEST(a_sale_missing_from_the_history_remains_valid)
{
	int64_t id = sell_d_by_offer();

	stop_daemon();
	change_database("UPDATE offer SET state = 'open', vgpu = NULL, claim_key = NULL");
	start();
	expect_sold(id, OFFER_PROBATION);
	tick(40);
	expect_sold(id, OFFER_KEPT);
}

TEST(a_restart_closes_an_unclaimed_offer)
{
	int64_t id;

	start();
	sell("a", 50, 0);
	tick(20);
	id = offers_live(m->offers, "gpu0")->id;
	restart();
	assert_null(offers_live(m->offers, "gpu0"));
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
	assert_int_equal(await_change(control_vgpu_remove(m, "d", at_end, &err)), 0);
	expect_sold(id, OFFER_KEPT);
	restart();
	/* the state of the offer does not change, although vGPU d was removed */
	expect_sold(id, OFFER_KEPT);
}

TEST(without_history_a_recent_sale_is_on_probation)
{
	int64_t id = sell_d_by_offer();

	stop_daemon();
	delete_database();
	start();
	expect_sold(id, OFFER_PROBATION);
	assert_int_equal(offers_count(m->offers), 1);
	restart();
	expect_sold(id, OFFER_PROBATION);
}

TEST(without_history_an_old_sale_is_kept)
{
	int64_t id = sell_d_by_offer();

	vgpu("d")->contract.created_ms -= 3600000;
	save_soon(m);
	stop_daemon();
	delete_database();
	start();
	expect_sold(id, OFFER_KEPT);
	tick(20);
	assert_true(offers_live(m->offers, "gpu0")->id > id); /* new offers are still opened */
}

TEST(without_history_at_most_one_sale_is_on_probation)
{
	int64_t first, second;

	first = sell_d_by_offer();
	tick(60);
	second = offers_live(m->offers, "gpu0")->id;
	assert_int_equal(claim(second, "key-2", "c"), 0);
	stop_daemon();
	delete_database();
	start();
	assert_int_equal(offers_count(m->offers), 2);
	assert_int_equal((offers_find(m->offers, first)->life.state == OFFER_PROBATION) +
				 (offers_find(m->offers, second)->life.state == OFFER_PROBATION),
			 1);
	assert_int_equal(claim(first, "key-1", "d"), 0);
	assert_int_equal(claim(second, "key-2", "c"), 0);
}

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
	second = offers_live(m->offers, "gpu0")->id;
	assert_int_equal(claim(second, "key-2", "c"), 0);
	stop_daemon();
	snprintf(sql, sizeof(sql), "UPDATE offer SET state = '%s' WHERE id = %lld", state,
		 (long long)first);
	change_database(sql);
	start();
	assert_int_equal(offers_find(m->offers, second)->life.state, OFFER_PROBATION);
	return offers_find(m->offers, first);
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
	return await_change(control_offer_hold(m, id, holder, ttl_s, at_end, &err));
}

/* Returns the id of an open offer that is held by "vm-1". */
static int64_t hold_an_offer(void)
{
	int64_t id;

	start();
	sell("a", 50, 0);
	tick(20);
	id = offers_live(m->offers, "gpu0")->id;
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
	int64_t id, until_ms;

	start();
	sell("a", 50, 0);
	tick(20);
	id = offers_live(m->offers, "gpu0")->id;
	assert_int_equal(hold_offer(id, "vm-1", 60), 0);
	offer = offers_find(m->offers, id);
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
	int64_t until_ms = offers_find(m->offers, id)->hold.until_ms;
	const struct offer *offer;

	restart();
	offer = offers_find(m->offers, id);
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
	struct offer before = *offers_find(m->offers, id);
	const struct offer *offer;

	stop_daemon();
	delete_database();
	start();
	offer = offers_find(m->offers, id);
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

	assert_int_equal(await_change(control_offer_close(m, id, at_end, &err)), 0);
	assert_non_null(strstr(offers_find(m->offers, id)->reason, "held by vm-1"));
	stop_daemon();
	delete_database();
	start();
	assert_null(offers_find(m->offers, id));
}

TEST(a_hold_does_not_return_after_its_time_or_without_selling)
{
	static const bool off = false;
	int64_t id = hold_an_offer();

	offers_find(m->offers, id)->hold.until_ms = clock_now().wall_ms;
	save_soon(m);
	wait_for_saves();
	restart();
	assert_null(offers_live(m->offers, "gpu0"));
	tick(20);
	id = offers_live(m->offers, "gpu0")->id;
	assert_int_equal(hold_offer(id, "vm-1", 600), 0);
	/* As after a crash between the file with selling off and the next file. */
	assert_int_equal(await_change(control_gpu_change(m, "gpu0", NULL, &off, at_end, &err)), 0);
	assert_int_equal(offers_find(m->offers, id)->life.state, OFFER_CLOSED);
	restart();
	assert_null(offers_live(m->offers, "gpu0"));
}

/* The hold of an older offer is stored, but a newer offer was sold. */
TEST(a_newer_sale_ends_a_restored_hold)
{
	int64_t first = hold_an_offer(), second;
	struct offer held = *offers_find(m->offers, first);

	assert_int_equal(await_change(control_offer_close(m, first, at_end, &err)), 0);
	tick(20);
	second = offers_live(m->offers, "gpu0")->id;
	assert_int_equal(claim(second, "key-1", "d"), 0);
	*offers_find(m->offers, first) = held;
	save_soon(m);
	wait_for_saves();
	stop_daemon();
	delete_database();
	start();
	assert_int_equal(offers_find(m->offers, first)->life.state, OFFER_CLOSED);
	assert_int_equal(offers_find(m->offers, second)->life.state, OFFER_PROBATION);
}
