/* SPDX-License-Identifier: MIT */
/*
 * External changes while the daemon runs or is stopped: vGPUs that are removed, cannot be adopted
 * or are created again, and caps that another program writes.
 */
#include <fcntl.h>

#include "gover-d/tick/round.h"
#include "tests/unit/gover-d/manager/test-manager.h"

/* --- vGPUs removed externally --- */

/* Sells vGPU a, and lets the daemon adopt vGPU c, which has no contract. */
static void start_with_unsold_c(int cap_pct)
{
	*device("c") = (struct gpu_vgpu){.exists = true, .cap_pct = cap_pct};
	start();
	sell("a", 50, 0);
	tick(1);
	wait_for_saves();
	assert_true(vgpu("c")->found);
}

TEST(an_unsold_vgpu_that_disappears_is_forgotten_at_once)
{
	start_with_unsold_c(30);
	assert_true(contracts_file_contains("\"c\""));
	device("c")->exists = false;
	tick(1);
	wait_for_saves();
	assert_null(host_find_vgpu(&m->host, "c", NULL));
	assert_int_equal(count_decisions("missing", "noted"), 1);
	assert_non_null(strstr(
		decisions_after(m->recorder.decisions, decisions_last_id(m->recorder.decisions) - 1)
			->why,
		"without a contract vanished"));
	assert_false(contracts_file_contains("\"c\""));
	assert_true(contracts_file_contains("\"a\""));
	assert_true(contracts_file_contains("\"a\""));
	tick(5);
	assert_null(find_active_alert(ALERT_VGPU_MISSING, "c"));
	assert_true(gpu->telemetry_valid);
}

TEST(a_new_vgpu_with_a_reused_id_inherits_nothing)
{
	start_with_unsold_c(30);
	assert_int_equal(hold("c", 20), 0);
	device("c")->exists = false;
	tick(1);
	*device("c") = (struct gpu_vgpu){.exists = true, .cap_pct = 40};
	tick(5);
	assert_int_equal(vgpu("c")->contract.terms.initial_cap_pct, 40);
	assert_false(vgpu("c")->contract.held);
	assert_int_equal(device("c")->cap_pct, 40);
	assert_int_equal(count_decisions("foreign_write", NULL), 0);
}

TEST(a_sold_vgpu_that_disappears_is_missing)
{
	const struct contract values = {.terms = {.target_fps = 30}};

	start_with_unsold_c(30);
	assert_int_equal(change("c", CONTRACT_TARGET_FPS, values), 0);
	device("a")->exists = device("c")->exists = false;
	tick(5);
	assert_null(vgpu("a")->device);
	/* vGPU c counts as sold, because its contract was changed */
	assert_null(vgpu("c")->device);
	assert_non_null(find_active_alert(ALERT_VGPU_MISSING, "a"));
	assert_non_null(find_active_alert(ALERT_VGPU_MISSING, "c"));
	assert_int_equal(count_decisions("missing", "noted"), 2);
}

/* The daemon never opened vGPU c, so only the list of the backend shows that it was removed. */
TEST(an_unsold_vgpu_that_was_never_opened_is_forgotten_too)
{
	start_with_unsold_c(30);
	stop_daemon();
	device("c")->attach_errno = EIO;
	start();
	tick(5);
	assert_null(vgpu("c")->device);
	device("c")->exists = false;
	tick(5);
	wait_for_saves();
	assert_null(host_find_vgpu(&m->host, "c", NULL));
	assert_false(contracts_file_contains("\"c\""));
}

TEST(an_unsold_vgpu_removed_while_stopped_is_recorded_and_forgotten)
{
	start_with_unsold_c(30);
	stop_daemon();
	device("c")->exists = false;
	start();
	assert_null(host_find_vgpu(&m->host, "c", NULL));
	assert_false(device("c")->exists); /* the daemon creates only sold vGPUs */
	wait_for_saves();
	assert_int_equal(count_decisions("missing", "noted"), 1);
	assert_false(contracts_file_contains("\"c\""));
	assert_true(contracts_file_contains("\"a\""));
	tick(5);
	assert_null(find_active_alert(ALERT_VGPU_MISSING, "c"));
}

