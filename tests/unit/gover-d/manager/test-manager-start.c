/* SPDX-License-Identifier: MIT */
/*
 * Which state a restarted daemon restores, what dry runs and restore change, and GPUs that cannot
 * be opened yet: retries, alerts, contracts.
 */
#include <sys/wait.h>

#include "gover-d/cap/gpus.h"
#include "tests/unit/gover-d/manager/test-manager.h"

/* Runs until vGPU a has a cap of 65 % (contract 80 %), and vGPU b has 35 % (contract 50 %). */
static void run_steal(void)
{
	start();
	sell("a", 80, 0.05);
	sell("b", 50, BUSY);
	tick(4);
	device("b")->demand = 0;
	assert_int_equal(device("a")->cap_pct, 65);
	assert_int_equal(device("b")->cap_pct, 35);
}

TEST(a_restart_writes_no_cap)
{
	int writes;

	run_steal();
	writes = fake.writes;
	restart();
	tick(2);
	assert_int_equal(fake.writes, writes);
	assert_int_equal(vgpu("a")->cap.pct, 65);
	assert_int_equal(count_decisions("foreign_write", NULL), 0);
}

TEST(a_foreign_write_found_at_start_stays_on_hold_after_a_restart)
{
	run_steal();
	stop_daemon();
	device("a")->cap_pct = 44;
	start();
	wait_for_saves();
	assert_true(vgpu("a")->contract.held);
	restart();
	assert_true(vgpu("a")->contract.held);
	assert_int_equal(vgpu("a")->contract.held_cap_pct, 44);
	assert_false(vgpu("b")->contract.held);
}

/* --- dry run --- */

TEST(a_dry_run_is_recorded_and_writes_no_cap)
{
	CLEANUP_FREE char *before = NULL, *after = NULL;

	run_steal();
	stop_daemon();
	before = read_state("caps");
	device("a")->cap_pct = 80; /* the cap that the kernel sets after the lease has expired */
	start_dry_run();
	assert_int_equal(count_decisions("adopt", "dry_run"), 1);
	tick(5);
	assert_int_equal(device("a")->cap_pct, 80);
	stop_daemon();
	after = read_state("caps");
	assert_string_equal(before, after);
	start();
	/* The next daemon that is not a dry run restores the last cap. */
	assert_int_equal(device("a")->cap_pct, 65);
}

TEST(a_dry_run_changes_no_file_after_a_foreign_write)
{
	CLEANUP_FREE char *caps = NULL, *caps_after = NULL;
	CLEANUP_FREE char *contracts = NULL, *contracts_after = NULL;

	run_steal();
	stop_daemon();
	caps = read_state("caps");
	contracts = read_state("contracts.json");
	device("a")->cap_pct = 44;
	start_dry_run();
	tick(3);
	stop_daemon();
	caps_after = read_state("caps");
	contracts_after = read_state("contracts.json");
	assert_string_equal(caps, caps_after);
	assert_string_equal(contracts, contracts_after);
}

TEST(a_foreign_write_alert_survives_a_restart)
{
	run_steal();
	device("a")->cap_pct = 44;
	tick(1);
	wait_for_saves();
	restart();
	tick(5);
	assert_true(vgpu("a")->contract.held);
	assert_non_null(find_active_alert(ALERT_FOREIGN_WRITE, "a"));
}

TEST(a_dry_run_does_not_journal_a_foreign_write)
{
	run_steal();
	stop_daemon();
	start_dry_run();
	tick(1);
	device("a")->cap_pct = 44;
	tick(1);
	assert_int_equal(count_decisions("foreign_write", NULL), 1);
	stop_daemon();
	expect_journal("a", 65);
}

static void set_policy_param(const char *key, int value)
{
	assert_int_equal(change_policy(json_pack("{s:i}", key, value)), 0);
}

