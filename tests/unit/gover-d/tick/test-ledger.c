/* SPDX-License-Identifier: MIT */
/* Revenue and penalties of contracts in a complete manager. */
#include "db/db.h"
#include "gover-d/store/save.h"
#include "gover-d/tick/ledger.h"
#include "tests/unit/gover-d/manager/test-manager.h"

#include <math.h>

/* Prices that give round sums: 0.001 for a GPU-second, and 0.002 for flavour "small". */
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

static void start_priced(void)
{
	set_prices();
	start();
	tick(1);
}

static struct {
	struct db_ledger rows[8];
	int n, prices;
	struct db_price price; /* latest price of the default flavour */
	struct db_ledger_range range;
} loaded;

static int take_row(void *userdata, const void *data)
{
	const struct db_ledger *row = data;

	(void)userdata;
	assert_in_range(loaded.n, 0, 7);
	loaded.rows[loaded.n++] = *row;
	return 0;
}

static int take_price(void *userdata, const void *row)
{
	const struct db_price *price = row;

	(void)userdata;
	loaded.prices++;
	if (strcmp(price->flavor, "default") == 0)
		loaded.price = *price;
	return 0;
}

/* Loads the whole ledger from the history into `loaded`. */
static void load_ledger(void)
{
	struct db_reader *reader;

	ledger_flush(&m->tick);
	db_flush(m->recorder.history.db);
	memset(&loaded, 0, sizeof(loaded));
	assert_int_equal(db_reader_open(m->recorder.history.path, &reader, &err), 0);
	assert_int_equal(db_query_ledger(reader, 0, now.wall_ms + 100000, take_row, take_price,
					 NULL, &loaded.range),
			 0);
	db_reader_close(reader);
}

static const struct db_ledger *row_of(const char *id, const char *flavor)
{
	for (int i = 0; i < loaded.n; i++)
		if (strcmp(loaded.rows[i].vgpu, id) == 0 &&
		    strcmp(loaded.rows[i].flavor, flavor) == 0)
			return &loaded.rows[i];
	fail_msg("no row for vGPU %s, flavour %s", id, flavor);
	return NULL;
}

static void check_money(const struct db_money *money, double cap_s, double broken_s, double revenue,
			double penalty)
{
	if (fabs(money->cap_s - cap_s) > 1e-9 || fabs(money->broken_s - broken_s) > 1e-9 ||
	    fabs(money->revenue - revenue) > 1e-9 || fabs(money->penalty - penalty) > 1e-9)
		fail_msg("%g GPU s, %g broken s, revenue %g, penalty %g, expected %g %g %g %g",
			 money->cap_s, money->broken_s, money->revenue, money->penalty, cap_s,
			 broken_s, revenue, penalty);
}

static void sell_as(const char *id, int cap_pct, const char *flavor, int64_t created_ms)
{
	sell(id, 10, 0.05);
	vgpu(id)->contract.terms.initial_cap_pct = cap_pct;
	strcpy(vgpu(id)->contract.flavor, flavor);
	vgpu(id)->contract.created_ms = created_ms;
	save_now();
}

/* Runs a period of ten seconds in which the contract of vGPU @broken is broken; "": none. */
static void ten_seconds(const char *broken)
{
	for (struct vgpu *v = gpu->vgpus; v; v = v->next) {
		v->row.sample.busy_valid = true;
		v->row.sample.dt_s = 10;
		v->view.broken = strcmp(v->contract.id, broken) == 0;
	}
	now.mono_ns += 10 * NS_PER_S;
	now.wall_ms += 10000;
	ledger_tick(&m->tick, now);
	m->host.ticked = now;
}

TEST(contracts_earn_and_broken_seconds_cost)
{
	start_priced();
	sell_as("a", 60, "", 1);
	sell_as("b", 40, "small", 2);
	ten_seconds("");
	ten_seconds("a");
	ten_seconds("b");
	load_ledger();
	assert_int_equal(loaded.n, 2);
	check_money(&row_of("a", "default")->sold, 18, 10, 0.018, 5);
	check_money(&row_of("b", "small")->sold, 12, 10, 0.024, 10);
	assert_true(fabs(loaded.range.watched_s - 30) < 1e-9);
	assert_true(fabs(m->host.revenue - 0.042) < 1e-9);
	assert_true(fabs(m->host.penalty - 15) < 1e-9);
}

