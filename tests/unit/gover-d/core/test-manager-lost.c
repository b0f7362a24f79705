/* SPDX-License-Identifier: MIT */
/* One daemon after another, and between them a file is lost, the contracts' or the database's or
 * both, or was not written to its end. */
#include <sys/stat.h>

#include "tests/unit/gover-d/core/test-manager.h"

/* Leaves a with 65 of its 80 %, and b with 35 of its 50 % on hold. */
static void leave_a_steal_and_a_hold(void)
{
	start();
	sell("a", 80, 0.05);
	sell("b", 50, BUSY);
	tick(4);
	device("b")->want = 0;
	assert_int_equal(hold("b", 35), 0);
	assert_int_equal(device("a")->cap_pct, 65);
	stop();
}

static void expect_as_left(void)
{
	assert_int_equal(vgpu("a")->contract.terms.initial_cap_pct, 80);
	assert_int_equal(vgpu("b")->contract.terms.initial_cap_pct, 50);
	assert_false(vgpu("a")->found);
	assert_false(vgpu("a")->contract.held);
	assert_true(vgpu("b")->contract.held);
	assert_int_equal(vgpu("b")->contract.held_cap_pct, 35);
	assert_int_equal(device("a")->cap_pct, 65);
	assert_int_equal(device("b")->cap_pct, 35);
}

/* --- the contracts file --- */

static void without_the_file_the_database_has_contracts_and_holds(void **state)
{
	(void)state;
	leave_a_steal_and_a_hold();
	lose_file();
	start();
	expect_as_left();
	settle_down();
	tick(2);
	expect_as_left();
	assert_true(exists("contracts.json")); /* and it is there again */
	stop();
	lose_database();
	start();
	expect_as_left();
}

static void a_spoilt_file_is_put_aside_for_the_database(void **state)
{
	CLEANUP_FREE char *aside = NULL;

	(void)state;
	leave_a_steal_and_a_hold();
	write_contracts("{\"version\": 2,");
	start();
	expect_as_left();
	settle_down();
	aside = read_state("contracts.json.old");
	assert_string_equal(aside, "{\"version\": 2,");
	restart();
	expect_as_left();
}

static void a_spoilt_file_without_a_database_is_refused(void **state)
{
	(void)state;
	leave_a_steal_and_a_hold();
	write_contracts("{\"version\": 2,");
	lose_database();
	assert_int_equal(manager_new(&config, false, &m, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "contracts.json"));
	assert_int_equal(device("a")->cap_pct, 65);
	assert_false(exists("contracts.json.old"));
}

static void a_newer_file_is_refused_whatever_the_database_has(void **state)
{
	(void)state;
	leave_a_steal_and_a_hold();
	write_contracts("{\"version\": 999, \"gpus\": [], \"vgpus\": []}");
	assert_int_equal(manager_new(&config, false, &m, &err), -EPROTO);
	assert_non_null(strstr(err.msg, "version: 999"));
	assert_false(exists("contracts.json.old"));
}

static void what_could_not_be_written_to_the_file_is_in_the_database(void **state)
{
	(void)state;
	start();
	sell("a", 50, 0);
	assert_int_equal(mkdir(state_path("contracts.json.new"), 0700), 0);
	sell("b", 20, 0);
	assert_true(m->save_result < 0);
	assert_int_equal(hold("a", 40), 0);
	stop();
	assert_int_equal(rmdir(state_path("contracts.json.new")), 0);
	start();
	assert_int_equal(vgpu("b")->contract.terms.initial_cap_pct, 20);
	assert_false(vgpu("b")->found);
	assert_true(vgpu("a")->contract.held);
	assert_true(exists("contracts.json.old"));
}

static void a_file_that_somebody_changed_stands_before_the_database(void **state)
{
	json_t *root;

	(void)state;
	leave_a_steal_and_a_hold();
	root = json_load_file(state_path("contracts.json"), 0, NULL);
	assert_int_equal(json_object_set_new(json_array_get(json_object_get(root, "vgpus"), 0),
					     "initial_cap_pct", json_integer(75)),
			 0);
	assert_int_equal(json_dump_file(root, state_path("contracts.json"), 0), 0);
	json_decref(root);
	start();
	assert_int_equal(vgpu("a")->contract.terms.initial_cap_pct, 75);
	assert_false(exists("contracts.json.old"));
}

static void contracts_in_the_database_that_are_not_understood_are_ignored(void **state)
{
	(void)state;
	leave_a_steal_and_a_hold();
	change_database("UPDATE contracts SET json = '{}', revision = revision + 1");
	start();
	expect_as_left();
	assert_false(exists("contracts.json.old"));
}

