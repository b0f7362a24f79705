/* SPDX-License-Identifier: MIT */
/* Tests the life of an offer: open, claimed, on probation, kept or failed. */
#include "tests/unit/sim/experiment/test-experiment.h"

#define CLOSE(got, wanted) assert_true(fabs((got) - (wanted)) < 1e-6)

FIXTURE(begin, end)

FIXTURE_ONCE(temp_file_make, temp_file_remove)

TEST(an_offer_is_claimed_and_kept)
{
	double at_s = 0;

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

TEST(an_offer_is_claimed_after_customer_s)
{
	double at_s = 0;

	offering = true;
	make(THREE "[offer]\ncustomer_s = 3\n[arrivals]\nstart = 1\n");
	run_periods(3);
	assert_int_equal(count_events("sold", &at_s), 1);
	assert_true(seen.offered);
	run_periods(1);
	assert_int_equal(count_events("sold", &at_s), 2);
	assert_int_equal((int)events[n_events - 1].t_s, 4);
}

TEST(an_open_offer_closes_when_it_cannot_be_funded)
{
	double at_s = 0;

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

TEST(sales_stop_at_max_vgpus)
{
	offering = true;
	make(THREE "[offer]\nmax_vgpus = 3\nprobation_s = 1\n[arrivals]\nstart = 2\n");
	run_periods(30);
	assert_int_equal(seen.n_vgpus, 3);
	assert_false(seen.selling);
	assert_int_equal(summary().offers, 1);
}

TEST(listed_tenants_arrive_once_and_in_order)
{
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

TEST(severe_overload_fails_a_sale)
{
	double at_s = 0;

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

TEST(with_migration_a_failed_newcomer_leaves_and_selling_continues)
{
	double at_s = 0;

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

TEST(a_move_has_a_blackout_and_a_price)
{
	struct experiment_summary sum;

	severe = true;
	make("[scenario]\nmigrate = on\nmigrate_s = 3\nmigrate_blackout_s = 1.5\n"
	     "[price]\nprice_per_move = 0.6\n"
	     "[tenant a]\nworkload = idle\narrive_s = 0\ncount = 3\n");
	run_periods(1);
	severe = false;
	run_periods(19);
	sum = summary();
	assert_int_equal(sum.account.moves, 1);
	assert_int_equal(sum.left, 1);
	assert_true(experiment_vgpu_at(experiment, 0, NULL)->moved);
	assert_false(experiment_vgpu_at(experiment, 1, NULL)->moved);
	CLOSE(experiment_vgpu_at(experiment, 0, NULL)->left_s, 4);
	CLOSE(sum.account.broken_s, 1.5);
	CLOSE(sum.account.vgpu_s, 4 + 1.5 + 2 * 20);
	CLOSE(sum.account.move_cost, 0.6);
	CLOSE(sum.account.net_income, sum.account.revenue - sum.account.shortfall_penalty - 0.6);
	CLOSE(sum.account.shortfall_penalty, 0.015);
	CLOSE(sum.stay_median_s, 20);
}

TEST(the_other_hosts_take_only_migrate_capacity)
{
	static const struct {
		const char *capacity;
		int moves;
		double stay_median_s;
	} rows[] = {
		{"", 4, 10}, {"migrate_capacity = 1\n", 1, 20}, {"migrate_capacity = 0\n", 0, 20}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[256];

		severe = true;
		snprintf(text, sizeof(text),
			 "[scenario]\nmigrate = on\nmigrate_s = 3\n%s"
			 "[tenant a]\nworkload = idle\narrive_s = 0\ncount = 4\n",
			 rows[i].capacity);
		make(text);
		run_periods(20);
		assert_true(seen.migrates);
		assert_int_equal(summary().account.moves, rows[i].moves);
		CLOSE(summary().stay_median_s, rows[i].stay_median_s);
	}
}

TEST(a_tenant_that_leaves_by_itself_does_not_move)
{
	severe = true;
	make("[scenario]\nmigrate = on\nmigrate_s = 10\nmigrate_blackout_s = 1\n"
	     "migrate_capacity = 1\n"
	     "[tenant a]\nworkload = idle\narrive_s = 0\nstay_s = 5\n"
	     "[tenant b]\nworkload = idle\narrive_s = 0\n");
	run_periods(20);
	assert_int_equal(summary().left, 2);
	assert_int_equal(summary().account.moves, 1);
	assert_false(experiment_vgpu_at(experiment, 0, NULL)->moved);
	assert_true(experiment_vgpu_at(experiment, 1, NULL)->moved);
}
