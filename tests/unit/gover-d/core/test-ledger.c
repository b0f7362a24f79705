/* SPDX-License-Identifier: MIT */
/* What contracts earn and broken promises cost, in whole daemons; every sum is worked out by hand.
 */
#include "db/ledger.h"
#include "gover-d/core/control-vgpu.h"
#include "gover-d/core/control.h"
#include "gover-d/core/ledger.h"
#include "gover-d/core/save.h"
#include "tests/unit/gover-d/core/test-manager.h"

#include <math.h>

/* Prices at which the sums are round: a GPU-second at 0.001, of "small" at 0.002. */
static void set_prices(void)
{
	config.offer.price_per_cap_hour = 3.6;
	config.offer.penalty_per_broken_s = 0.5;
	config.flavors[0] = (struct flavor){
		.name = "small",
		.cap_pct = 40,
		.price_per_cap_hour = 7.2,
		.penalty_per_broken_s = 1,
	};
	config.n_flavors = 1;
}

static struct {
	struct db_ledger rows[8];
	int n, prices;
	struct db_ledger_range range;
} kept;

static int take_row(void *userdata, const struct db_ledger *row)
{
	(void)userdata;
	assert_in_range(kept.n, 0, 7);
	kept.rows[kept.n++] = *row;
	return 0;
}

static int take_price(void *userdata, const struct db_price *price)
{
	(void)userdata, (void)price;
	kept.prices++;
	return 0;
}

/* All that was ever counted. */
static void look(void)
{
	struct db_reader *reader;

	ledger_flush(m);
	db_flush(m->history.db);
	memset(&kept, 0, sizeof(kept));
	assert_int_equal(db_reader_open(m->history.path, &reader, &err), 0);
	assert_int_equal(db_query_ledger(reader, 0, now.wall_ms + 100000, take_row, take_price,
					 NULL, &kept.range),
			 0);
	db_reader_close(reader);
}

static const struct db_ledger *row_of(const char *id, const char *flavor)
{
	for (int i = 0; i < kept.n; i++)
		if (strcmp(kept.rows[i].vgpu, id) == 0 && strcmp(kept.rows[i].flavor, flavor) == 0)
			return &kept.rows[i];
	fail_msg("no row of %s as %s", id, flavor);
	return NULL;
}

static void check(const struct db_money *money, double cap_s, double broken_s, double revenue,
		  double penalty)
{
	if (fabs(money->cap_s - cap_s) > 1e-9 || fabs(money->broken_s - broken_s) > 1e-9 ||
	    fabs(money->revenue - revenue) > 1e-9 || fabs(money->penalty - penalty) > 1e-9)
		fail_msg("%g GPU s, %g broken s, %g earned, %g owed, where %g %g %g %g is right",
			 money->cap_s, money->broken_s, money->revenue, money->penalty, cap_s,
			 broken_s, revenue, penalty);
}

static void sell_as(const char *id, int cap_pct, const char *flavor, int64_t created_ms)
{
	sell(id, 10, 0.05);
	vgpu(id)->contract.terms.initial_cap_pct = cap_pct;
	strcpy(vgpu(id)->contract.flavor, flavor);
	vgpu(id)->contract.created_ms = created_ms;
	save_soon(m);
	wait_for_saves();
}

/* A period of ten seconds, in which the promise to @broken ("": to nobody) was broken. */
static void ten_seconds(const char *broken)
{
	for (struct vgpu *v = gpu->vgpus; v; v = v->next) {
		v->row.busy_valid = true;
		v->row.dt_s = 10;
		v->view.broken = strcmp(v->contract.id, broken) == 0;
	}
	now.mono_ns += 10 * NS_PER_S;
	now.wall_ms += 10000;
	ledger_tick(m, now);
	m->host.ticked = now;
}

