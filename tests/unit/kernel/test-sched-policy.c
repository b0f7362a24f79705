/* SPDX-License-Identifier: MIT */
/*
 * Shares and turns of the scheduling policy for i915 (kernel/gover_sched_policy). The test compiles
 * the file of the kernel module and runs it with a simulated GVT-g.
 */
#include "kernel/gover_sched_policy/sched_policy.c"
#include "tests/unit/kernel/test-sched-policy-rig.h"
#include "tests/unit/unit.h"

/* --- shares --- */

TEST(caps_are_shares)
{
	struct guest *a, *b, *c;

	a = rig_add(20, 1 * MS);
	b = rig_add(30, 1 * MS);
	c = rig_add(50, 1 * MS);
	rig_begin();
	rig_run(10 * S);
	assert_share(a, 0, 20, 5);
	assert_share(b, 0, 30, 5);
	assert_share(c, 0, 50, 5);
}

TEST(a_cap_is_hard)
{
	struct guest *a = rig_add(30, 1 * MS);

	rig_add(70, 0);
	rig_begin();
	rig_run(10 * S);
	assert_share(a, 0, 30, 5);
}

TEST(cap_0_is_no_limit)
{
	struct guest *a;
	u64 allotted_ns;

	a = rig_add(0, 1 * MS);
	rig_begin();
	allotted_ns = state_of_guest(a).sched_ns;
	rig_run(10 * S);
	assert_share(a, 0, 100, 1);
	assert_int_equal(state_of_guest(a).sched_ns - allotted_ns, 10 * S);
}

TEST(caps_above_100_are_reduced_in_proportion)
{
	struct guest *a = rig_add(80, 1 * MS), *b = rig_add(40, 1 * MS);

	rig_begin();
	rig_run(10 * S);
	assert_near(busy(a) + busy(b), 10 * S, 10 * MS);
	assert_near(busy(a), 6667 * MS, 300 * MS);
}

/* A workload cannot be preempted. Its overrun is deducted from the next slots. */
TEST(long_workloads_are_deducted)
{
	struct guest *a = rig_add(10, 16 * MS), *b = rig_add(90, 1 * MS);

	rig_begin();
	rig_run(10 * S);
	/* In each second, vGPU a can exceed its share by at most one workload of 16 ms. */
	assert_in_range(busy(a), 990 * MS, 1000 * MS + 10 * 16 * MS);
	assert_true(busy(b) >= 8800 * MS);
}

TEST(a_late_service_thread_does_not_change_shares)
{
	struct guest *a, *b;
	u64 allotted_ns;

	rig.delay_ns = 5 * MS;
	a = rig_add(25, 1 * MS);
	b = rig_add(40, 1 * MS);
	rig_begin();
	allotted_ns = state_of_guest(a).sched_ns;
	rig_run(10 * S);
	assert_share(a, 0, 25, 5);
	assert_share(b, 0, 40, 5);
	assert_int_equal(state_of_guest(a).sched_ns - allotted_ns, 2500 * MS);
}

TEST(weight_shares_the_whole_gpu)
{
	struct guest *a, *b;
	char name[PAGE_SIZE];

	rig_fini();
	assert_int_equal(param_discipline->set("weight\n", NULL), 0);
	assert_true(param_discipline->get(name, NULL) > 0);
	assert_string_equal(name, "weight\n");
	rig_init();
	a = rig_add(10, 1 * MS);
	b = rig_add(30, 1 * MS);
	rig_begin();
	rig_run(10 * S);
	assert_share(a, 0, 25, 5);
	assert_share(b, 0, 75, 5);
	assert_int_equal(param_discipline->set("cap", NULL), 0);
	assert_int_equal(param_discipline->set("fair", NULL), -EINVAL);
	assert_int_equal(param_discipline->set("weightweightweight", NULL), -EINVAL);
	assert_string_equal(chosen_discipline->name, "cap");
}

/* --- guarantee --- */

static void change_sharing(const char *word)
{
	assert_int_equal(intel_gvt_set_sharing(&rig.gvt, word), 0);
	assert_string_equal(intel_gvt_sharing(&rig.gvt), word);
}

/* Adds a guest with the initial cap @initial_cap, which is the ceiling, and the cap @cap. */
static struct guest *add_guest(u32 initial_cap, u32 cap, u64 length_ns)
{
	struct guest *guest = rig_add(initial_cap, length_ns);

