/* SPDX-License-Identifier: MIT */
/* One daemon after another before GPUs that stay: what the next one takes up, and what it leaves.
 */
#include <sys/wait.h>

#include "tests/unit/gover-d/core/test-manager.h"

/* Leaves a with 65 of its 80 % and b with 35 of its 50 %. */
static void leave_a_steal(void)
{
	start();
	sell("a", 80, 0.05);
	sell("b", 50, BUSY);
	tick(4);
	device("b")->want = 0;
	assert_int_equal(device("a")->cap_pct, 65);
	assert_int_equal(device("b")->cap_pct, 35);
}

static void expect_journal(const char *id, int cap_pct)
{
	int last_pct, intent_pct;

	read_journal(id, &last_pct, &intent_pct);
	assert_int_equal(last_pct, cap_pct);
	assert_int_equal(intent_pct, cap_pct);
}

static void a_restart_writes_no_cap(void **state)
{
	int writes;

	(void)state;
	leave_a_steal();
	writes = fake.writes;
	restart();
	tick(2);
	assert_int_equal(fake.writes, writes);
	assert_int_equal(vgpu("a")->cap_pct, 65);
	assert_int_equal(count("foreign_write", NULL), 0);
}

static void a_foreign_write_found_at_the_start_still_stands_after_the_next(void **state)
{
	(void)state;
	leave_a_steal();
	stop();
	device("a")->cap_pct = 44;
	start();
	settle_down();
	assert_true(vgpu("a")->contract.held);
	restart();
	assert_true(vgpu("a")->contract.held);
	assert_int_equal(vgpu("a")->contract.held_cap_pct, 44);
	assert_false(vgpu("b")->contract.held);
}

/* --- a dry run --- */

static void a_dry_run_says_so_and_leaves_a_restored_cap(void **state)
{
	CLEANUP_FREE char *before = NULL, *after = NULL;

	(void)state;
	leave_a_steal();
	stop();
	before = read_state("caps");
	device("a")->cap_pct = 80; /* a lease */
	start_as(true);
	assert_int_equal(count("adopt", "dry_run"), 1);
	tick(5);
	assert_int_equal(device("a")->cap_pct, 80);
	stop();
	after = read_state("caps");
	assert_string_equal(before, after);
	start();
	assert_int_equal(device("a")->cap_pct, 65); /* the next real one takes it up */
}

static void a_dry_run_changes_no_file_about_a_foreign_cap(void **state)
{
	CLEANUP_FREE char *caps = NULL, *caps_after = NULL;
	CLEANUP_FREE char *contracts = NULL, *contracts_after = NULL;

	(void)state;
	leave_a_steal();
	stop();
	caps = read_state("caps");
	contracts = read_state("contracts.json");
	device("a")->cap_pct = 44;
	start_as(true);
	tick(3);
	stop();
	caps_after = read_state("caps");
	contracts_after = read_state("contracts.json");
	assert_string_equal(caps, caps_after);
	assert_string_equal(contracts, contracts_after);
}

static void a_foreign_write_is_told_after_a_restart_too(void **state)
{
	(void)state;
	leave_a_steal();
	device("a")->cap_pct = 44;
	tick(1);
	settle_down();
	restart();
	tick(5);
	assert_true(vgpu("a")->contract.held);
	assert_non_null(alert_of(ALERT_FOREIGN_WRITE, "a"));
}

static void a_dry_run_notes_no_foreign_write_that_it_sees(void **state)
{
	(void)state;
	leave_a_steal();
	stop();
	start_as(true);
	tick(1);
	device("a")->cap_pct = 44;
	tick(1);
	assert_int_equal(count("foreign_write", NULL), 1);
	stop();
	expect_journal("a", 65);
}

static void set_live(const char *key, int value)
{
	json_t *object = json_pack("{s:i}", key, value);

	assert_int_equal(control_policy_change(m, object, &err), 0);
	json_decref(object);
}

static void what_is_set_in_a_dry_run_ends_with_it(void **state)
{
	(void)state;
	start();
	set_live("overload_pct", 91);
	stop();
	start_as(true);
	assert_float_equal(m->config.params.overload_pct, 91, 0);
	set_live("overload_pct", 80);
	assert_float_equal(m->params.overload_pct, 80, 0);
	restart();
	assert_float_equal(m->config.params.overload_pct, 91, 0);
}