static void what_is_sold_earns_and_what_is_broken_costs(void **state)
{
	(void)state;
	set_prices();
	start();
	tick(1);
	sell_as("a", 60, "", 1);
	sell_as("b", 40, "small", 2);
	ten_seconds("");
	ten_seconds("a");
	ten_seconds("b");
	look();
	assert_int_equal(kept.n, 2);
	check(&row_of("a", "default")->sold, 18, 10, 0.018, 5); /* 60 % of 30 s; 10 s at 0.5 */
	check(&row_of("b", "small")->sold, 12, 10, 0.024, 10);	/* 40 % of 30 s at twice; at 1 */
	assert_true(fabs(kept.range.watched_s - 30) < 1e-9);
	assert_true(fabs(m->host.revenue - 0.042) < 1e-9);
	assert_true(fabs(m->host.penalty - 15) < 1e-9);
}

static void who_came_first_would_have_been_kept(void **state)
{
	(void)state;
	set_prices();
	start();
	tick(1);
	sell_as("d", 60, "", 1);
	sell_as("a", 50, "", 2);
	sell_as("b", 40, "small", 3); /* fits beside d, a does not */
	ten_seconds("");
	look();
	check(&row_of("d", "default")->sold, 6, 0, 0.006, 0);
	check(&row_of("d", "default")->kept, 6, 0, 0.006, 0);
	check(&row_of("a", "default")->sold, 5, 0, 0.005, 0);
	check(&row_of("a", "default")->kept, 0, 0, 0, 0);
	check(&row_of("b", "small")->kept, 4, 0, 0.008, 0);

	assert_int_equal(control_vgpu_remove(m, "d", &err), 0);
	ten_seconds("");
	look();
	check(&row_of("a", "default")->kept, 5, 0, 0.005, 0);
	check(&row_of("b", "small")->kept, 8, 0, 0.016, 0);
}

static void without_overselling_only_what_had_its_contract_could_break(void **state)
{
	(void)state;
	set_prices();
	start();
	tick(1);
	sell_as("a", 60, "", 1);
	sell_as("b", 60, "", 2);
	vgpu("a")->sampled_cap_pct = 60;
	ten_seconds("a"); /* in full, and broken all the same */
	vgpu("a")->sampled_cap_pct = 59;
	ten_seconds("a"); /* had lent some */
	ten_seconds("b"); /* would not be there */
	look();
	check(&row_of("a", "default")->sold, 18, 20, 0.018, 10);
	check(&row_of("a", "default")->kept, 18, 10, 0.018, 5);
	check(&row_of("b", "default")->sold, 18, 10, 0.018, 5);
	check(&row_of("b", "default")->kept, 0, 0, 0, 0);
}

static void a_price_counts_from_its_period_on(void **state)
{
	json_t *change =
		json_pack("{s:f, s:f}", "price_per_cap_hour", 36.0, "penalty_per_broken_s", 0.25);

	(void)state;
	set_prices();
	start();
	tick(1);
	sell_as("a", 50, "", 1);
	ten_seconds("a");
	assert_int_equal(control_policy_change(m, change, &err), 0);
	json_decref(change);
	ten_seconds("a");
	look();
	check(&row_of("a", "default")->sold, 10, 20, 0.005 + 0.05, 5 + 2.5);
	assert_int_equal(kept.prices, 3); /* of both, and the change */
	assert_true(m->params.price_per_cap_hour > 35);
}

static void a_change_of_flavor_begins_another_row(void **state)
{
	struct contract values = {.flavor = "small"};

	(void)state;
	set_prices();
	start();
	tick(1);
	sell_as("a", 50, "", 1);
	ten_seconds("");
	assert_int_equal(control_vgpu_change(m, "a", CONTRACT_FLAVOR, &values, &err), 0);
	ten_seconds("");
	strcpy(vgpu("a")->contract.flavor, "gone"); /* priced as what is on sale */
	ten_seconds("");
	look();
	assert_int_equal(kept.n, 2);
	check(&row_of("a", "default")->sold, 10, 0, 0.01, 0);
	check(&row_of("a", "small")->sold, 5, 0, 0.01, 0);
}