	assert_int_equal(intel_vgpu_set_cap(&guest->vgpu, cap), 0);
	return guest;
}

TEST(idle_time_is_given_up_to_the_ceiling)
{
	static const struct {
		int ceiling; /* -1: the initial cap */
		u64 share;
	} cases[] = {{-1, 60}, {45, 45}, {100, 100}, {0, 100}, {10, 20}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct guest *a;
		u64 allotted_ns;

		change_sharing("guarantee");
		a = add_guest(60, 20, 1 * MS);
		rig_add(80, 0);
		if (cases[i].ceiling >= 0)
			assert_int_equal(intel_vgpu_set_ceiling(&a->vgpu, (u32)cases[i].ceiling),
					 0);
		rig_begin();
		allotted_ns = state_of_guest(a).sched_ns;
		rig_run(10 * S);
		assert_share(a, 0, cases[i].share, 5);
		assert_int_equal(state_of_guest(a).sched_ns - allotted_ns, 2 * S);
		rig_fini();
		rig_init();
	}
}

TEST(a_guarantee_does_not_depend_on_the_borrower)
{
	struct guest *a, *b;

	change_sharing("guarantee");
	a = add_guest(100, 30, 4 * MS);
	b = add_guest(70, 70, 0);
	rig_begin();
	rig_run(10 * S);
	assert_share(a, 0, 100, 1);
	b->habits[RCS0].length_ns = 4 * MS;
	rig_begin();
	rig_run(10 * S);
	assert_share(b, 0, 70, 5);
}

/* The borrower has a workload of 20 ms in flight, which cannot be preempted. */
TEST(a_guest_with_slice_waits_for_one_workload_at_most)
{
	struct guest *a, *b;

	change_sharing("guarantee");
	a = add_guest(100, 10, 20 * MS);
	b = add_guest(90, 90, 0);
	rig_begin();
	rig_run(45 * MS);
	assert_int_equal(busy(a), 45 * MS);
	submit(b, RCS0, 5 * MS);
	rig_run(15 * MS);
	assert_int_equal(busy(b), 0);
	rig_run(5 * MS);
	assert_int_equal(busy(b), 5 * MS);
	assert_int_equal(busy(a), 60 * MS);
}

/* The caps 10 and 30 leave 60 %, of which the guests borrow 15 and 45. */
TEST(spare_time_is_shared_in_proportion_to_caps)
{
	struct guest *a, *b;

	change_sharing("guarantee");
	a = add_guest(100, 10, 1 * MS);
	b = add_guest(100, 30, 1 * MS);
	rig_begin();
	rig_run(10 * S);
	assert_share(a, 0, 25, 5);
	assert_share(b, 0, 75, 5);
}

/* The workload of vGPU a is in flight during both changes. */
TEST(a_changed_discipline_is_in_force_at_once)
{
	struct guest *a = add_guest(100, 20, 0);

	assert_string_equal(intel_gvt_sharing(&rig.gvt), "hard");
	rig_begin();
	for (int i = 0; i < 10; i++)
		submit(a, RCS0, 8 * MS);
	rig_run(30 * MS);
	/* The third workload overran the slice of 20 ms. */
	assert_int_equal(busy(a), 24 * MS);
	assert_ptr_equal(rig.gvt.scheduler.current_vgpu, &rig.idle);
	change_sharing("guarantee");
	rig_run(20 * MS + 500000);
	change_sharing("hard");
	rig_run(40 * MS);
	/* The workload in flight ends, and no other begins before the next slot. */
	assert_int_equal(busy(a), 48 * MS);
	/* Only the time after the change is a debt. */
	assert_int_equal(((struct vgpu_sched_data *)a->vgpu.sched_data)->sched.slice_ns,
			 -(3 * (int64_t)MS + 500000));
	rig_run(11 * MS);
	assert_true(busy(a) > 48 * MS);
}

TEST(other_words_change_nothing)
{
	static const char *const words[] = {"",		"\n",	      "cap",	       "weight",
					    "Hard",	" hard",      "hard ",	       "har",
					    "hard\n\n", "guarantee_", "guarantee hard"};

	change_sharing("guarantee");
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		assert_int_equal(intel_gvt_set_sharing(&rig.gvt, words[i]), -EINVAL);
	assert_string_equal(intel_gvt_sharing(&rig.gvt), "guarantee");
}

/* --- turns --- */