TEST(a_new_vgpu_with_the_id_of_one_removed_while_stopped_keeps_its_cap)
{
	start_with_unsold_c(30);
	stop_daemon();
	device("c")->exists = false;
	start();
	*device("c") = (struct gpu_vgpu){.exists = true, .cap_pct = 50};
	tick(2);
	assert_int_equal(device("c")->cap_pct, 50);
	assert_int_equal(vgpu("c")->contract.terms.initial_cap_pct, 50);
	assert_false(vgpu("c")->contract.held);
}

TEST(a_dry_run_forgets_an_unsold_vgpu_only_in_memory)
{
	start_with_unsold_c(30);
	stop_daemon();
	start_dry_run();
	tick(1);
	device("c")->exists = false;
	tick(1);
	assert_null(host_find_vgpu(&m->host, "c", NULL));
	assert_true(contracts_file_contains("\"c\""));
	expect_journal("c", 30);
}

/* --- vGPUs that cannot be adopted --- */

/* Runs @periods ticks and counts the log lines that contain @words. */
static int count_log_lines(int periods, const char *words)
{
	char path[128], line[2048];
	int n_lines = 0, fd, kept = dup(STDERR_FILENO);
	FILE *file;

	snprintf(path, sizeof(path), "%s/log", temp_folder);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0 && kept >= 0);
	assert_true(dup2(fd, STDERR_FILENO) >= 0);
	tick(periods);
	assert_true(dup2(kept, STDERR_FILENO) >= 0);
	close(kept);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	file = fdopen(fd, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		n_lines += strstr(line, words) != NULL;
	fclose(file);
	return n_lines;
}

TEST(each_vgpu_that_cannot_be_adopted_is_logged_once)
{
	*device("c") = *device("d") =
		(struct gpu_vgpu){.exists = true, .cap_pct = 30, .attach_errno = EIO};
	start();
	assert_int_equal(count_log_lines(60, "cannot be adopted"), 2);
	device("c")->attach_errno = 0;
	assert_int_equal(count_log_lines(10, "cannot be adopted"), 0);
	assert_non_null(vgpu("c")->device);
	device("d")->exists = false; /* vGPU d disappears and reappears */
	assert_int_equal(count_log_lines(10, "cannot be adopted"), 0);
	device("d")->exists = true;
	assert_int_equal(count_log_lines(10, "vGPU d on GPU gpu0 cannot be adopted"), 1);
}

TEST(a_vgpu_that_cannot_be_adopted_raises_an_alert)
{
	*device("c") = (struct gpu_vgpu){.exists = true, .cap_pct = 30, .attach_errno = EIO};
	start();
	tick(2);
	assert_null(find_active_alert(ALERT_VGPU_NOT_ADOPTED, ""));
	tick(1);
	expect_alert(ALERT_VGPU_NOT_ADOPTED, "", "vGPU c on GPU gpu0 is not adopted");
	assert_string_equal(find_active_alert(ALERT_VGPU_NOT_ADOPTED, "")->gpu, "gpu0");
	*device("d") = *device("c");
	tick(5);
	expect_alert(ALERT_VGPU_NOT_ADOPTED, "", "2 vGPUs on GPU gpu0 are not adopted");
	device("c")->attach_errno = device("d")->attach_errno = 0;
	tick(10);
	assert_null(find_active_alert(ALERT_VGPU_NOT_ADOPTED, ""));
}

TEST(further_vgpus_that_cannot_be_adopted_share_one_log_line)
{
	fake.n_unopenable = REFUSED_MAX + 3;
	start();
	assert_int_equal(count_log_lines(1, "on GPU gpu0 cannot be adopted"), REFUSED_MAX + 1);
	assert_int_equal(gpu->refused.n, REFUSED_MAX);
	assert_int_equal(count_log_lines(60, "cannot be adopted"), 0);
	fake.n_unopenable = 1;
	assert_int_equal(count_log_lines(10, "cannot be adopted"), 0);
	assert_int_equal(gpu->refused.n, 1);
	fake.n_unopenable = REFUSED_MAX + 2;
	assert_int_equal(count_log_lines(10, "3 more vGPUs"), 0);
	fake.n_unopenable = 0;
	assert_int_equal(count_log_lines(10, "cannot be adopted"), 0);
	fake.n_unopenable = REFUSED_MAX + 2;
	assert_int_equal(count_log_lines(10, "2 more vGPUs on GPU gpu0 cannot be adopted"), 1);
}