static void a_dry_run_takes_them_and_leaves_the_file_missing(void **state)
{
	(void)state;
	leave_a_steal_and_a_hold();
	lose_file();
	start_as(true);
	expect_as_left();
	tick(2);
	stop();
	assert_false(exists("contracts.json"));
	write_contracts("spoilt");
	start_as(true);
	expect_as_left();
	stop();
	assert_false(exists("contracts.json.old"));
}

static void a_restore_takes_them_too(void **state)
{
	(void)state;
	leave_a_steal_and_a_hold();
	lose_file();
	assert_int_equal(manager_restore(&config, &err), 0);
	assert_int_equal(device("a")->cap_pct, 80);
	assert_int_equal(device("b")->cap_pct, 50);
}

/* --- both --- */

static void lose_both(void)
{
	leave_a_steal_and_a_hold();
	lose_file();
	lose_database();
}

static void without_both_those_that_stand_are_held_at_their_caps(void **state)
{
	(void)state;
	lose_both();
	start();
	device("a")->want = 0.01; /* a donor, if it were not for the hold */
	device("b")->want = BUSY;
	tick(20);
	settle_down();
	for (int i = 0; i < 2; i++) {
		assert_int_equal(device("a")->cap_pct, 65);
		assert_int_equal(device("b")->cap_pct, 35);
		assert_true(vgpu("a")->found && vgpu("b")->found);
		assert_true(vgpu("a")->contract.held && vgpu("b")->contract.held);
		assert_int_equal(vgpu("a")->contract.held_cap_pct, 65);
		assert_int_equal(count("foreign_write", NULL), 0);
		restart();
		tick(20);
	}
}

static void without_both_a_restored_cap_is_not_lowered_again(void **state)
{
	(void)state;
	leave_a_steal_and_a_hold();
	assert_int_equal(manager_restore(&config, &err), 0);
	lose_file();
	lose_database();
	start();
	tick(5);
	assert_int_equal(device("a")->cap_pct, 80);
	assert_int_equal(device("b")->cap_pct, 50);
}

static void without_both_others_are_found_as_ever(void **state)
{
	(void)state;
	lose_both();
	*device("c") = (struct gpu_vgpu){.exists = true, .cap_pct = 10};
	start();
	tick(1);
	assert_true(vgpu("a")->contract.held);
	assert_true(vgpu("c")->found);
	assert_false(vgpu("c")->contract.held);
	assert_int_equal(vgpu("c")->contract.terms.initial_cap_pct, 10);
}

static void one_found_held_gets_its_contract_and_is_released(void **state)
{
	const struct contract released = {.held = false};
	struct contract contract = {
		.id = "a",
		.gpu = "gpu0",
		.terms = {.initial_cap_pct = 80, .weight = 1},
		.labels = json_object(),
	};

	(void)state;
	lose_both();
	start();
	tick(1);
	assert_int_equal(control_vgpu_add(m, &contract, NULL, &err), 0);
	assert_int_equal(control_vgpu_change(m, "a", CONTRACT_HELD, &released, &err), 0);
	assert_int_equal(control_vgpu_change(m, "b", CONTRACT_HELD, &released, &err), 0);
	device("a")->want = BUSY;
	tick(20);
	assert_true(device("a")->cap_pct > 65);
}

static void one_found_held_and_removed_is_found_as_one_never_sold(void **state)
{
	(void)state;
	lose_both();
	fake.made_outside = true;
	start();
	tick(1);
	assert_true(vgpu("a")->contract.held);
	assert_int_equal(control_vgpu_remove(m, "a", &err), 0);
	tick(1);
	assert_true(vgpu("a")->found);
	assert_false(vgpu("a")->contract.held);
}

static void without_both_a_restore_has_nothing_to_go_by_and_says_so(void **state)
{
	(void)state;
	lose_both();
	assert_int_equal(manager_restore(&config, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "contracts.json"));
	assert_int_equal(device("a")->cap_pct, 65);
}

static void a_first_start_has_lost_nothing(void **state)
{
	(void)state;
	*device("c") = (struct gpu_vgpu){.exists = true, .cap_pct = 30};
	start();
	tick(1);
	assert_false(vgpu("c")->contract.held);
	assert_int_equal(decisions_after(m->decisions, 0)->id, 1);
	stop();
	assert_int_equal(unlink(state_path("contracts.json")), 0);
	assert_int_equal(unlink(state_path("history.db")), 0);
	assert_int_equal(unlink(state_path("caps")), 0);
	assert_int_equal(manager_restore(&config, &err), 0);
}

/* --- ids --- */

