/* SPDX-License-Identifier: MIT */
/* Creation and removal of vGPUs on a fake GPU: a failed request leaves no partial state. */
#include "tests/unit/gover-d/core/test-actuate.h"

FIXTURE(set_up, tear_down)

FIXTURE_ONCE(make_folder, remove_folder)

TEST(a_created_vgpu_has_its_cap_and_a_journal_entry)
{
	name_vgpu(A);
	assert_int_equal(actuate_create(&actuator, &gpu, &vgpus[A], 35, now, &err), 0);
	assert_true(fake.vgpus[A].attached);
	assert_ptr_equal(vgpus[A].device, &fake.vgpus[A]);
	assert_int_equal(fake.vgpus[A].cap_pct, 35);
	assert_int_equal(vgpus[A].cap_pct, 35);
	assert_int_equal(vgpus[A].expected_cap_pct, 35);
	check_journal("created", "a", 35, 35);
}

TEST(a_failed_creation_leaves_nothing)
{
	static const struct {
		const char *rule;
		int create_errno, attach_errno;
	} faults[] = {
		{"creation fails", EACCES, 0},
		{"attaching the new vGPU fails", 0, EMFILE},
	};

	name_vgpu(A);
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		int errnum = faults[i].create_errno + faults[i].attach_errno;

		fake.create_errno = faults[i].create_errno;
		fake.attach_errno = faults[i].attach_errno;
		err.msg[0] = '\0';
		if (actuate_create(&actuator, &gpu, &vgpus[A], 35, now, &err) != -errnum)
			fail_msg("%s: wrong return value", faults[i].rule);
		assert_non_null(strstr(err.msg, "vGPU a"));
		if (fake.vgpus[A].exists || vgpus[A].device)
			fail_msg("%s: the vGPU still exists", faults[i].rule);
		check_journal(faults[i].rule, "a", -1, -1);
	}
}

TEST(a_vgpu_is_not_created_if_the_journal_write_fails)
{
	struct cap_journal *journal = actuator.journal;

	name_vgpu(A);
	assert_int_equal(cap_journal_open("/dev/full", &actuator.journal, NULL), 0);
	assert_int_equal(actuate_create(&actuator, &gpu, &vgpus[A], 35, now, &err),
			 CONTROL_E_NOT_STORED);
	cap_journal_close(actuator.journal);
	actuator.journal = journal;
	assert_non_null(strstr(err.msg, "vGPU a"));
	assert_false(fake.vgpus[A].exists);
}

TEST(a_removed_vgpu_has_no_journal_entry)
{
	place_vgpu(A, 50);
	assert_int_equal(cap_journal_set(actuator.journal, "a", 50, 50), 0);
	assert_int_equal(actuate_destroy(&actuator, &gpu, &vgpus[A], &err), 0);
	assert_false(fake.vgpus[A].exists);
	assert_false(fake.vgpus[A].attached);
	assert_null(vgpus[A].device);
	check_journal("removed", "a", -1, -1);
}

TEST(removal_of_a_missing_vgpu_succeeds)
{
	name_vgpu(A);
	assert_int_equal(cap_journal_set(actuator.journal, "a", 50, 50), 0);
	assert_int_equal(actuate_destroy(&actuator, &gpu, &vgpus[A], &err), 0);
	check_journal("missing", "a", -1, -1);
}

TEST(a_vgpu_in_use_stays_attached_with_its_cap)
{
	place_vgpu(A, 50);
	assert_int_equal(cap_journal_set(actuator.journal, "a", 50, 50), 0);
	vgpus[A].monitor.primed = true;
	fake.destroy_errno = EBUSY;
	assert_int_equal(actuate_destroy(&actuator, &gpu, &vgpus[A], &err), CONTROL_E_IN_USE);
	assert_non_null(strstr(err.msg, "2 programs"));
	assert_true(fake.vgpus[A].exists);
	assert_true(fake.vgpus[A].attached);
	assert_ptr_equal(vgpus[A].device, &fake.vgpus[A]);
	assert_int_equal(vgpus[A].cap_pct, 50);
	/* the vGPU stays attached: a detach would close its files */
	assert_int_equal(fake.detaches, 0);
	assert_true(vgpus[A].monitor.primed); /* the monitor keeps its last sample */
	check_journal("in use", "a", 50, 50);
}

TEST(a_removal_succeeds_if_the_journal_write_fails)
{
	struct cap_journal *journal = actuator.journal;

	place_vgpu(A, 50);
	assert_int_equal(cap_journal_open("/dev/full", &actuator.journal, NULL), 0);
	(void)cap_journal_set(actuator.journal, "a", 50, 50);
	assert_int_equal(actuate_destroy(&actuator, &gpu, &vgpus[A], &err), 0);
	cap_journal_close(actuator.journal);
	actuator.journal = journal;
	assert_false(fake.vgpus[A].exists);
}
