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
	struct rig rig;
	struct guest *a, *b, *c;

	rig_init(&rig);
	a = rig_add(&rig, 20, 1 * MS);
	b = rig_add(&rig, 30, 1 * MS);
	c = rig_add(&rig, 50, 1 * MS);
	rig_begin(&rig);
	rig_run(&rig, 10 * S);
	assert_share(a, 0, 20, 5);
	assert_share(b, 0, 30, 5);
	assert_share(c, 0, 50, 5);
	rig_fini(&rig);
}

TEST(a_cap_is_hard)
{
	struct rig rig;
	struct guest *a;

	rig_init(&rig);
	a = rig_add(&rig, 30, 1 * MS);
	rig_add(&rig, 70, 0);
	rig_begin(&rig);
	rig_run(&rig, 10 * S);
	assert_share(a, 0, 30, 5);
	rig_fini(&rig);
}

TEST(cap_0_is_no_limit)
{
	struct rig rig;
	struct guest *a;
	u64 allotted_ns;

	rig_init(&rig);
	a = rig_add(&rig, 0, 1 * MS);
	rig_begin(&rig);
	allotted_ns = state_of_guest(a).sched_ns;
	rig_run(&rig, 10 * S);
	assert_share(a, 0, 100, 1);
	assert_int_equal(state_of_guest(a).sched_ns - allotted_ns, 10 * S);
	rig_fini(&rig);
}

TEST(caps_above_100_are_reduced_in_proportion)
{
	struct rig rig;
	struct guest *a, *b;

	rig_init(&rig);
	a = rig_add(&rig, 80, 1 * MS);
	b = rig_add(&rig, 40, 1 * MS);
	rig_begin(&rig);
	rig_run(&rig, 10 * S);
	assert_near(busy(a) + busy(b), 10 * S, 10 * MS);
	assert_near(busy(a), 6667 * MS, 300 * MS);
	rig_fini(&rig);
}

/* A workload cannot be preempted. Its overrun is deducted from the next slots. */
TEST(long_workloads_are_deducted)
{
	struct rig rig;
	struct guest *a, *b;

	rig_init(&rig);
	a = rig_add(&rig, 10, 16 * MS);
	b = rig_add(&rig, 90, 1 * MS);
	rig_begin(&rig);
	rig_run(&rig, 10 * S);
	/* In each second, vGPU a can exceed its share by at most one workload of 16 ms. */
	assert_in_range(busy(a), 990 * MS, 1000 * MS + 10 * 16 * MS);
	assert_true(busy(b) >= 8800 * MS);
	rig_fini(&rig);
}

TEST(a_late_service_thread_does_not_change_shares)
{
	struct rig rig;
	struct guest *a, *b;
	u64 allotted_ns;

	rig_init(&rig);
	rig.delay_ns = 5 * MS;
	a = rig_add(&rig, 25, 1 * MS);
	b = rig_add(&rig, 40, 1 * MS);
	rig_begin(&rig);
	allotted_ns = state_of_guest(a).sched_ns;
	rig_run(&rig, 10 * S);
	assert_share(a, 0, 25, 5);
	assert_share(b, 0, 40, 5);
	assert_int_equal(state_of_guest(a).sched_ns - allotted_ns, 2500 * MS);
	rig_fini(&rig);
}

TEST(weight_shares_the_whole_gpu)
{
	struct rig rig;
	struct guest *a, *b;
	char name[PAGE_SIZE];

	assert_int_equal(param_discipline->set("weight\n", NULL), 0);
	assert_true(param_discipline->get(name, NULL) > 0);
	assert_string_equal(name, "weight\n");
	rig_init(&rig);
	a = rig_add(&rig, 10, 1 * MS);
	b = rig_add(&rig, 30, 1 * MS);
	rig_begin(&rig);
	rig_run(&rig, 10 * S);
	assert_share(a, 0, 25, 5);
	assert_share(b, 0, 75, 5);
	rig_fini(&rig);
	assert_int_equal(param_discipline->set("cap", NULL), 0);
	assert_int_equal(param_discipline->set("fair", NULL), -EINVAL);
	assert_int_equal(param_discipline->set("weightweightweight", NULL), -EINVAL);
	assert_string_equal(chosen_discipline->name, "cap");
}

/* --- guarantee --- */

static void change_sharing(struct rig *rig, const char *word)
{
	assert_int_equal(intel_gvt_set_sharing(&rig->gvt, word), 0);
	assert_string_equal(intel_gvt_sharing(&rig->gvt), word);
}

/* Adds a guest with the initial cap @initial_cap, which is the ceiling, and the cap @cap. */
static struct guest *add_guest(struct rig *rig, u32 initial_cap, u32 cap, u64 length_ns)
{
	struct guest *guest = rig_add(rig, initial_cap, length_ns);

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
		struct rig rig;
		struct guest *a;
		u64 allotted_ns;

