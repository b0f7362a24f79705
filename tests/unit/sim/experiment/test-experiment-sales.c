/* SPDX-License-Identifier: MIT */
/* Tests the life of an offer: open, claimed, on probation, kept or failed. */
#include "tests/unit/sim/experiment/test-experiment.h"

static void an_offer_is_claimed_and_kept(void **state)
{
	double at_s = 0;

	(void)state;
	offering = true;
	make(THREE "[offer]\nprobation_s = 10\n[arrivals]\nstart = 2\n");
	run_periods(1);
	assert_int_equal(count_events("sold", &at_s), 3);
	assert_int_equal(summary().sales, 1);
	run_periods(1);
	assert_int_equal(seen.n_vgpus, 3);
	assert_true(seen.offered);
	assert_int_equal(seen_vgpus[2].cap_pct, 10);
	run_periods(8);
	assert_int_equal(count_events("kept", &at_s), 0);
	run_periods(1);
	assert_int_equal(count_events("kept", &at_s), 1);
	assert_int_equal((int)at_s, 11);
	assert_int_equal(summary().kept, 1);
	assert_int_equal(summary().sales, 1); /* the next offer is made in the next period */
	run_periods(1);
	assert_int_equal(summary().sales, 2);
}

static void an_offer_is_claimed_after_customer_s(void **state)
{
	double at_s = 0;

	(void)state;
	offering = true;
	make(THREE "[offer]\ncustomer_s = 3\n[arrivals]\nstart = 1\n");
	run_periods(3);
	assert_int_equal(count_events("sold", &at_s), 1);
	assert_true(seen.offered);
	run_periods(1);
	assert_int_equal(count_events("sold", &at_s), 2);
	assert_int_equal((int)events[n_events - 1].t_s, 4);
}

static void an_open_offer_closes_when_it_cannot_be_funded(void **state)
{
	double at_s = 0;

	(void)state;
	offering = true;
	make(THREE "[offer]\ncustomer_s = 5\n[arrivals]\nstart = 1\n");
	run_periods(1);
	fund_pct = -ENOSPC;
	offering = false;
	run_periods(2);
	assert_int_equal(count_events("closed", &at_s), 1);
	assert_false(seen.offered);
	assert_int_equal(summary().sales, 0);
}

static void sales_stop_at_max_vgpus(void **state)
{
	(void)state;
	offering = true;
	make(THREE "[offer]\nmax_vgpus = 3\nprobation_s = 1\n[arrivals]\nstart = 2\n");
	run_periods(30);
	assert_int_equal(seen.n_vgpus, 3);
	assert_false(seen.selling);
	assert_int_equal(summary().offers, 1);
}

static void listed_tenants_arrive_once_and_in_order(void **state)
{
	(void)state;
	offering = true;
	make("[offer]\nprobation_s = 1\n[tenant x]\nworkload = idle\n"
	     "[tenant y]\nworkload = idle\ncount = 2\n[arrivals]\ndraw = listed\n");
	run_periods(30);
	assert_int_equal(seen.n_vgpus, 3);
	assert_string_equal(seen_vgpus[0].id, "v1-x");
	assert_string_equal(seen_vgpus[1].id, "v2-y");
	assert_string_equal(seen_vgpus[2].id, "v3-y");
	assert_false(seen.selling);
}

static void severe_overload_fails_a_sale(void **state)
{
	double at_s = 0;

	(void)state;
	offering = severe = true;
	make(THREE "[arrivals]\nstart = 1\n");
	run_periods(30);
	assert_int_equal(count_events("failed", &at_s), 1);
	assert_int_equal((int)at_s, 4);
	assert_true(seen.offered); /* the failed sale stays open until the newcomer leaves */
	assert_int_equal(seen.n_vgpus, 2);
	assert_int_equal(summary().failed, 1);
	assert_int_equal((int)summary().severe_s, 30);
}

static void with_migration_a_failed_newcomer_leaves_and_selling_continues(void **state)
{
	double at_s = 0;

	(void)state;
	offering = true;
	make("[scenario]\nmigrate = on\nmigrate_s = 2\n[tenant a]\nworkload = idle\n"
	     "[tenant b]\nworkload = idle\narrive_s = 0\n");
	run_periods(1);
	severe = true;
	run_periods(3);
	assert_int_equal(count_events("failed", &at_s), 1);
	severe = false;
	run_periods(1); /* a second severe decision also removes tenant b */
	run_periods(1);
	assert_int_equal(summary().left, 2);
	assert_int_equal(count_events("left", &at_s), 2);
	offering = false;
	run_periods(2);
	assert_false(seen.offered);
	offering = true;
	run_periods(1);
	assert_int_equal(summary().sales, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_offer_is_claimed_and_kept),
		TEST(an_offer_is_claimed_after_customer_s),
		TEST(an_open_offer_closes_when_it_cannot_be_funded),
		TEST(sales_stop_at_max_vgpus),
		TEST(listed_tenants_arrive_once_and_in_order),
		TEST(severe_overload_fails_a_sale),
		TEST(with_migration_a_failed_newcomer_leaves_and_selling_continues),
	};

	return cmocka_run_group_tests(tests, temp_file_make, temp_file_remove);
}
