/* SPDX-License-Identifier: MIT */
/*
 * The scheduling policy for i915 (kernel/gover_sched_policy): accounting, files, and vGPUs that
 * stop or are removed while workloads are in flight.
 */
#include "kernel/gover_sched_policy/sched_policy.c"
#include "kernel/gover_sched_policy/sched_sysfs.c"
#include "tests/unit/kernel/test-sched-policy-rig.h"
#include "tests/unit/unit.h"

/* --- accounting --- */

TEST(parallel_engines_count_once)
{
	struct guest *a;

	rig.delay_ns = 1 * MS;
	a = rig_add(0, 0);
	rig_begin();
	submit(a, RCS0, 10 * MS);
	rig_run(5 * MS);
	submit(a, BCS0, 10 * MS);
	rig_run(30 * MS);
	/* from 1 ms, when the vGPU got the GPU, to 15 ms, when its second engine finished */
	assert_int_equal(busy(a), 14 * MS);
}

TEST(a_long_workload_is_counted_while_it_runs)
{
	struct guest *a = rig_add(0, 0);

	rig_begin();
	submit(a, RCS0, 500 * MS);
	rig_run(123 * MS);
	assert_int_equal(busy(a), 123 * MS);
	rig_run(123 * MS);
	assert_int_equal(busy(a), 246 * MS);
}

TEST(a_new_cap_takes_effect_at_the_next_slot)
{
	struct guest *a;
	u64 allotted_ns;

	a = rig_add(0, 1 * MS);
	rig_begin();
	allotted_ns = state_of_guest(a).sched_ns;
	rig_run(10 * MS);
	assert_int_equal(intel_vgpu_set_cap(&a->vgpu, 40), 0);
	assert_int_equal(state_of_guest(a).cap_pct, 40);
	rig_run(90 * MS);
	assert_int_equal(busy(a), 100 * MS);
	rig_run(500 * MS);
	assert_near(busy(a), 300 * MS, 1 * MS);
	assert_int_equal(state_of_guest(a).sched_ns - allotted_ns, 300 * MS);
}

TEST(an_expired_lease_restores_the_initial_cap)
{
	struct guest *a = rig_create(4);

	assert_int_equal(intel_vgpu_set_lease(&a->vgpu, 700), 0);
	assert_int_equal(intel_vgpu_set_cap(&a->vgpu, 80), 0);
	assert_int_equal(state_of_guest(a).lease_ns, 700 * MS);
	rig_run(650 * MS);
	assert_int_equal(state_of_guest(a).cap_pct, 80);
	assert_int_equal(intel_vgpu_set_lease(&a->vgpu, 700), 0);
	rig_run(699 * MS);
	assert_int_equal(state_of_guest(a).cap_pct, 80);
	rig_run(101 * MS);
	assert_int_equal(state_of_guest(a).cap_pct, 25);
}

/* The lease must expire although no file is read and no guest runs. */
TEST(a_lease_ends_without_a_reader)
{
	struct guest *a = rig_create(4);

	assert_int_equal(intel_vgpu_set_lease(&a->vgpu, 650), 0);
	assert_int_equal(intel_vgpu_set_cap(&a->vgpu, 80), 0);
	rig_run(15 * S);
	assert_int_equal(state_of_guest(a).sched_ns, 25 * MS + 80 * 6 * MS + 25 * 143 * MS);
}

/* A lease limits the cap only: it changes neither the discipline nor the ceiling. */
TEST(a_lease_ends_under_guarantee_too)
{
	struct guest *a;

	assert_int_equal(intel_gvt_set_sharing(&rig.gvt, "guarantee"), 0);
	a = rig_create(4);
	assert_int_equal(intel_vgpu_set_lease(&a->vgpu, 700), 0);
	assert_int_equal(intel_vgpu_set_ceiling(&a->vgpu, 90), 0);
	assert_int_equal(intel_vgpu_set_cap(&a->vgpu, 80), 0);
	rig_run(900 * MS);
	assert_int_equal(state_of_guest(a).cap_pct, 25);
	assert_int_equal(state_of_guest(a).ceiling_pct, 90);
	assert_string_equal(intel_gvt_sharing(&rig.gvt), "guarantee");
}