/* Raises an alert, opens an offer, and returns the newest ids. */
static struct db_last_ids use_ids(void)
{
	for (int i = 0; i < 200 && !offers_live(m->offers, "gpu0"); i++)
		tick(1);
	assert_non_null(offers_live(m->offers, "gpu0"));
	device("a")->cap_pct = device("a")->cap_pct == 30 ? 29 : 30;
	tick(1);
	save_tick(m);
	settle_down();
	return (struct db_last_ids){
		.decision = decisions_last_id(m->decisions),
		.alert = alerts_last_id(m->alerts),
		.offer = offers_last_id(m->offers),
	};
}

static void expect_above(struct db_last_ids last)
{
	const struct decision *first = decisions_after(m->decisions, 0);

	assert_true(first->id > last.decision);
	assert_true(alerts_at(m->alerts, 0)->id > last.alert);
	assert_true(offers_at(m->offers, 0)->id > last.offer);
}

static void of_a_lost_history_no_id_is_given_again(void **state)
{
	struct db_last_ids last;

	(void)state;
	start();
	sell("a", 50, 0);
	last = use_ids();
	assert_true(last.decision > 1 && last.alert >= 1 && last.offer >= 1);
	for (int i = 0; i < 3; i++) {
		if (i == 1)
			end();
		else
			stop(); /* as killed */
		lose_database();
		start();
		assert_int_equal(
			control_vgpu_change(m, "a", CONTRACT_HELD, &(struct contract){0}, &err), 0);
		(void)use_ids();
		expect_above(last);
		last = use_ids();
	}
}

static void after_an_orderly_end_ids_go_on_without_a_gap(void **state)
{
	int64_t last;

	(void)state;
	start();
	sell("a", 50, 0);
	last = decisions_last_id(m->decisions);
	end();
	for (int i = 0; i < 2; i++) {
		start();
		assert_int_equal(decisions_last_id(m->decisions), last + 1); /* "adopt" */
		last++;
		end();
	}
	lose_database();
	start();
	assert_int_equal(decisions_after(m->decisions, 0)->id, last + 1);
}

static void a_database_from_before_gives_no_id_again(void **state)
{
	int64_t last;

	(void)state;
	start();
	sell("a", 50, 0);
	end();
	start();
	for (int i = 0; i < 20; i++)
		assert_int_equal(hold("a", 20 + i), 0);
	last = decisions_last_id(m->decisions);
	end();
	change_database("DELETE FROM decision WHERE id > 3"); /* as a backup has it */
	start();
	assert_int_equal(decisions_last_id(m->decisions), last + 1);
	assert_int_equal(decisions_after(m->decisions, 3)->id, last + 1);
}

/* --- the end --- */

static void what_could_not_be_written_is_tried_once_more_at_the_end(void **state)
{
	CLEANUP_FREE char *text = NULL;

	(void)state;
	start();
	settle_down();
	assert_int_equal(mkdir(state_path("contracts.json.new"), 0700), 0);
	sell("a", 50, 0);
	assert_true(m->save_result < 0);
	assert_int_equal(rmdir(state_path("contracts.json.new")), 0);
	end();
	text = read_state("contracts.json");
	assert_non_null(strstr(text, "\"id\": \"a\""));
}

int main(void)
{
#define RIGGED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		RIGGED(without_the_file_the_database_has_contracts_and_holds),
		RIGGED(a_spoilt_file_is_put_aside_for_the_database),
		RIGGED(a_spoilt_file_without_a_database_is_refused),
		RIGGED(a_newer_file_is_refused_whatever_the_database_has),
		RIGGED(what_could_not_be_written_to_the_file_is_in_the_database),
		RIGGED(a_file_that_somebody_changed_stands_before_the_database),
		RIGGED(contracts_in_the_database_that_are_not_understood_are_ignored),
		RIGGED(a_dry_run_takes_them_and_leaves_the_file_missing),
		RIGGED(a_restore_takes_them_too),
		RIGGED(without_both_those_that_stand_are_held_at_their_caps),
		RIGGED(without_both_a_restored_cap_is_not_lowered_again),
		RIGGED(without_both_others_are_found_as_ever),
		RIGGED(one_found_held_gets_its_contract_and_is_released),
		RIGGED(one_found_held_and_removed_is_found_as_one_never_sold),
		RIGGED(without_both_a_restore_has_nothing_to_go_by_and_says_so),
		RIGGED(a_first_start_has_lost_nothing),
		RIGGED(of_a_lost_history_no_id_is_given_again),
		RIGGED(after_an_orderly_end_ids_go_on_without_a_gap),
		RIGGED(a_database_from_before_gives_no_id_again),
		RIGGED(what_could_not_be_written_is_tried_once_more_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