TEST(policy_changes_of_a_dry_run_are_not_saved)
{
	start();
	set_policy_param("overload_pct", 91);
	stop_daemon();
	start_dry_run();
	assert_float_equal(m->store.settings.config.params.overload_pct, 91, 0);
	set_policy_param("overload_pct", 80);
	assert_float_equal(m->store.settings.params.overload_pct, 80, 0);
	restart();
	assert_float_equal(m->store.settings.config.params.overload_pct, 91, 0);
}

/* Replaces the contracts file by the same file as an earlier release wrote it. */
static void write_earlier_file(void)
{
	static const char *const later[] = {"settings", "silences", "acks", "withdrawn"};
	CLEANUP_FREE char *text = read_state("contracts.json"), *earlier = NULL;
	json_t *file = json_loads(text, 0, NULL), *entry;
	size_t i;

	assert_non_null(file);
	(void)json_object_set_new(file, "version", json_integer(5));
	json_array_foreach (json_object_get(file, "gpus"), i, entry) {
		assert_int_equal(json_object_del(entry, "migrations"), 0);
	}
	for (i = 0; i < ARRAY_SIZE(later); i++)
		assert_int_equal(json_object_del(file, later[i]), 0);
	json_array_foreach (json_object_get(file, "vgpus"), i, entry) {
		assert_int_equal(json_object_del(entry, "removing"), 0);
	}
	earlier = json_dumps(file, 0);
	write_contracts(earlier);
	json_decref(file);
}

TEST(settings_and_silences_of_an_earlier_release_are_taken_over_once)
{
	const struct db_silence silence = {
		.vgpu = "a", .reason = "x", .until_ms = clock_now().wall_ms + 3600000};

	start();
	sell("a", 50, 0);
	set_policy_param("overload_pct", 91);
	assert_int_equal(await_change(control_silence_add(&m->changes, &silence, at_end, &err)), 0);
	stop_daemon();
	write_earlier_file();
	for (int i = 0; i < 2; i++) {
		start(); /* first from the database, then from the file */
		assert_float_equal(m->store.settings.params.overload_pct, 91, 0);
		assert_int_equal(m->recorder.silences.n, 1);
		assert_string_equal(m->recorder.silences.list[0].reason, "x");
		wait_for_saves();
		stop_daemon();
		if (i == 0)
			delete_database();
	}
}

/* The clock was ahead, and is set back during the restart. */
TEST(a_silence_that_has_expired_does_not_come_back)
{
	const int64_t soon_ms = clock_now().wall_ms + 3600000;
	const struct db_silence silence = {.vgpu = "a", .reason = "x", .until_ms = soon_ms};
	struct contracts contracts;

	start();
	sell("a", 50, 0);
	assert_int_equal(await_change(control_silence_add(&m->changes, &silence, at_end, &err)), 0);
	now.wall_ms = soon_ms + 1;
	period_run(&m->tick, now, /* gap= */ false);
	wait_for_saves();
	assert_int_equal(contracts_load(m->store.contracts_path, &contracts, &err), 0);
	assert_int_equal(contracts.operator_state->silences.n, 0);
	contracts_fini(&contracts);
	stop_daemon();
}

/* The second start reads the contracts file that the first one has written with the loaded rows. */
TEST(invalid_rows_of_the_history_are_ignored)
{
	start();
	sell("a", 50, 0);
	stop_daemon();
	write_earlier_file();
	change_database("INSERT INTO alert (id, raised_ms, acked_ms, name, gpu, vgpu)"
			" VALUES (900, 1, -5, 'fps_missing', 'gpu0', 'a'),"
			" (1 << 60, 1, 5, 'fps_missing', 'gpu0', 'a')");
	change_database("INSERT INTO silence (id, created_ms, until_ms, vgpu, reason)"
			" VALUES (900, 1, 9e15, 'a', 'one' || char(10) || 'two'),"
			" (901, 1, 9e15, 'a b', 'x')");
	change_database("INSERT INTO offer (id, created_ms, changed_ms, gpu, state, cap_pct,"
			" funded_pct, target_fps) VALUES (900, 1, 1, 'gpu0', 'open', 50, 0, 9e999),"
			" (901, 1, 1, CAST(x'ff' AS TEXT), 'open', 50, 0, 60)");
	change_database("INSERT INTO setting VALUES ('overload_pct', CAST(x'ff' AS TEXT))");
	for (int i = 0; i < 2; i++) {
		start();
		assert_int_equal(m->recorder.silences.n, 0);
		assert_null(offers_find(m->sales.offers, 900));
		assert_null(offers_find(m->sales.offers, 901));
		save_now();
		stop_daemon();
	}
}