TEST(without_overselling_the_oldest_contracts_are_kept)
{
	start_priced();
	sell_as("d", 60, "", 1);
	sell_as("a", 50, "", 2);
	/* after vGPU d (60 %), vGPU a (50 %) does not fit, but vGPU b (40 %) does */
	sell_as("b", 40, "small", 3);
	ten_seconds("");
	load_ledger();
	check_money(&row_of("d", "default")->sold, 6, 0, 0.006, 0);
	check_money(&row_of("d", "default")->kept, 6, 0, 0.006, 0);
	check_money(&row_of("a", "default")->sold, 5, 0, 0.005, 0);
	check_money(&row_of("a", "default")->kept, 0, 0, 0, 0);
	check_money(&row_of("b", "small")->kept, 4, 0, 0.008, 0);

	assert_int_equal(remove_vgpu("d"), 0);
	ten_seconds("");
	load_ledger();
	check_money(&row_of("a", "default")->kept, 5, 0, 0.005, 0);
	check_money(&row_of("b", "small")->kept, 8, 0, 0.016, 0);
}

TEST(without_overselling_only_a_vgpu_at_its_full_cap_is_broken)
{
	start_priced();
	sell_as("a", 60, "", 1);
	sell_as("b", 60, "", 2);
	vgpu("a")->sampled_cap_pct = 60;
	/* vGPU a has its full cap, so without overselling it would be broken, too */
	ten_seconds("a");
	vgpu("a")->sampled_cap_pct = 59;
	/* vGPU a has less than its full cap, so without overselling it would not be broken */
	ten_seconds("a");
	ten_seconds("b"); /* vGPU b would not be sold without overselling */
	load_ledger();
	check_money(&row_of("a", "default")->sold, 18, 20, 0.018, 10);
	check_money(&row_of("a", "default")->kept, 18, 10, 0.018, 5);
	check_money(&row_of("b", "default")->sold, 18, 10, 0.018, 5);
	check_money(&row_of("b", "default")->kept, 0, 0, 0, 0);
}

TEST(a_new_price_applies_from_its_period_on)
{
	start_priced();
	sell_as("a", 50, "", 1);
	ten_seconds("a");
	assert_int_equal(change_policy(json_pack("{s:f, s:f}", "price_per_cap_hour", 36.0,
						 "penalty_per_broken_s", 0.25)),
			 0);
	ten_seconds("a");
	load_ledger();
	check_money(&row_of("a", "default")->sold, 10, 20, 0.005 + 0.05, 5 + 2.5);
	assert_int_equal(loaded.prices, 3); /* two initial prices and the changed price */
	assert_true(m->store.settings.params.price_per_cap_hour > 35);
}

TEST(without_a_price_no_money_is_counted)
{
	set_prices();
	config.offer.price_per_cap_hour = config.offer.penalty_per_broken_s = PRICE_UNSET;
	start();
	tick(1);
	sell_as("a", 50, "", 1);
	ten_seconds("a");
	load_ledger();
	check_money(&row_of("a", "default")->sold, 5, 10, 0, 0);
	assert_true(loaded.price.price_per_cap_hour < 0 && loaded.price.penalty_per_broken_s < 0);
	/* decisions use the defaults */
	assert_float_equal(m->store.settings.params.price_per_cap_hour, 1, 0);
	assert_float_equal(m->store.settings.params.penalty_per_broken_s, 0.01, 0);
	assert_int_equal(change_policy(json_pack("{s:f}", "price_per_cap_hour", 3.6)), 0);
	ten_seconds("a");
	load_ledger();
	check_money(&row_of("a", "default")->sold, 10, 20, 0.005, 0);
	assert_true(fabs(loaded.price.price_per_cap_hour - 3.6) < 1e-9);
}