/* --- restore --- */

static void a_restore_brings_contracts_and_the_next_start_the_last_caps(void **state)
{
	(void)state;
	leave_a_steal();
	stop();
	assert_int_equal(manager_restore(&config, &err), 0);
	assert_int_equal(device("a")->cap_pct, 80);
	assert_int_equal(device("b")->cap_pct, 50);
	expect_journal("a", 65);
	expect_journal("b", 35);
	start();
	assert_int_equal(device("a")->cap_pct, 65);
	assert_int_equal(device("b")->cap_pct, 35);
	assert_int_equal(count("foreign_write", NULL), 0);
}

static void a_restore_that_does_not_come_out_is_an_error_and_stops_no_other(void **state)
{
	(void)state;
	leave_a_steal();
	stop();
	device("a")->deaf = true;
	assert_true(manager_restore(&config, &err) < 0);
	assert_non_null(strstr(err.msg, "1 vGPU"));
	assert_int_equal(device("b")->cap_pct, 50);
	expect_journal("a", 65);
}

static void a_restore_tells_a_contract_on_a_gpu_that_is_not_configured(void **state)
{
	(void)state;
	leave_a_steal();
	stop();
	strcpy(config.gpus[0].gpu.name, "gpu1");
	assert_true(manager_restore(&config, &err) < 0);
	assert_non_null(strstr(err.msg, "2 vGPU"));
	assert_int_equal(device("a")->cap_pct, 65);
}

/* --- vGPUs that went --- */

static void a_found_vgpu_that_its_maker_took_away_is_forgotten(void **state)
{
	(void)state;
	*device("c") = (struct gpu_vgpu){.exists = true, .cap_pct = 30};
	start();
	tick(1);
	settle_down();
	assert_true(vgpu("c")->found);
	stop();
	device("c")->exists = false;
	start();
	assert_null(host_find_vgpu(&m->host, "c", NULL));
	assert_false(device("c")->exists); /* it is not ours to make */
	tick(5);
	assert_null(alert_of(ALERT_VGPU_MISSING, "c"));
}

static void another_one_of_the_name_of_a_forgotten_one_is_left_alone(void **state)
{
	(void)state;
	*device("c") = (struct gpu_vgpu){.exists = true, .cap_pct = 30};
	start();
	tick(1);
	settle_down();
	stop();
	device("c")->exists = false;
	start();
	*device("c") = (struct gpu_vgpu){.exists = true, .cap_pct = 50};
	tick(2);
	assert_int_equal(device("c")->cap_pct, 50);
	assert_int_equal(vgpu("c")->contract.terms.initial_cap_pct, 50);
	assert_false(vgpu("c")->contract.held);
}

static void a_sold_one_that_went_is_made_again_with_its_last_cap(void **state)
{
	(void)state;
	leave_a_steal();
	stop();
	device("a")->exists = false;
	start();
	assert_true(device("a")->exists);
	assert_int_equal(device("a")->cap_pct, 65);
}

static void making_one_again_may_fail_and_its_last_cap_is_kept(void **state)
{
	(void)state;
	leave_a_steal();
	stop();
	device("a")->exists = false;
	fake.create_errno = EIO;
	start();
	assert_null(vgpu("a")->device);
	assert_int_equal(vgpu("a")->contract.terms.initial_cap_pct, 80);
	expect_journal("a", 65);
	fake.create_errno = 0;
	restart();
	assert_int_equal(device("a")->cap_pct, 65);
}

/* --- what the history says --- */

static void live_settings_that_do_not_go_with_the_file_are_ignored(void **state)
{
	(void)state;
	start();
	set_live("fund_window_s", 300);
	set_live("overload_pct", 90);
	restart();
	assert_int_equal(m->config.fund_window_s, 300);
	assert_float_equal(m->config.params.overload_pct, 90, 0);
	stop();
	config.period_ms = 500; /* 600 periods: more than are remembered */
	start();
	assert_int_equal(m->config.fund_window_s, 30);
	assert_true(m->params.fund_window_periods <= POLICY_WINDOW_MAX);
	tick(3);
}