/* --- restore --- */

TEST(a_restore_writes_contract_caps_and_the_next_start_the_last_caps)
{
	run_steal();
	stop_daemon();
	assert_int_equal(manager_restore(&config, &err), 0);
	assert_int_equal(device("a")->cap_pct, 80);
	assert_int_equal(device("b")->cap_pct, 50);
	expect_journal("a", 65);
	expect_journal("b", 35);
	start();
	assert_int_equal(device("a")->cap_pct, 65);
	assert_int_equal(device("b")->cap_pct, 35);
	assert_int_equal(count_decisions("foreign_write", NULL), 0);
}

TEST(a_restore_that_fails_for_one_vgpu_continues_with_the_others)
{
	run_steal();
	stop_daemon();
	device("a")->ignores_writes = true;
	assert_true(manager_restore(&config, &err) < 0);
	assert_non_null(strstr(err.msg, "1 vGPU"));
	assert_int_equal(device("b")->cap_pct, 50);
	expect_journal("a", 65);
}

TEST(a_restore_reports_contracts_on_an_unconfigured_gpu)
{
	run_steal();
	stop_daemon();
	strcpy(config.gpus[0].gpu.name, "gpu1");
	assert_true(manager_restore(&config, &err) < 0);
	assert_non_null(strstr(err.msg, "2 vGPU"));
	assert_int_equal(device("a")->cap_pct, 65);
}

/* --- sold vGPUs removed while the daemon is stopped --- */

TEST(a_missing_sold_vgpu_is_created_again_with_its_last_cap)
{
	run_steal();
	stop_daemon();
	device("a")->exists = false;
	start();
	assert_true(device("a")->exists);
	assert_int_equal(device("a")->cap_pct, 65);
}