/* --- caps written externally between ticks --- */

static void expect_foreign_write_held(const char *id, int cap_pct)
{
	assert_true(vgpu(id)->contract.held);
	assert_int_equal(vgpu(id)->contract.held_cap_pct, cap_pct);
	assert_int_equal(vgpu(id)->cap.pct, cap_pct);
	assert_int_equal(vgpu(id)->cap.expected_pct, cap_pct);
	assert_int_equal(device(id)->cap_pct, cap_pct);
	assert_int_equal(count_decisions("foreign_write", "noted"), 1);
	/* The alert is raised before the next tick. */
	assert_non_null(find_active_alert(ALERT_FOREIGN_WRITE, id));
	tick(1);
	assert_int_equal(device(id)->cap_pct, cap_pct);
	assert_int_equal(count_decisions("foreign_write", "noted"),
			 1); /* the external change is not recorded again */
	assert_non_null(find_active_alert(ALERT_FOREIGN_WRITE, id));
}

static void expect_refused_for_foreign_cap(int r, const char *id)
{
	char name[ID_MAX + 8];

	snprintf(name, sizeof(name), "vGPU %s ", id);
	assert_int_equal(r, CONTROL_E_FOREIGN_CAP);
	assert_non_null(strstr(err.msg, name));
	assert_non_null(strstr(err.msg, "changed externally"));
}

/* Sells two vGPUs with contracts of 60 %. vGPU a gets its full cap, vGPU b only 40 %. */
static void start_with_full_gpu(void)
{
	start();
	sell("a", 60, 0);
	sell("b", 60, 0);
	tick(3);
	assert_int_equal(device("a")->cap_pct, 60);
	assert_int_equal(device("b")->cap_pct, 40);
}

TEST(a_hold_does_not_overwrite_an_external_cap)
{
	int writes;

	start_with_full_gpu();
	writes = fake.writes;
	device("a")->cap_pct = 37;
	expect_refused_for_foreign_cap(hold("a", 30), "a");
	assert_int_equal(fake.writes, writes);
	assert_int_equal(count_decisions("hold", NULL), 0);
	expect_foreign_write_held("a", 37);
	assert_int_equal(hold("a", 30), 0); /* a second request overrides the external cap */
	assert_int_equal(device("a")->cap_pct, 30);
}

TEST(a_hold_at_the_current_cap_is_refused_after_an_external_write)
{
	const struct contract values = {.held = true};

	start_with_full_gpu();
	device("a")->cap_pct = 37;
	expect_refused_for_foreign_cap(change("a", CONTRACT_HELD, values), "a");
	expect_foreign_write_held("a", 37);
}

TEST(a_contract_change_does_not_take_from_an_external_cap)
{
	const struct contract values = {.terms = {.min_cap_pct = 55}};
	int writes;

	start_with_full_gpu();
	writes = fake.writes;
	device("a")->cap_pct = 58;
	expect_refused_for_foreign_cap(change("b", CONTRACT_MIN_CAP, values), "a");
	assert_int_equal(vgpu("b")->contract.terms.min_cap_pct, 0);
	assert_false(vgpu("b")->contract.held);
	assert_int_equal(fake.writes, writes);
	assert_int_equal(count_decisions("set", NULL), 0);
	expect_foreign_write_held("a", 58);
}