static void who_leaves_takes_nothing_along(void **state)
{
	(void)state;
	set_prices();
	start();
	tick(1);
	sell_as("a", 50, "", 1);
	ten_seconds("");
	assert_int_equal(control_vgpu_remove(m, "a", &err), 0);
	ten_seconds("");
	look();
	assert_int_equal(kept.n, 1);
	check(&row_of("a", "default")->sold, 5, 0, 0.005, 0);
	assert_true(fabs(kept.range.watched_s - 20) < 1e-9);
}

static void a_restart_loses_nothing(void **state)
{
	(void)state;
	set_prices();
	start();
	tick(1);
	sell_as("a", 50, "small", 1);
	ten_seconds("");
	restart();
	tick(1); /* nobody watched before the first */
	look();
	check(&row_of("a", "small")->sold, 5, 0, 0.01, 0);
	assert_string_equal(vgpu("a")->contract.flavor, "small");
	ten_seconds("");
	look();
	check(&row_of("a", "small")->sold, 10, 0, 0.02, 0);
	assert_int_equal(kept.prices, 2); /* the same as before: no rows for them */
}

static void each_minute_is_kept_when_it_is_over(void **state)
{
	struct db_stats before, after;

	(void)state;
	set_prices();
	now.wall_ms -= now.wall_ms % 60000;
	start();
	tick(1);
	sell_as("a", 50, "", 1);
	db_stats(m->history.db, &before);
	for (int i = 0; i < 5; i++)
		ten_seconds("");
	db_stats(m->history.db, &after);
	assert_int_equal(after.appended, before.appended);
	ten_seconds("");
	db_stats(m->history.db, &after);
	assert_int_equal(after.appended, before.appended + 2); /* the vGPU and its GPU */
}

static void what_nobody_sold_earns_nothing_and_takes_its_place(void **state)
{
	(void)state;
	set_prices();
	start();
	tick(1);
	sell_as("a", 50, "", 1);
	sell_as("b", 60, "", 2);
	vgpu("a")->found = true;
	ten_seconds("a");
	look();
	assert_int_equal(kept.n, 1);
	check(&row_of("b", "default")->sold, 6, 0, 0.006, 0);
	check(&row_of("b", "default")->kept, 0, 0, 0, 0);
}

static void what_is_not_there_is_not_billed(void **state)
{
	(void)state;
	set_prices();
	start();
	tick(1);
	sell_as("a", 50, "", 1);
	sell_as("b", 60, "", 2);
	vgpu("a")->device = NULL;
	ten_seconds("");
	look();
	assert_int_equal(kept.n, 1);
	check(&row_of("b", "default")->kept, 6, 0, 0.006, 0);
}

static void without_a_history_the_loop_counts_on(void **state)
{
	char path[PATH_MAX + 16];

	(void)state;
	set_prices();
	snprintf(path, sizeof(path), "%s/history.db", config.state_dir);
	assert_int_equal(file_make_dirs(path), 0);
	start();
	assert_null(m->history.db);
	tick(1);
	sell_as("a", 50, "", 1);
	for (int i = 0; i < 20; i++)
		ten_seconds("");
	assert_true(fabs(m->host.revenue - 0.1) < 1e-9);
	tick(1);
	assert_non_null(find_active_alert(ALERT_HISTORY_FAILING, ""));
	stop();
	assert_int_equal(rmdir(path), 0);
	start();
	tick(1);
	ten_seconds("");
	look(); /* from here on */
	check(&row_of("a", "default")->sold, 5, 0, 0.005, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_sold_earns_and_what_is_broken_costs),
		TEST(who_came_first_would_have_been_kept),
		TEST(without_overselling_only_what_had_its_contract_could_break),
		TEST(a_price_counts_from_its_period_on),
		TEST(a_change_of_flavor_begins_another_row),
		TEST(who_leaves_takes_nothing_along),
		TEST(a_restart_loses_nothing),
		TEST(each_minute_is_kept_when_it_is_over),
		TEST(what_nobody_sold_earns_nothing_and_takes_its_place),
		TEST(what_is_not_there_is_not_billed),
		TEST(without_a_history_the_loop_counts_on),
	};

	return cmocka_run_group_tests_name("ledger", tests, NULL, NULL);
}