TEST(a_failed_creation_keeps_the_last_cap)
{
	run_steal();
	stop_daemon();
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

/* --- policy settings and sales from the history --- */

TEST(saved_policy_changes_that_contradict_the_configuration_are_ignored)
{
	start();
	set_policy_param("fund_window_s", 300);
	set_policy_param("overload_pct", 90);
	restart();
	assert_int_equal(m->store.settings.config.fund_window_s, 300);
	assert_float_equal(m->store.settings.config.params.overload_pct, 90, 0);
	stop_daemon();
	config.period_ms = 500; /* fund_window_s is now 600 periods, more than the maximum */
	start();
	assert_int_equal(m->store.settings.config.fund_window_s, 30);
	assert_true(m->store.settings.params.fund_window_periods <= POLICY_WINDOW_MAX);
	tick(3);
}

static void sell_d_by_offer(void)
{
	start();
	sell("a", 100, 0.4); /* vGPU a uses its cap, so vGPU d starts below its contract */
	tick(10);
	assert_int_equal(claim(live_offer()->id, "", "d"), 0);
	save_now();
}

/* Severe overload makes the sale fail. */
static void run_failed_sale(void)
{
	sell_d_by_offer();
	device("a")->demand = device("d")->demand = BUSY;
	tick(10);
	assert_int_equal(offers_live(m->sales.offers, "gpu0")->life.state, OFFER_FAILED);
	assert_non_null(find_active_alert(ALERT_SALE_FAILED, ""));
	device("a")->demand = device("d")->demand = 0;
}

/* If no migration program was started, waitpid() fails with ECHILD. */
TEST(a_failed_sale_in_a_dry_run_starts_no_migration)
{
	strcpy(config.on_migrate, "/bin/true");
	sell_d_by_offer();
	stop_daemon();
	start_dry_run();
	device("a")->demand = device("d")->demand = BUSY;
	tick(10);
	assert_int_equal(offers_live(m->sales.offers, "gpu0")->life.state, OFFER_FAILED);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void remove_d(void)
{
	assert_int_equal(remove_vgpu("d"), 0);
	save_now();
}

TEST(a_failed_sale_blocks_new_offers_after_a_restart)
{
	run_failed_sale();
	restart();
	tick(40);
	assert_non_null(find_active_alert(ALERT_SALE_FAILED, ""));
	assert_int_equal(offers_live(m->sales.offers, "gpu0")->life.state, OFFER_FAILED);
}

TEST(a_failed_sale_of_a_removed_vgpu_blocks_no_offers_after_a_restart)
{
	run_failed_sale();
	remove_d();
	restart();
	tick(70); /* nothing is sold while the alert severe_overload is active */
	assert_null(find_active_alert(ALERT_SALE_FAILED, ""));
	assert_non_null(offers_live(m->sales.offers, "gpu0"));
	assert_int_equal(offers_live(m->sales.offers, "gpu0")->life.state, OFFER_OPEN);
}

TEST(a_failed_sale_ends_when_another_vgpu_reuses_its_id)
{
	run_failed_sale();
	remove_d();
	tick(40);
	sell("d", 20, 0);
	/* control_vgpu_add() used the real clock, which is behind the clock of the test. */
	vgpu("d")->contract.created_ms = now.wall_ms + 1;
	save_now();
	restart();
	tick(10);
	assert_null(find_active_alert(ALERT_SALE_FAILED, ""));
}

/* --- GPUs that cannot be opened at the start --- */

#define NO_DRIVER "no driver is loaded"

/* A GPU that is known to an earlier daemon, with one contract, and cannot be opened now. */
static void start_without_driver(void)
{
	start();
	sell("a", 60, 0.05);
	stop_daemon();
	fake.open_errno = ENODEV;
	start();
}

TEST(a_start_does_not_wait_for_the_driver)
{
	start_without_driver();
	assert_int_not_equal(gpu->state, GPU_OPEN);
	tick(3);
	expect_alert(ALERT_TELEMETRY_STALE, "",
		     "GPU gpu0 cannot be opened: " NO_DRIVER "; the next attempt is in ");
	assert_null(find_active_alert(ALERT_VGPU_MISSING, "a"));
	assert_int_equal(vgpu("a")->contract.terms.initial_cap_pct, 60);
	assert_int_equal(fake.writes, 0);
}

TEST(a_gpu_that_is_not_open_sells_nothing)
{
	start_without_driver();
	tick(100);
	assert_null(offers_live(m->sales.offers, "gpu0"));
	assert_int_equal(add(contract_of("b", 20)), CONTROL_E_NO_ANSWER);
	assert_int_not_equal(vgpu("a")->promise.state, PROMISE_KEPT);
}

TEST(the_time_between_two_attempts_doubles_up_to_a_minute)
{
	/* seconds after the first attempt of each further one, in the first 250 s */
	static const int attempts_s[] = {1, 3, 7, 15, 31, 63, 123, 183, 243};
	size_t n = 0;
	int opens;

	start_without_driver();
	opens = fake.opens;
	now = clock_now();
	for (int s = 1; s <= 250; s++) {
		tick(1);
		if (fake.opens == opens)
			continue;
		opens = fake.opens;
		assert_true(n < ARRAY_SIZE(attempts_s));
		assert_in_range(s, attempts_s[n], attempts_s[n] + 1);
		n++;
	}
	assert_int_equal(n, ARRAY_SIZE(attempts_s));
}

TEST(a_gpu_that_returns_is_adopted)
{
	start_without_driver();
	tick(20);
	fake.open_errno = 0;
	tick(70);
	assert_int_equal(gpu->state, GPU_OPEN);
	assert_non_null(vgpu("a")->device);
	assert_null(find_active_alert(ALERT_TELEMETRY_STALE, ""));
	assert_int_equal(count_decisions("foreign_write", NULL), 0);
}

/* A permission may be granted later, for example by a rule of udev. */
TEST(only_an_impossible_configuration_ends_the_start)
{
	static const struct {
		int error;
		bool final;
	} rows[] = {
		{ENODEV, false}, {ENOENT, false}, {EOPNOTSUPP, false}, {EACCES, false},
		{EPERM, false},	 {EIO, false},	  {ENXIO, false},      {EINVAL, true},
		{EBUSY, true},	 {ENOMEM, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		fake.open_errno = rows[i].error;
		assert_int_equal(manager_new(&config, false, &m, &err), 0);
		assert_int_equal(manager_start(m, &err), rows[i].final ? -rows[i].error : 0);
		if (rows[i].final)
			assert_string_equal(err.msg, "GPU gpu0 cannot be opened: " NO_DRIVER);
		m = manager_free(m);
	}
}

TEST(backend_auto_finds_a_gpu_later)
{
	config.n_gpus = 3;
	config.gpus[1] = config.gpus[2] = config.gpus[0];
	strcpy(config.gpus[0].gpu.name, "first");
	strcpy(config.gpus[0].gpu.backend, "auto");
	strcpy(config.gpus[2].gpu.name, "last");
	strcpy(config.gpus[2].gpu.backend, "auto");
	start();
	assert_int_equal(m->host.n_gpus, 1);
	tick(3);
	assert_int_equal(m->host.n_gpus, 1);
	fake.auto_finds = true;
	for (int i = 0; i < 1000 && m->host.n_gpus < 3; i++) {
		usleep(1000); /* a thread opens a GPU of backend auto */
		tick(1);
	}
	assert_int_equal(m->host.n_gpus, 3);
	assert_string_equal(m->host.gpus[0].config.name, "gpu0");
	assert_non_null(host_find_gpu(&m->host, "first"));
	assert_non_null(host_find_gpu(&m->host, "last"));
	assert_true(m->host.gpus[1].state == GPU_OPEN && m->host.gpus[2].state == GPU_OPEN);
}

TEST(backend_auto_leaves_out_only_an_unknown_gpu)
{
	strcpy(config.gpus[0].gpu.backend, "auto");
	start();
	assert_int_equal(m->host.n_gpus, 0);
	stop_daemon();
	strcpy(config.gpus[0].gpu.backend, "sim");
	start();
	sell("a", 60, 0.05);
	stop_daemon();
	strcpy(config.gpus[0].gpu.backend, "auto");
	start();
	assert_int_equal(m->host.n_gpus, 1);
	tick(3);
	expect_alert(
		ALERT_TELEMETRY_STALE, "",
		"GPU gpu0 cannot be opened: backend auto found no vGPU scheduler on this host");
	assert_int_equal(vgpu("a")->contract.terms.initial_cap_pct, 60);
}

TEST(a_restore_reports_a_gpu_that_cannot_be_opened)
{
	start();
	sell("a", 60, 0.05);
	stop_daemon();
	fake.open_errno = ENODEV;
	assert_int_equal(manager_restore(&config, &err), -EIO);
	assert_string_equal(err.msg, "1 vGPUs could not be restored, 1 GPUs could not be opened");
	fake.open_errno = 0;
	assert_int_equal(manager_restore(&config, &err), 0);
	assert_int_equal(device("a")->cap_pct, 60);
}
