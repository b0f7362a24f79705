/* SPDX-License-Identifier: MIT */
/*
 * Changes of clients: each is stored before it is applied, is checked again when it is applied, and
 * is either complete or absent after a crash. A crash is a child process that ends while a change
 * is stored and not yet applied. The last part tests limits of device memory: they are set by
 * contracts, written to the backend, and written again if needed.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/unit/gover-d/manager/test-manager.h"

static int begin_cap(const char *id, int initial_cap_pct)
{
	const struct contract values = {.terms = {.initial_cap_pct = initial_cap_pct}};

	return control_vgpu_change(&m->changes, id, CONTRACT_INITIAL_CAP, &values, at_end, &err);
}

/* Only the thread that writes the file runs meanwhile. */
static void await_file(const char *text)
{
	while (!contracts_file_contains(text))
		(void)usleep(1000);
}

static void block_file(void)
{
	assert_int_equal(mkdir(state_path("contracts.json.new"), 0700), 0);
}

static void unblock_file(void)
{
	assert_int_equal(rmdir(state_path("contracts.json.new")), 0);
}

/* Leaves the state of a crash: begin() began a change, and the file contained @text. */
static void crash_and_leave(void (*begin)(void), const char *text)
{
	pid_t child;
	int status;

	stop_daemon();
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		start();
		wait_for_saves();
		begin();
		await_file(text);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void crash_and_restart(void (*begin)(void), const char *text)
{
	crash_and_leave(begin, text);
	start();
}

/* --- the order: stored, then applied --- */

TEST(nothing_changes_until_the_change_is_stored)
{
	start();
	sell("a", 50, 0);
	assert_int_equal(begin_cap("a", 30), 0);
	assert_non_null(m->changes.list);
	await_file("\"initial_cap_pct\": 30");
	assert_int_equal(vgpu("a")->contract.terms.initial_cap_pct, 50);
	assert_int_equal(device("a")->cap_pct, 50);
	tick(3);
	assert_int_equal(device("a")->cap_pct, 50);
	assert_int_equal(await_change(0), 0);
	assert_null(m->changes.list);
	assert_int_equal(vgpu("a")->contract.terms.initial_cap_pct, 30);
	assert_int_equal(device("a")->cap_pct, 30);
}

TEST(a_change_that_cannot_be_stored_changes_nothing)
{
	int64_t last;

	start();
	sell("a", 50, 0);
	last = decisions_last_id(m->recorder.decisions);
	block_file();
	assert_int_equal(await_change(begin_cap("a", 30)), CONTROL_E_NOT_STORED);
	assert_non_null(strstr(change_err.msg, "contracts.json"));
	assert_non_null(strstr(change_err.msg, "nothing was changed"));
	assert_int_equal(vgpu("a")->contract.terms.initial_cap_pct, 50);
	assert_int_equal(device("a")->cap_pct, 50);
	assert_int_equal(decisions_last_id(m->recorder.decisions), last);
	stop_daemon();
	unblock_file();
	start(); /* nor does the copy in the database contain the change */
	assert_int_equal(vgpu("a")->contract.terms.initial_cap_pct, 50);
	assert_false(state_file_exists("contracts.json.old"));
}

TEST(changes_of_one_vgpu_are_made_one_after_another)
{
	const struct contract values = {.vm = "vm-a"};
	struct change_subject conflict = {.gpu = ""};
	struct change_done later = at_end;

	start();
	sell("a", 50, 0);
	sell("b", 20, 0);
	later.ret_conflict = &conflict;
	assert_int_equal(begin_cap("a", 30), 0);
	assert_int_equal(control_vgpu_change(&m->changes, "a", CONTRACT_VM, &values, later, &err),
			 -EBUSY);
	assert_string_equal(conflict.vgpu, "a");
	assert_true(change_conflicts(&m->changes, &conflict));
	/* the caps of a GPU depend on each other */
	assert_int_equal(control_vgpu_remove(&m->changes, "b", later, &err), -EBUSY);
	assert_int_equal(await_change(0), 0);
	assert_false(change_conflicts(&m->changes, &conflict));
	assert_int_equal(vgpu("a")->contract.terms.initial_cap_pct, 30);
	assert_int_equal(await_change(begin_cap("a", 40)), 0);
}

static void count_end(void *userdata, int result, const struct err *reason)
{
	int *ended = userdata;

	(void)reason;
	assert_int_equal(result, 0);
	++*ended;
}

TEST(changes_of_different_vgpus_share_a_write)
{
	const char *const ids[] = {"a", "b", "c"};
	int ended = 0;

	start();
	for (int i = 0; i < 3; i++)
		sell(ids[i], 20, 0);
	for (int i = 0; i < 3; i++) {
		const struct contract values = {.vm = {'v', 'm', (char)('a' + i)}};

		assert_int_equal(control_vgpu_change(&m->changes, ids[i], CONTRACT_VM, &values,
						     (struct change_done){.call = count_end,
									  .userdata = &ended},
						     &err),
				 0);
	}
	while (ended == 0) /* the first write has only the first change */
		assert_true(sd_event_run(m->event, UINT64_MAX) >= 0);
	assert_true(ended == 1 || ended == 3); /* 3: the second write has ended as well */
	await_file("\"vmb\"");
	assert_true(contracts_file_contains("\"vma\""));
	assert_true(contracts_file_contains("\"vmc\""));
	while (ended < 3)
		assert_true(sd_event_run(m->event, UINT64_MAX) >= 0);
	assert_string_equal(vgpu("c")->contract.vm, "vmc");
}

/* --- the state changes between the check and the application --- */

TEST(an_external_change_meanwhile_is_kept)
{
	const struct contract values = {.vm = "vm-a"};

	start();
	sell("a", 50, 0);
	assert_int_equal(control_vgpu_change(&m->changes, "a", CONTRACT_VM, &values, at_end, &err),
			 0);
	device("a")->cap_pct = 33;
	tick(1);
	assert_true(vgpu("a")->contract.held);
	assert_int_equal(await_change(0), 0);
	wait_for_saves();
	assert_string_equal(vgpu("a")->contract.vm, "vm-a");
	assert_true(vgpu("a")->contract.held);
	restart();
	assert_string_equal(vgpu("a")->contract.vm, "vm-a");
	assert_true(vgpu("a")->contract.held);
	assert_int_equal(device("a")->cap_pct, 33);
}

/* The hold was checked when the GPU had room for it. */
TEST(a_change_that_no_longer_fits_is_taken_back)
{
	const struct contract values = {.held = true, .held_cap_pct = 60};

	start();
	sell("a", 60, 0);
	sell("b", 80, BUSY);
	tick(6);
	assert_true(device("a")->cap_pct < 60);
	assert_int_equal(control_vgpu_change(&m->changes, "a", CONTRACT_HELD | CONTRACT_HELD_CAP,
					     &values, at_end, &err),
			 0);
	device("b")->cap_pct = 70; /* an external change: vGPU b is on hold */
	tick(1);
	assert_int_equal(await_change(0), CONTROL_E_DOES_NOT_FIT);
	assert_non_null(strstr(change_err.msg, "largest that fits: 30 %"));
	assert_false(vgpu("a")->contract.held);
	assert_null(m->changes.list);
	assert_true(contracts_file_contains("\"held_cap_pct\": 70"));
	assert_false(contracts_file_contains("\"held_cap_pct\": 60"));
}

TEST(a_vgpu_that_vanishes_meanwhile_is_not_sold)
{
	struct contract contract = contract_of("b", 20);

	fake.external_vgpus = true;
	start();
	device("b")->exists = true;
	device("b")->cap_pct = 20;
	tick(1);
	assert_true(vgpu("b")->found);
	assert_int_equal(control_vgpu_add(&m->changes, &no_key, 0, &contract, at_end, &err), 0);
	device("b")->exists = false;
	tick(1);
	assert_int_equal(await_change(0), CONTROL_E_UNSUPPORTED);
	assert_null(host_find_vgpu(&m->host, "b", NULL));
	assert_false(contracts_file_contains("\"b\""));
}

TEST(a_vgpu_that_cannot_be_created_is_not_in_the_file)
{
	start();
	fake.create_errno = ENOSPC;
	assert_int_equal(add(contract_of("b", 20)), CONTROL_E_DOES_NOT_FIT);
	assert_non_null(strstr(change_err.msg, "cannot be made"));
	assert_false(contracts_file_contains("\"id\": \"b\""));
}

/* --- crashes between "stored" and "applied" --- */

static void lower_cap(void)
{
	assert_int_equal(begin_cap("a", 20), 0);
}

static void hold_b(void)
{
	const struct contract values = {.held = true, .held_cap_pct = 25};

	assert_int_equal(control_vgpu_change(&m->changes, "b", CONTRACT_HELD | CONTRACT_HELD_CAP,
					     &values, at_end, &err),
			 0);
}

static void raise_floor(void)
{
	const struct contract values = {.terms = {.min_cap_pct = 55}};

	assert_int_equal(
		control_vgpu_change(&m->changes, "b", CONTRACT_MIN_CAP, &values, at_end, &err), 0);
}

static void sell_c(void)
{
	struct contract contract = contract_of("c", 10);

	assert_int_equal(control_vgpu_add(&m->changes, &no_key, 0, &contract, at_end, &err), 0);
}

static void remove_b(void)
{
	assert_int_equal(control_vgpu_remove(&m->changes, "b", at_end, &err), 0);
}

static void sell_a_and_b(void)
{
	start();
	sell("a", 50, 0);
	sell("b", 40, 0);
	wait_for_saves();
}

TEST(a_start_brings_each_cap_within_its_contract)
{
	sell_a_and_b();
	crash_and_restart(lower_cap, "\"initial_cap_pct\": 20");
	assert_int_equal(vgpu("a")->contract.terms.initial_cap_pct, 20);
	assert_int_equal(device("a")->cap_pct, 20);
	assert_int_equal(count_decisions("set", "written"), 1);
	assert_non_null(strstr(
		decisions_after(m->recorder.decisions, decisions_last_id(m->recorder.decisions) - 2)
			->why,
		"vGPU a has a cap of 50 %, but its stored contract allows 1 to 20 %"));
	crash_and_restart(hold_b, "\"held_cap_pct\": 25");
	assert_true(vgpu("b")->contract.held);
	assert_int_equal(device("b")->cap_pct, 25);
}

TEST(a_start_raises_a_cap_to_its_floor)
{
	start();
	sell("a", 50, 0);
	sell("b", 60, 0);
	assert_int_equal(device("b")->cap_pct, 50);
	crash_and_restart(raise_floor, "\"min_cap_pct\": 55");
	assert_int_equal(device("b")->cap_pct, 55);
	assert_int_equal(device("a")->cap_pct, 45);
}

TEST(a_start_that_observes_corrects_no_cap)
{
	sell_a_and_b();
	assert_int_equal(change_mode(GPU_MODE_OBSERVE), 0);
	crash_and_restart(lower_cap, "\"initial_cap_pct\": 20");
	assert_int_equal(device("a")->cap_pct, 50);
	assert_int_equal(count_decisions("set", "observed"), 1);
}

TEST(a_start_completes_a_sale)
{
	sell_a_and_b();
	crash_and_restart(sell_c, "\"id\": \"c\"");
	assert_true(device("c")->exists);
	assert_int_equal(device("c")->cap_pct, 10);
	assert_false(vgpu("c")->found);
}

TEST(a_start_keeps_the_contract_of_a_vgpu_that_was_not_removed)
{
	sell_a_and_b();
	crash_and_restart(remove_b, "\"removing\": true");
	assert_true(device("b")->exists);
	assert_int_equal(vgpu("b")->contract.terms.initial_cap_pct, 40);
	assert_false(vgpu("b")->found);
	wait_for_saves();
	assert_false(contracts_file_contains("\"removing\": true"));
}

TEST(a_start_ends_the_contract_of_a_vgpu_that_was_removed)
{
	sell_a_and_b();
	crash_and_leave(remove_b, "\"removing\": true");
	device("b")->exists = false; /* the crash was after the removal */
	start();
	assert_null(host_find_vgpu(&m->host, "b", NULL));
	assert_false(device("b")->exists);
	assert_true(count_decisions("remove", "noted") > 0);
	wait_for_saves();
	assert_false(contracts_file_contains("\"id\": \"b\""));
}

/* --- limits of device memory --- */

#define MIB (UINT64_C(1) << 20)

static void start_limiting(void)
{
	fake.limits_memory = true;
	config.offer.max_vgpus = 1; /* prevents offers */
	start();
}

static int sell_with(const char *id, int memory_mib)
{
	struct contract contract = contract_of(id, 30);
	int r;

	contract.memory_mib = memory_mib;
	r = add(contract);
	save_now();
	return r;
}

static int set_limit(const char *id, int memory_mib)
{
	const struct contract values = {.memory_mib = memory_mib};
	int r = change(id, CONTRACT_MEMORY, values);

	save_now();
	return r;
}

TEST(a_contract_limits_memory)
{
	start_limiting();
	assert_int_equal(sell_with("a", 512), 0);
	assert_true(device("a")->max_bytes == 512 * MIB);
	assert_int_equal(set_limit("a", 16777216), 0);
	assert_true(device("a")->max_bytes == 16777216 * MIB);
	assert_int_equal(set_limit("a", 0), 0);
	assert_true(device("a")->max_bytes == 0);
	assert_int_equal(device("a")->memory_writes, 3);
	tick(5);
	assert_int_equal(device("a")->memory_writes, 3);
}

TEST(a_reading_contains_the_used_memory)
{
	start_limiting();
	assert_int_equal(sell_with("a", 512), 0);
	device("a")->memory_bytes = 100 * MIB;
	tick(1);
	assert_true(vgpu("a")->row.reading.memory_valid);
	assert_true(vgpu("a")->row.reading.memory_bytes == 100 * MIB);
}

TEST(a_gpu_that_cannot_limit_memory_rejects_a_limit)
{
	start();
	assert_int_equal(sell_with("a", 512), CONTROL_E_INVALID);
	assert_string_equal(err.msg, "memory_mib: 512 is not allowed for vGPU a (allowed: 0, "
				     "because GPU gpu0 does not limit memory)");
	assert_false(device("a")->exists);
	assert_int_equal(sell_with("a", 0), 0);
	assert_int_equal(set_limit("a", 1), CONTROL_E_INVALID);
	assert_int_equal(set_limit("a", 0), 0);
	tick(2);
	assert_int_equal(device("a")->memory_writes, 0);
}

TEST(a_limit_that_the_backend_refuses_is_not_in_the_contract)
{
	start_limiting();
	assert_int_equal(sell_with("a", 512), 0);
	device("a")->memory_errno = EIO;
	assert_int_equal(set_limit("a", 256), -EIO);
	assert_string_equal(change_err.msg, "memory_mib: the limit of vGPU a could not be set: "
					    "Input/output error");
	assert_int_equal(vgpu("a")->contract.memory_mib, 512);
	tick(1);
	assert_non_null(find_active_alert(ALERT_WRITE_FAILED, "a"));
	assert_string_equal(find_active_alert(ALERT_WRITE_FAILED, "a")->text,
			    "the memory limit of vGPU a could not be set: Input/output error");
	device("a")->memory_errno = 0;
	device("a")->max_bytes = 0;
	tick(5);
	assert_true(device("a")->max_bytes == 512 * MIB);
	assert_null(find_active_alert(ALERT_WRITE_FAILED, "a"));
}

TEST(a_start_writes_the_limits_again)
{
	start_limiting();
	assert_int_equal(sell_with("a", 512), 0);
	device("a")->max_bytes = 0;
	restart();
	tick(1);
	assert_int_equal(vgpu("a")->contract.memory_mib, 512);
	assert_true(device("a")->max_bytes == 512 * MIB);
}

TEST(mode_observe_and_a_dry_run_write_no_limit)
{
	start_limiting();
	assert_int_equal(sell_with("a", 512), 0);
	assert_int_equal(change_mode(GPU_MODE_OBSERVE), 0);
	wait_for_saves();
	device("a")->memory_writes = 0;
	restart();
	tick(2);
	assert_int_equal(device("a")->memory_writes, 0);
	stop_daemon();
	start_dry_run();
	tick(2);
	assert_int_equal(device("a")->memory_writes, 0);
}

TEST(an_unsold_vgpu_keeps_its_limit)
{
	fake.external_vgpus = true;
	*device("a") = (struct gpu_vgpu){.exists = true, .cap_pct = 30, .max_bytes = MIB};
	start_limiting();
	tick(2);
	assert_int_equal(device("a")->memory_writes, 0);
	assert_int_equal(sell_with("a", 2), 0);
	assert_true(device("a")->max_bytes == 2 * MIB);
}
