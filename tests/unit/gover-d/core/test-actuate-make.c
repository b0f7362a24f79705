/* SPDX-License-Identifier: MIT */
/* With a fake GPU: vGPUs are made and removed whole or not at all. */
#include "tests/unit/gover-d/core/test-actuate.h"

static void a_vgpu_is_made_with_its_cap_in_force_and_noted(void **state)
{
	(void)state;
	name_vgpu(A);
	assert_int_equal(actuate_create(&actuator, &gpu, &vgpus[A], 35, now, &err), 0);
	assert_true(fake.vgpus[A].attached);
	assert_ptr_equal(vgpus[A].device, &fake.vgpus[A]);
	assert_int_equal(fake.vgpus[A].cap_pct, 35);
	assert_int_equal(vgpus[A].cap_pct, 35);
	assert_int_equal(vgpus[A].expected_cap_pct, 35);
	check_journal("made", "a", 35, 35);
}

static void a_vgpu_that_cannot_be_made_leaves_nothing(void **state)
{
	static const struct {
		const char *rule;
		int create_errno, attach_errno;
	} faults[] = {
		{"making fails", EACCES, 0},
		{"opening what was made fails", 0, EMFILE},
	};

	(void)state;
	name_vgpu(A);
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		int errnum = faults[i].create_errno + faults[i].attach_errno;

		fake.create_errno = faults[i].create_errno;
		fake.attach_errno = faults[i].attach_errno;
		err.msg[0] = '\0';
		if (actuate_create(&actuator, &gpu, &vgpus[A], 35, now, &err) != -errnum)
			fail_msg("%s: not told", faults[i].rule);
		assert_non_null(strstr(err.msg, "vGPU a"));
		if (fake.vgpus[A].exists || vgpus[A].device)
			fail_msg("%s: something is left", faults[i].rule);
		check_journal(faults[i].rule, "a", -1, -1);
	}
}

static void a_vgpu_whose_cap_cannot_be_noted_is_not_made(void **state)
{
	struct cap_journal *journal = actuator.journal;

	(void)state;
	name_vgpu(A);
	assert_int_equal(cap_journal_open("/dev/full", &actuator.journal, NULL), 0);
	assert_int_equal(actuate_create(&actuator, &gpu, &vgpus[A], 35, now, &err),
			 CONTROL_E_NOT_STORED);
	cap_journal_close(actuator.journal);
	actuator.journal = journal;
	assert_non_null(strstr(err.msg, "vGPU a"));
	assert_false(fake.vgpus[A].exists);
}

static void a_removed_vgpu_is_gone_and_forgotten(void **state)
{
	(void)state;
	stand(A, 50);
	assert_int_equal(cap_journal_set(actuator.journal, "a", 50, 50), 0);
	assert_int_equal(actuate_destroy(&actuator, &gpu, &vgpus[A], &err), 0);
	assert_false(fake.vgpus[A].exists);
	assert_false(fake.vgpus[A].attached);
	assert_null(vgpus[A].device);
	check_journal("removed", "a", -1, -1);
}

static void one_that_was_gone_already_is_removed_all_the_same(void **state)
{
	(void)state;
	name_vgpu(A);
	assert_int_equal(cap_journal_set(actuator.journal, "a", 50, 50), 0);
	assert_int_equal(actuate_destroy(&actuator, &gpu, &vgpus[A], &err), 0);
	check_journal("gone", "a", -1, -1);
}

static void a_vgpu_in_use_stays_attached_with_its_cap(void **state)
{
	(void)state;
	stand(A, 50);
	assert_int_equal(cap_journal_set(actuator.journal, "a", 50, 50), 0);
	vgpus[A].monitor.primed = true;
	fake.destroy_errno = EBUSY;
	assert_int_equal(actuate_destroy(&actuator, &gpu, &vgpus[A], &err), CONTROL_E_IN_USE);
	assert_non_null(strstr(err.msg, "2 programs"));
	assert_true(fake.vgpus[A].exists);
	assert_true(fake.vgpus[A].attached);
	assert_ptr_equal(vgpus[A].device, &fake.vgpus[A]);
	assert_int_equal(vgpus[A].cap_pct, 50);
	assert_int_equal(fake.detaches, 0);   /* not even for a moment */
	assert_true(vgpus[A].monitor.primed); /* the next sample goes on from the last */
	check_journal("in use", "a", 50, 50);
}

static void a_removal_that_is_done_is_not_refused_for_the_journal(void **state)
{
	struct cap_journal *journal = actuator.journal;

	(void)state;
	stand(A, 50);
	assert_int_equal(cap_journal_open("/dev/full", &actuator.journal, NULL), 0);
	(void)cap_journal_set(actuator.journal, "a", 50, 50);
	assert_int_equal(actuate_destroy(&actuator, &gpu, &vgpus[A], &err), 0);
	cap_journal_close(actuator.journal);
	actuator.journal = journal;
	assert_false(fake.vgpus[A].exists);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_vgpu_is_made_with_its_cap_in_force_and_noted),
		TEST(a_vgpu_that_cannot_be_made_leaves_nothing),
		TEST(a_vgpu_whose_cap_cannot_be_noted_is_not_made),
		TEST(a_removed_vgpu_is_gone_and_forgotten),
		TEST(one_that_was_gone_already_is_removed_all_the_same),
		TEST(a_vgpu_in_use_stays_attached_with_its_cap),
		TEST(a_removal_that_is_done_is_not_refused_for_the_journal),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