TEST(a_new_vgpu_does_not_take_from_an_external_cap)
{
	int writes;

	start_with_full_gpu();
	writes = fake.writes;
	device("a")->cap_pct = 58;
	expect_refused_for_foreign_cap(add(contract_of("c", 20)), "a");
	assert_false(device("c")->exists);
	assert_null(host_find_vgpu(&m->host, "c", NULL));
	assert_int_equal(fake.writes, writes);
	assert_int_equal(count_decisions("fund", NULL), 0);
	expect_foreign_write_held("a", 58);
	/* Only vGPU b gives cap to the new vGPU, because vGPU a is on hold. */
	assert_int_equal(add(contract_of("c", 20)), 0);
	assert_int_equal(device("a")->cap_pct, 58);
}

TEST(a_change_that_moves_no_cap_checks_no_cap)
{
	const struct contract values = {.vm = "vm-a"};

	start_with_full_gpu();
	device("a")->cap_pct = 37;
	assert_int_equal(change("a", CONTRACT_VM, values), 0);
	assert_int_equal(count_decisions("foreign_write", NULL), 0);
	tick(1);
	expect_foreign_write_held("a", 37);
}

TEST(a_return_to_an_externally_changed_vgpu_is_dropped_and_recorded)
{
	start_with_full_gpu();
	device("b")->cap_pct = 39;
	assert_int_equal(remove_vgpu("a"), 0);
	assert_false(device("a")->exists);
	assert_int_equal(count_decisions("return", "dropped"), 1);
	expect_foreign_write_held("b", 39);
}

/* The external write happens between the sample and the writes of one tick. */
TEST(a_steal_from_an_externally_changed_vgpu_is_dropped_and_recorded)
{
	start();
	sell("a", 80, 0.05);
	sell("b", 50, BUSY);
	tick(3);
	fake.external_cap_pct[0] = 77;
	tick(1);
	assert_int_equal(count_decisions("steal", "dropped"), 1);
	assert_int_equal(device("b")->cap_pct, 20);
	assert_int_equal(vgpu("a")->tally.steals_out, 0);
	assert_int_equal(vgpu("b")->tally.steals_in, 0);
	assert_null(find_active_alert(ALERT_WRITE_FAILED, "a"));
	expect_foreign_write_held("a", 77);
}

TEST(an_external_write_drops_the_rest_of_the_plan)
{
	start_with_full_gpu();
	round_view(&m->tick, gpu);
	m->tick.round->out.n_decisions = m->tick.round->out.n_moves = 2;
	for (int i = 0; i < 2; i++) {
		m->tick.round->out.decisions[i] = (struct policy_decision){
			.kind = POLICY_FIT, .vgpu = -1, .donor = -1, .first_move = i, .n_moves = 1};
		m->tick.round->out.moves[i] =
			(struct policy_move){.vgpu = 0, .from_pct = 60 - i, .to_pct = 59 - i};
	}
	device("a")->cap_pct = 33;
	assert_int_equal(round_apply(&m->tick, gpu, true, now), -ESTALE);
	assert_int_equal(count_decisions("fit", "dropped"), 2);
	expect_foreign_write_held("a", 33);
}

/* --- vGPUs that another program removes and creates again with the same id --- */

#define INITIAL_PCT 12 /* the cap of a new device */

/* Removes the device of vGPU a, and creates another one in its place before the next tick. */
static void create_a_again(int cap_pct, int initial_cap_pct)
{
	uint64_t identity = device("a")->identity;

	device("a")->exists = false;
	tick(1);
	*device("a") = (struct gpu_vgpu){
		.exists = true,
		.cap_pct = cap_pct,
		.initial_cap_pct = initial_cap_pct,
		.identity = identity + 1,
	};
}

/* Sells vGPU a with 60 % and holds it at 37 %. */
static void start_with_a(bool leases)
{
	fake.external_vgpus = true;
	fake.leases = leases;
	*device("a") = (struct gpu_vgpu){.exists = true,
					 .cap_pct = INITIAL_PCT,
					 .initial_cap_pct = leases ? INITIAL_PCT : 0,
					 .identity = 1};
	start();
	sell("a", 60, 0);
	assert_int_equal(hold("a", 37), 0);
	tick(3);
	assert_int_equal(device("a")->cap_pct, 37);
}