		rig_init(&rig);
		change_sharing(&rig, "guarantee");
		a = add_guest(&rig, 60, 20, 1 * MS);
		rig_add(&rig, 80, 0);
		if (cases[i].ceiling >= 0)
			assert_int_equal(intel_vgpu_set_ceiling(&a->vgpu, (u32)cases[i].ceiling),
					 0);
		rig_begin(&rig);
		allotted_ns = state_of_guest(a).sched_ns;
		rig_run(&rig, 10 * S);
		assert_share(a, 0, cases[i].share, 5);
		assert_int_equal(state_of_guest(a).sched_ns - allotted_ns, 2 * S);
		rig_fini(&rig);
	}
}

TEST(a_guarantee_does_not_depend_on_the_borrower)
{
	struct rig rig;
	struct guest *a, *b;

	rig_init(&rig);
	change_sharing(&rig, "guarantee");
	a = add_guest(&rig, 100, 30, 4 * MS);
	b = add_guest(&rig, 70, 70, 0);
	rig_begin(&rig);
	rig_run(&rig, 10 * S);
	assert_share(a, 0, 100, 1);
	b->habits[RCS0].length_ns = 4 * MS;
	rig_begin(&rig);
	rig_run(&rig, 10 * S);
	assert_share(b, 0, 70, 5);
	rig_fini(&rig);
}

/* The borrower has a workload of 20 ms in flight, which cannot be preempted. */
TEST(a_guest_with_slice_waits_for_one_workload_at_most)
{
	struct rig rig;
	struct guest *a, *b;

	rig_init(&rig);
	change_sharing(&rig, "guarantee");
	a = add_guest(&rig, 100, 10, 20 * MS);
	b = add_guest(&rig, 90, 90, 0);
	rig_begin(&rig);
	rig_run(&rig, 45 * MS);
	assert_int_equal(busy(a), 45 * MS);
	submit(&rig, b, RCS0, 5 * MS);
	rig_run(&rig, 15 * MS);
	assert_int_equal(busy(b), 0);
	rig_run(&rig, 5 * MS);
	assert_int_equal(busy(b), 5 * MS);
	assert_int_equal(busy(a), 60 * MS);
	rig_fini(&rig);
}

/* The caps 10 and 30 leave 60 %, of which the guests borrow 15 and 45. */
TEST(spare_time_is_shared_in_proportion_to_caps)
{
	struct rig rig;
	struct guest *a, *b;

	rig_init(&rig);
	change_sharing(&rig, "guarantee");
	a = add_guest(&rig, 100, 10, 1 * MS);
	b = add_guest(&rig, 100, 30, 1 * MS);
	rig_begin(&rig);
	rig_run(&rig, 10 * S);
	assert_share(a, 0, 25, 5);
	assert_share(b, 0, 75, 5);
	rig_fini(&rig);
}

/* The workload of vGPU a is in flight during both changes. */
TEST(a_changed_discipline_is_in_force_at_once)
{
	struct rig rig;
	struct guest *a;

	rig_init(&rig);
	a = add_guest(&rig, 100, 20, 0);
	assert_string_equal(intel_gvt_sharing(&rig.gvt), "hard");
	rig_begin(&rig);
	for (int i = 0; i < 10; i++)
		submit(&rig, a, RCS0, 8 * MS);
	rig_run(&rig, 30 * MS);
	/* The third workload overran the slice of 20 ms. */
	assert_int_equal(busy(a), 24 * MS);
	assert_ptr_equal(rig.gvt.scheduler.current_vgpu, &rig.idle);
	change_sharing(&rig, "guarantee");
	rig_run(&rig, 20 * MS + 500000);
	change_sharing(&rig, "hard");
	rig_run(&rig, 40 * MS);
	/* The workload in flight ends, and no other begins before the next slot. */
	assert_int_equal(busy(a), 48 * MS);
	/* Only the time after the change is a debt. */
	assert_int_equal(((struct vgpu_sched_data *)a->vgpu.sched_data)->sched.slice_ns,
			 -(3 * (int64_t)MS + 500000));
	rig_run(&rig, 11 * MS);
	assert_true(busy(a) > 48 * MS);
	rig_fini(&rig);
}

TEST(other_words_change_nothing)
{
	static const char *const words[] = {"",		"\n",	      "cap",	       "weight",
					    "Hard",	" hard",      "hard ",	       "har",
					    "hard\n\n", "guarantee_", "guarantee hard"};
	struct rig rig;

	rig_init(&rig);
	change_sharing(&rig, "guarantee");
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		assert_int_equal(intel_gvt_set_sharing(&rig.gvt, words[i]), -EINVAL);
	assert_string_equal(intel_gvt_sharing(&rig.gvt), "guarantee");
	rig_fini(&rig);
}

/* --- turns --- */

TEST(a_single_vgpu_is_dispatched_at_once)
{
	struct rig rig;
	struct guest *a;

	rig_init(&rig);
	rig.delay_ns = 100000;
	a = rig_add(&rig, 50, 0);
	a->habits[RCS0] = (struct habit){.length_ns = 1 * MS, .pause_ns = 4 * MS};
	rig_begin(&rig);
	rig_run(&rig, 20 * MS);
	assert_ptr_equal(rig.gvt.scheduler.current_vgpu, &a->vgpu);
	submit(&rig, a, BCS0, 1 * MS);
	settle(&rig);
	assert_true(in_flight(&rig, a));
	rig_fini(&rig);
}