TEST(the_policy_continues_after_a_suspended_machine)
{
	struct guest *a;
	u64 allotted_ns;

	a = rig_add(20, 1 * MS);
	rig_begin();
	allotted_ns = state_of_guest(a).sched_ns;
	rig_run(1 * MS + 500000);
	clock_ns += 3600 * S;
	rig_run(1);
	/* The workload was in flight while the machine was suspended. */
	assert_near(busy(a), 3600 * S, 2 * MS);
	assert_int_equal(sched_data_of()->sched.slot_end_ns, clock_ns - 1 + SCHED_SLOT_NS);
	rig_run(2 * S);
	assert_near(state_of_guest(a).sched_ns - allotted_ns, 3602 * S / 5, 1 * MS);
	rig_begin();
	allotted_ns = busy(a);
	rig_run(10 * S);
	assert_share(a, allotted_ns, 20, 5);
}

/* --- files --- */

static ssize_t put(struct guest *guest, const char *name, const char *text)
{
	struct device dev = {.data = &guest->vgpu};

	for (size_t i = 0; i < ARRAY_SIZE(intel_vgpu_sched_attrs); i++) {
		struct device_attribute *attr = &intel_vgpu_sched_attrs[i];

		if (strcmp(attr->attr.name, name) == 0)
			return attr->store ? attr->store(&dev, attr, text, strlen(text)) : -EACCES;
	}
	return -ENOENT;
}

static const char *get(struct guest *guest, const char *name)
{
	static char text[PAGE_SIZE];
	struct device dev = {.data = &guest->vgpu};

	for (size_t i = 0; i < ARRAY_SIZE(intel_vgpu_sched_attrs); i++) {
		struct device_attribute *attr = &intel_vgpu_sched_attrs[i];

		if (strcmp(attr->attr.name, name) == 0)
			return attr->show(&dev, attr, text) > 0 ? text : "?";
	}
	return "none";
}

TEST(files_are_read_and_written)
{
	static const struct {
		const char *name, *text;
		ssize_t want;
	} cases[] = {
		{"initial_cap", "101\n", -EINVAL},
		{"initial_cap", "40\n", 3},
		{"cap_ceiling", "101\n", -EINVAL},
		{"cap_ceiling", "all\n", -EINVAL},
		{"cap_ceiling", "4294967296\n", -ERANGE},
		{"cap", "101\n", -EINVAL},
		{"cap", "-1\n", -EINVAL},
		{"cap", "many\n", -EINVAL},
		{"cap", "99999999999\n", -ERANGE},
		{"cap", "55\n", 3},
		{"initial_cap", "50\n", -EPERM},
		{"cap_lease_ms", "4294967296\n", -ERANGE},
		{"cap_lease_ms", "4294967295\n", 11},
		{"cap_ceiling", "70\n", 3},
		{"busy_time", "0\n", -EACCES},
		{"sched_time", "0\n", -EACCES},
	};
	struct guest *a = rig_create(2);

	assert_string_equal(get(a, "cap"), "50\n");
	assert_string_equal(get(a, "initial_cap"), "50\n");
	assert_string_equal(get(a, "cap_ceiling"), "50\n");
	assert_string_equal(get(a, "cap_lease_ms"), "0\n");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(put(a, cases[i].name, cases[i].text), cases[i].want);
	assert_string_equal(get(a, "cap"), "55\n");
	assert_string_equal(get(a, "initial_cap"), "40\n");
	assert_string_equal(get(a, "cap_ceiling"), "70\n");
	assert_string_equal(get(a, "cap_lease_ms"), "4294967295\n");
	rig_run(1 * S);
	assert_string_equal(get(a, "busy_time"), "0\n");
	/* The initial cap of 50 % was in force during the first 100 ms. */
	assert_string_equal(get(a, "sched_time"), "545000000\n");
}

TEST(the_file_of_the_gpu_is_read_and_written)
{
	struct device_attribute *attr = &intel_gvt_sharing_attr;
	struct device dev = {.data = &rig.i915};
	char text[PAGE_SIZE];

	rig.i915.gvt = &rig.gvt;
	assert_string_equal(attr->attr.name, "gover_sharing");
	assert_int_equal(attr->attr.mode, 0644);
	assert_int_equal(attr->show(&dev, attr, text), 5);
	assert_string_equal(text, "hard\n");
	assert_int_equal(attr->store(&dev, attr, "guarantee\n", 10), 10);
	assert_int_equal(attr->store(&dev, attr, "weight\n", 7), -EINVAL);
	assert_int_equal(attr->show(&dev, attr, text), 10);
	assert_string_equal(text, "guarantee\n");
	rig.i915.gvt = NULL; /* as at the beginning of intel_gvt_clean_device() */
	assert_int_equal(attr->show(&dev, attr, text), -ENODEV);
	assert_int_equal(attr->store(&dev, attr, "hard\n", 5), -ENODEV);
}

