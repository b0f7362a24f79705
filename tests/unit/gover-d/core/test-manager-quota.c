/* SPDX-License-Identifier: MIT */
/* Limits of device memory: set by contracts, written to the backend, and written again if needed.
 */
#include "tests/unit/gover-d/core/test-manager.h"

#define MIB (UINT64_C(1) << 20)

static void start_limiting(void)
{
	fake.limits_memory = true;
	config.offer.max_vgpus = 1; /* prevents offers */
	start();
}

static int sell_with(const char *id, int memory_mib)
{
	struct contract contract = {
		.gpu = "gpu0",
		.terms = {.initial_cap_pct = 30, .weight = 1},
		.memory_mib = memory_mib,
		.labels = json_object(),
	};
	int r;

	strcpy(contract.id, id);
	r = await_change(control_vgpu_add(m, &contract, at_end, &err));
	save_soon(m);
	wait_for_saves();
	return r;
}

static int set_limit(const char *id, int memory_mib)
{
	const struct contract values = {.memory_mib = memory_mib};
	int r = change(id, CONTRACT_MEMORY, values);

	save_soon(m);
	wait_for_saves();
	return r;
}

FIXTURE(set_up, tear_down)

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
	assert_true(vgpu("a")->row.memory_valid);
	assert_true(vgpu("a")->row.memory_bytes == 100 * MIB);
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
	const enum gpu_mode mode = GPU_MODE_OBSERVE;

	start_limiting();
	assert_int_equal(sell_with("a", 512), 0);
	assert_int_equal(change_mode(mode), 0);
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