/* An offer that a newcomer d claimed. */
static void make_a_sale(void)
{
	struct contract contract = {.id = "d", .labels = json_object()};
	const struct offer *offer;

	start();
	sell("a", 100, 0.4); /* so that the newcomer begins below its contract */
	tick(10);
	offer = offers_live(m->offers, "gpu0");
	assert_non_null(offer);
	assert_int_equal(control_offer_claim(m, offer->id, "", 0, &contract, &offer, &err), 0);
	save_soon(m);
	settle_down();
}

/* And that severe overload made fail. */
static void fail_a_sale(void)
{
	make_a_sale();
	device("a")->want = device("d")->want = BUSY;
	tick(10);
	assert_int_equal(offers_live(m->offers, "gpu0")->life.state, OFFER_FAILED);
	assert_non_null(alert_of(ALERT_SALE_FAILED, ""));
	device("a")->want = device("d")->want = 0;
}

/* No child of this process was ever started for it. */
static void a_sale_that_fails_in_a_dry_run_moves_nobody(void **state)
{
	(void)state;
	strcpy(config.on_migrate, "/bin/true");
	make_a_sale();
	stop();
	start_as(true);
	device("a")->want = device("d")->want = BUSY;
	tick(10);
	assert_int_equal(offers_live(m->offers, "gpu0")->life.state, OFFER_FAILED);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void remove_newcomer(void)
{
	assert_int_equal(control_vgpu_remove(m, "d", &err), 0);
	save_soon(m);
	settle_down();
}

static void a_failed_sale_blocks_selling_over_a_restart(void **state)
{
	(void)state;
	fail_a_sale();
	restart();
	tick(40);
	assert_non_null(alert_of(ALERT_SALE_FAILED, ""));
	assert_int_equal(offers_live(m->offers, "gpu0")->life.state, OFFER_FAILED);
}

static void a_failed_sale_whose_newcomer_is_gone_blocks_nothing_after_a_restart(void **state)
{
	(void)state;
	fail_a_sale();
	remove_newcomer();
	restart();
	tick(40);
	assert_null(alert_of(ALERT_SALE_FAILED, ""));
	assert_non_null(offers_live(m->offers, "gpu0"));
	assert_int_equal(offers_live(m->offers, "gpu0")->life.state, OFFER_OPEN);
}

static void a_failed_sale_is_over_when_another_has_its_name(void **state)
{
	(void)state;
	fail_a_sale();
	remove_newcomer();
	tick(40);
	sell("d", 20, 0);
	vgpu("d")->contract.created_ms = now.wall_ms + 1; /* in the time of this test */
	save_soon(m);
	settle_down();
	restart();
	tick(10);
	assert_null(alert_of(ALERT_SALE_FAILED, ""));
}

int main(void)
{
#define RIGGED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		RIGGED(a_restart_writes_no_cap),
		RIGGED(a_foreign_write_found_at_the_start_still_stands_after_the_next),
		RIGGED(a_dry_run_says_so_and_leaves_a_restored_cap),
		RIGGED(a_dry_run_changes_no_file_about_a_foreign_cap),
		RIGGED(a_foreign_write_is_told_after_a_restart_too),
		RIGGED(a_dry_run_notes_no_foreign_write_that_it_sees),
		RIGGED(what_is_set_in_a_dry_run_ends_with_it),
		RIGGED(a_restore_brings_contracts_and_the_next_start_the_last_caps),
		RIGGED(a_restore_that_does_not_come_out_is_an_error_and_stops_no_other),
		RIGGED(a_restore_tells_a_contract_on_a_gpu_that_is_not_configured),
		RIGGED(a_found_vgpu_that_its_maker_took_away_is_forgotten),
		RIGGED(another_one_of_the_name_of_a_forgotten_one_is_left_alone),
		RIGGED(a_sold_one_that_went_is_made_again_with_its_last_cap),
		RIGGED(making_one_again_may_fail_and_its_last_cap_is_kept),
		RIGGED(live_settings_that_do_not_go_with_the_file_are_ignored),
		RIGGED(a_sale_that_fails_in_a_dry_run_moves_nobody),
		RIGGED(a_failed_sale_blocks_selling_over_a_restart),
		RIGGED(a_failed_sale_whose_newcomer_is_gone_blocks_nothing_after_a_restart),
		RIGGED(a_failed_sale_is_over_when_another_has_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