TEST(the_initial_cap_depends_on_the_type)
{
	const int parts[] = {8, 4, 2, 1};
	const unsigned int caps[] = {12, 25, 50, 100};

	for (int i = 0; i < 4; i++)
		assert_int_equal(state_of_guest(rig_create(parts[i])).cap_pct, caps[i]);
}

/* --- stopping and removing --- */

TEST(a_reset_keeps_cap_and_counters)
{
	struct guest *a, *b;
	u64 before_ns;

	a = rig_add(50, 3 * MS);
	b = rig_add(50, 3 * MS);
	assert_int_equal(intel_vgpu_set_cap(&a->vgpu, 30), 0);
	rig_run(1001 * MS);
	/* As in intel_gvt_reset_vgpu(), first stop the vGPU, then wait for workloads in flight. */
	while (!in_flight(a))
		rig_run(1 * MS);
	before_ns = busy(a);
	intel_vgpu_stop_schedule(&a->vgpu);
	intel_vgpu_stop_schedule(&a->vgpu);
	assert_null(rig.gvt.scheduler.current_vgpu);
	assert_null(rig.gvt.scheduler.engine_owner[RCS0]);
	a->habits[RCS0].length_ns = 0;
	while (in_flight(a))
		rig_run(100000);
	drop_queue(a);
	assert_true(busy(a) > before_ns);
	before_ns = busy(b);
	rig_run(1 * S);
	assert_near(busy(b) - before_ns, 500 * MS, 10 * MS);

	intel_vgpu_start_schedule(&a->vgpu);
	intel_vgpu_start_schedule(&a->vgpu);
	a->habits[RCS0].length_ns = 3 * MS;
	assert_int_equal(state_of_guest(a).cap_pct, 30);
	before_ns = busy(a);
	assert_true(before_ns > 200 * MS);
	rig_run(10 * S);
	assert_share(a, before_ns, 30, 5);
}

TEST(a_stopped_vgpu_is_not_dispatched)
{
	struct guest *a = rig_add(0, 0);

	intel_vgpu_stop_schedule(&a->vgpu);
	submit(a, RCS0, 1 * MS);
	rig_run(1 * S);
	assert_int_equal(busy(a), 0);
	intel_vgpu_start_schedule(&a->vgpu);
	rig_run(2 * MS);
	assert_int_equal(busy(a), 1 * MS);
}

TEST(removing_the_last_vgpu_stops_the_timer)
{
	struct guest *a;

	assert_int_equal(sched_data_of()->timer.at_ns, 0);
	a = rig_add(50, 1 * MS);
	rig_run(1 * S);
	assert_true(sched_data_of()->timer.at_ns > clock_ns);
	rig_remove(a);
	settle();
	assert_int_equal(sched_data_of()->timer.at_ns, 0);
	clock_ns += 100 * S;
	a = rig_add(50, 1 * MS);
	rig_run(10 * S);
	assert_share(a, 0, 50, 5);
}

/*
 * The rig checks locking and dispatching. rig_fini() checks that everything is freed.
 */
TEST(random_operations_keep_the_rules)
{
	unsigned int seed = 7;

	rig.delay_ns = 50000;
	for (int i = 0; i < 4000; i++) {
		struct guest *guest;

		seed = seed * 1103515245 + 12345;
		guest = &rig.guests[(seed >> 16) % VGPUS];
		if (!guest->exists)
			guest = rig_add((seed >> 20) % 101, (seed >> 8) % 20 * MS / 4);
		else if ((seed >> 24) % 4 == 0)
			rig_remove(guest);
		else if ((seed >> 24) % 4 == 1)
			assert_int_equal(intel_vgpu_set_cap(&guest->vgpu, (seed >> 20) % 101), 0);
		else if ((seed >> 24) % 8 == 2)
			assert_int_equal(intel_gvt_set_sharing(
						 &rig.gvt, (seed >> 8) % 2 ? "hard" : "guarantee"),
					 0);
		else if ((seed >> 24) % 8 == 6)
			assert_int_equal(intel_vgpu_set_ceiling(&guest->vgpu, (seed >> 20) % 101),
					 0);
		else if ((seed >> 24) % 8 == 3)
			guest->habits[BCS0].length_ns = (seed >> 8) % 8 * MS;
		else
			intel_vgpu_stop_schedule(&guest->vgpu);
		rig_run((seed >> 12) % 30 * MS);
		for (int j = 0; j < VGPUS; j++)
			if (rig.guests[j].exists && rig.guests[j].vgpu.active)
				intel_vgpu_start_schedule(&rig.guests[j].vgpu);
	}
}