static void expect_last_cap(void)
{
	assert_int_equal(device("a")->cap_pct, 37);
	assert_int_equal(vgpu("a")->cap.pct, 37);
	assert_int_equal(vgpu("a")->contract.held_cap_pct, 37); /* the hold of the operator */
	assert_false(vgpu("a")->cap.foreign);
	assert_int_equal(count_decisions("foreign_write", NULL), 0);
	assert_null(find_active_alert(ALERT_FOREIGN_WRITE, "a"));
}

static const char *last_why(const char *kind)
{
	for (int64_t id = decisions_last_id(m->recorder.decisions); id > 0; id--) {
		const struct decision *d = decisions_after(m->recorder.decisions, id - 1);

		if (d && d->id == id && strcmp(decision_kind_name(d->kind), kind) == 0)
			return d->why;
	}
	fail_msg("no decision of kind %s", kind);
	return NULL;
}

TEST(a_new_device_gets_the_last_cap)
{
	start_with_a(true);
	create_a_again(INITIAL_PCT, INITIAL_PCT);
	tick(1);
	expect_last_cap();
	assert_int_equal(count_decisions("missing", "noted"), 1);
	assert_non_null(strstr(last_why("adopt"), "it was removed and created again"));
	tick(5);
	expect_last_cap();
}

/* A new control group has no limit, and its backend has no initial cap. */
TEST(a_first_cap_is_no_external_change_if_the_backend_has_no_initial_cap)
{
	start_with_a(false);
	create_a_again(0, 0);
	tick(1);
	expect_last_cap();
	tick(5);
	expect_last_cap();
}

/* The cap in force differs from the initial cap of the new device: another program wrote it. */
TEST(a_cap_that_was_written_to_the_new_device_is_an_external_change)
{
	start_with_a(true);
	create_a_again(25, INITIAL_PCT);
	tick(1);
	assert_int_equal(count_decisions("foreign_write", "noted"), 1);
	assert_int_equal(device("a")->cap_pct, 25);
}

TEST(later_writes_to_the_new_device_are_external_changes)
{
	start_with_a(false);
	create_a_again(0, 0);
	tick(1 + CAP_READINGS);
	expect_last_cap();
	device("a")->cap_pct = 0;
	tick(1);
	assert_int_equal(count_decisions("foreign_write", "noted"), 1);
}

/* The device is removed between the reading of its cap and the reading of its initial cap. */
TEST(a_cap_of_a_device_that_was_removed_meanwhile_is_not_judged)
{
	start_with_a(true);
	device("a")->cap_pct = INITIAL_PCT;
	device("a")->ends_at_read_initial = true;
	tick(1);
	create_a_again(INITIAL_PCT, INITIAL_PCT);
	tick(2);
	expect_last_cap();
	create_a_again(INITIAL_PCT, INITIAL_PCT);
	device("a")->ends_at_read_initial = true;
	tick(2);
	create_a_again(INITIAL_PCT, INITIAL_PCT);
	tick(2);
	expect_last_cap();
}

TEST(a_device_that_is_removed_during_the_first_write_does_not_lose_the_last_cap)
{
	start_with_a(true);
	create_a_again(INITIAL_PCT, INITIAL_PCT);
	device("a")->ends_at_write = true;
	tick(2);
	assert_int_equal(count_decisions("adopt", "failed"), 1);
	expect_journal("a", 37);
	create_a_again(INITIAL_PCT, INITIAL_PCT);
	tick(2);
	expect_last_cap();
}

TEST(counters_of_the_new_device_begin_anew)
{
	start_with_a(true);
	device("a")->demand = BUSY;
	tick(20);
	assert_true(vgpu("a")->row.sample.busy_valid);
	create_a_again(INITIAL_PCT, INITIAL_PCT);
	device("a")->busy_ns = 3e12; /* a counter of another origin */
	tick(1);
	assert_false(vgpu("a")->row.sample.busy_valid);
	tick(1);
	assert_true(vgpu("a")->row.sample.busy_valid);
	assert_true(vgpu("a")->row.sample.load < 0.01);
}