TEST(a_single_vgpu_is_dispatched_at_once)
{
	struct guest *a;

	rig.delay_ns = 100000;
	a = rig_add(50, 0);
	a->habits[RCS0] = (struct habit){.length_ns = 1 * MS, .pause_ns = 4 * MS};
	rig_begin();
	rig_run(20 * MS);
	assert_ptr_equal(rig.gvt.scheduler.current_vgpu, &a->vgpu);
	submit(a, BCS0, 1 * MS);
	settle();
	assert_true(in_flight(a));
}

TEST(without_slice_a_vgpu_waits_for_the_next_slot)
{
	struct guest *a = rig_add(10, 1 * MS);

	rig_begin();
	rig_run(50 * MS);
	assert_near(busy(a), 10 * MS, 1 * MS);
	assert_ptr_equal(rig.gvt.scheduler.current_vgpu, &rig.idle);
	assert_true(queued(a, RCS0) > 0);
	rig_run(100 * MS);
	assert_near(busy(a), 20 * MS, 1 * MS);
}

TEST(a_vgpu_without_work_leaves_at_once)
{
	struct guest *a = rig_add(50, 0), *b = rig_add(50, 0);

	rig_begin();
	submit(a, RCS0, 300000);
	submit(b, RCS0, 300000);
	rig_run(600000);
	assert_int_equal(busy(a), 300000);
	assert_int_equal(busy(b), 300000);
}

TEST(a_switch_waits_for_every_engine)
{
	struct guest *a = rig_add(50, 0), *b = rig_add(50, 0);

	rig_begin();
	submit(a, RCS0, 4 * MS);
	submit(a, BCS0, 9 * MS);
	rig_run(1 * MS);
	submit(a, RCS0, 1 * MS);
	submit(b, RCS0, 1 * MS);
	rig_run(7 * MS);
	assert_ptr_equal(rig.gvt.scheduler.current_vgpu, &a->vgpu);
	assert_true(rig.gvt.scheduler.need_reschedule);
	assert_null(rig.gvt.scheduler.current_workload[RCS0]);
	assert_int_equal(busy(b), 0);
	rig_run(2 * MS);
	assert_int_equal(busy(a), 9 * MS);
	assert_int_equal(busy(b), 1 * MS);
}

/* vGPU b is removed while it waits for the end of a workload of vGPU a. */
TEST(the_next_vgpu_can_be_removed)
{
	struct guest *a = rig_add(50, 10 * MS), *b = rig_add(50, 0);

	rig_begin();
	rig_run(1 * MS);
	submit(b, RCS0, 1 * MS);
	rig_run(5 * MS);
	assert_true(rig.gvt.scheduler.need_reschedule);
	rig_remove(b);
	settle();
	assert_false(rig.gvt.scheduler.need_reschedule);
	rig_run(30 * MS);
	assert_int_equal(busy(a), 36 * MS);
}

TEST(an_idle_gpu_needs_decisions_only_at_slots)
{
	rig_add(50, 0);
	rig_run(1 * S);
	rig.schedules = 0;
	rig_run(10 * S);
	assert_in_range(rig.schedules, 99, 101);
}

TEST(a_busy_gpu_switches_with_the_rounds)
{
	struct intel_vgpu *last = NULL;
	unsigned int switches = 0;

	rig_add(30, 100000);
	rig_add(70, 100000);
	rig_begin();
	for (int i = 0; i < 100000; i++) {
		rig_run(10000);
		switches += rig.gvt.scheduler.current_vgpu != last;
		last = rig.gvt.scheduler.current_vgpu;
	}
	/* 200 rounds with two switches each */
	assert_in_range(switches, 350, 410);
}

/*
 * vGPU b has its turn, but must wait for a workload of vGPU a. The turn does not get shorter during
 * this wait, so no timer is needed for the end of the turn.
 */
TEST(a_short_rest_of_a_slice_needs_few_timers)
{
	struct guest *a = rig_add(0, 0), *b = rig_add(1, 0);

	rig_begin();
	submit(b, RCS0, 999000);
	rig_run(1 * MS);
	submit(a, RCS0, 50 * MS);
	rig_run(10 * MS);
	submit(b, RCS0, 1 * MS);
	rig.schedules = 0;
	rig_run(39 * MS);
	assert_in_range(rig.schedules, 1, 40);
	rig_run(2 * MS);
	assert_int_equal(busy(b), 1999000);
}