TEST(a_change_of_flavor_starts_a_new_row)
{
	struct contract values = {.flavor = "small"};

	start_priced();
	sell_as("a", 50, "", 1);
	ten_seconds("");
	assert_int_equal(change("a", CONTRACT_FLAVOR, values), 0);
	ten_seconds("");
	/* an unknown flavour has the prices of [offer] */
	strcpy(vgpu("a")->contract.flavor, "gone");
	ten_seconds("");
	load_ledger();
	assert_int_equal(loaded.n, 2);
	check_money(&row_of("a", "default")->sold, 10, 0, 0.01, 0);
	check_money(&row_of("a", "small")->sold, 5, 0, 0.01, 0);
}

TEST(removal_keeps_the_sums_of_a_vgpu)
{
	start_priced();
	sell_as("a", 50, "", 1);
	ten_seconds("");
	assert_int_equal(remove_vgpu("a"), 0);
	ten_seconds("");
	load_ledger();
	assert_int_equal(loaded.n, 1);
	check_money(&row_of("a", "default")->sold, 5, 0, 0.005, 0);
	assert_true(fabs(loaded.range.watched_s - 20) < 1e-9);
}

TEST(a_restart_loses_nothing)
{
	start_priced();
	sell_as("a", 50, "small", 1);
	ten_seconds("");
	restart();
	tick(1); /* the first tick after a start counts nothing */
	load_ledger();
	check_money(&row_of("a", "small")->sold, 5, 0, 0.01, 0);
	assert_string_equal(vgpu("a")->contract.flavor, "small");
	ten_seconds("");
	load_ledger();
	check_money(&row_of("a", "small")->sold, 10, 0, 0.02, 0);
	assert_int_equal(loaded.prices, 2); /* unchanged prices add no rows */
}

TEST(each_minute_is_appended_when_it_ends)
{
	struct db_stats before, after;

	set_prices();
	now.wall_ms -= now.wall_ms % 60000;
	start();
	tick(1);
	sell_as("a", 50, "", 1);
	db_stats(m->recorder.history.db, &before);
	for (int i = 0; i < 5; i++)
		ten_seconds("");
	db_stats(m->recorder.history.db, &after);
	assert_int_equal(after.appended, before.appended);
	ten_seconds("");
	db_stats(m->recorder.history.db, &after);
	/* one row for the vGPU, one for the GPU */
	assert_int_equal(after.appended, before.appended + 2);
}

TEST(a_found_vgpu_earns_nothing_but_occupies_its_cap)
{
	start_priced();
	sell_as("a", 50, "", 1);
	sell_as("b", 60, "", 2);
	vgpu("a")->found = true;
	ten_seconds("a");
	load_ledger();
	assert_int_equal(loaded.n, 1);
	check_money(&row_of("b", "default")->sold, 6, 0, 0.006, 0);
	check_money(&row_of("b", "default")->kept, 0, 0, 0, 0);
}

TEST(a_missing_vgpu_is_not_billed)
{
	start_priced();
	sell_as("a", 50, "", 1);
	sell_as("b", 60, "", 2);
	vgpu("a")->device = NULL;
	ten_seconds("");
	load_ledger();
	assert_int_equal(loaded.n, 1);
	check_money(&row_of("b", "default")->kept, 6, 0, 0.006, 0);
}

TEST(revenue_is_counted_without_a_history)
{
	set_prices();
	assert_int_equal(file_make_dirs(config.state_dir), 0);
	assert_int_equal(symlink("not-mounted/history.db", state_path("history.db")), 0);
	start();
	assert_null(m->recorder.history.db);
	tick(1);
	sell_as("a", 50, "", 1);
	for (int i = 0; i < 20; i++)
		ten_seconds("");
	assert_true(fabs(m->host.revenue - 0.1) < 1e-9);
	tick(1);
	assert_non_null(find_active_alert(ALERT_HISTORY_FAILING, ""));
	stop_daemon();
	delete_database();
	start();
	tick(1);
	ten_seconds("");
	load_ledger(); /* the history is new: it contains only the last period */
	check_money(&row_of("a", "default")->sold, 5, 0, 0.005, 0);
}