TEST(without_slice_a_vgpu_waits_for_the_next_slot)
{
	struct rig rig;
	struct guest *a;

	rig_init(&rig);
	a = rig_add(&rig, 10, 1 * MS);
	rig_begin(&rig);
	rig_run(&rig, 50 * MS);
	assert_near(busy(a), 10 * MS, 1 * MS);
	assert_ptr_equal(rig.gvt.scheduler.current_vgpu, &rig.idle);
	assert_true(queued(a, RCS0) > 0);
	rig_run(&rig, 100 * MS);
	assert_near(busy(a), 20 * MS, 1 * MS);
	rig_fini(&rig);
}

TEST(a_vgpu_without_work_leaves_at_once)
{
	struct rig rig;
	struct guest *a, *b;

	rig_init(&rig);
	a = rig_add(&rig, 50, 0);
	b = rig_add(&rig, 50, 0);
	rig_begin(&rig);
	submit(&rig, a, RCS0, 300000);
	submit(&rig, b, RCS0, 300000);
	rig_run(&rig, 600000);
	assert_int_equal(busy(a), 300000);
	assert_int_equal(busy(b), 300000);
	rig_fini(&rig);
}

TEST(a_switch_waits_for_every_engine)
{
	struct rig rig;
	struct guest *a, *b;

	rig_init(&rig);
	a = rig_add(&rig, 50, 0);
	b = rig_add(&rig, 50, 0);
	rig_begin(&rig);
	submit(&rig, a, RCS0, 4 * MS);
	submit(&rig, a, BCS0, 9 * MS);
	rig_run(&rig, 1 * MS);
	submit(&rig, a, RCS0, 1 * MS);
	submit(&rig, b, RCS0, 1 * MS);
	rig_run(&rig, 7 * MS);
	assert_ptr_equal(rig.gvt.scheduler.current_vgpu, &a->vgpu);
	assert_true(rig.gvt.scheduler.need_reschedule);
	assert_null(rig.gvt.scheduler.current_workload[RCS0]);
	assert_int_equal(busy(b), 0);
	rig_run(&rig, 2 * MS);
	assert_int_equal(busy(a), 9 * MS);
	assert_int_equal(busy(b), 1 * MS);
	rig_fini(&rig);
}

/* vGPU b is removed while it waits for the end of a workload of vGPU a. */
TEST(the_next_vgpu_can_be_removed)
{
	struct rig rig;
	struct guest *a, *b;

	rig_init(&rig);
	a = rig_add(&rig, 50, 10 * MS);
	b = rig_add(&rig, 50, 0);
	rig_begin(&rig);
	rig_run(&rig, 1 * MS);
	submit(&rig, b, RCS0, 1 * MS);
	rig_run(&rig, 5 * MS);
	assert_true(rig.gvt.scheduler.need_reschedule);
	rig_remove(&rig, b);
	settle(&rig);
	assert_false(rig.gvt.scheduler.need_reschedule);
	rig_run(&rig, 30 * MS);
	assert_int_equal(busy(a), 36 * MS);
	rig_fini(&rig);
}

TEST(an_idle_gpu_needs_decisions_only_at_slots)
{
	struct rig rig;

	rig_init(&rig);
	rig_add(&rig, 50, 0);
	rig_run(&rig, 1 * S);
	rig.schedules = 0;
	rig_run(&rig, 10 * S);
	assert_in_range(rig.schedules, 99, 101);
	rig_fini(&rig);
}

TEST(a_busy_gpu_switches_with_the_rounds)
{
	struct rig rig;
	struct intel_vgpu *last = NULL;
	unsigned int switches = 0;

	rig_init(&rig);
	rig_add(&rig, 30, 100000);
	rig_add(&rig, 70, 100000);
	rig_begin(&rig);
	for (int i = 0; i < 100000; i++) {
		rig_run(&rig, 10000);
		switches += rig.gvt.scheduler.current_vgpu != last;
		last = rig.gvt.scheduler.current_vgpu;
	}
	/* 200 rounds with two switches each */
	assert_in_range(switches, 350, 410);
	rig_fini(&rig);
}

/*
 * vGPU b has its turn, but must wait for a workload of vGPU a. The turn does not get shorter during
 * this wait, so no timer is needed for the end of the turn.
 */
TEST(a_short_rest_of_a_slice_needs_few_timers)
{
	struct rig rig;
	struct guest *a, *b;

	rig_init(&rig);
	a = rig_add(&rig, 0, 0);
	b = rig_add(&rig, 1, 0);
	rig_begin(&rig);
	submit(&rig, b, RCS0, 999000);
	rig_run(&rig, 1 * MS);
	submit(&rig, a, RCS0, 50 * MS);
	rig_run(&rig, 10 * MS);
	submit(&rig, b, RCS0, 1 * MS);
	rig.schedules = 0;
	rig_run(&rig, 39 * MS);
	assert_in_range(rig.schedules, 1, 40);
	rig_run(&rig, 2 * MS);
	assert_int_equal(busy(b), 1999000);
	rig_fini(&rig);
}
