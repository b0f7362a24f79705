/* SPDX-License-Identifier: MIT */
/* The vGPU scheduler: a cap whose lease has expired returns to the initial cap. */
#include "base/cleanup.h"
#include "tests/unit/sched/test-sched-rig.h"
#include "tests/unit/unit.h"

#define LEASE (250 * NS_PER_MS)

/* A tenant with the initial cap 20 %, and the cap 60 % with a lease of LEASE, written at time 0. */
static struct sched_vgpu *rig_lease(void)
{
	struct sched_vgpu *vgpu = &rig_add(20, FOREVER)->sched;

	sched_set_lease(vgpu, LEASE, 0);
	sched_set_cap(vgpu, 60, 0);
	return vgpu;
}

TEST(an_expired_lease_ends_with_the_next_slot)
{
	struct sched_vgpu *vgpu = rig_lease();

	rig_run(3 * SLOT - 1);
	assert_int_equal(vgpu->cap_pct, 60);
	assert_int_equal(vgpu->next_cap_pct, 60);
	rig_run(1);
	assert_int_equal(vgpu->cap_pct, 20);
	assert_int_equal(vgpu->next_cap_pct, 20);
	rig_run(10 * SLOT);
	assert_int_equal(vgpu->cap_pct, 20);
}

TEST(writing_the_cap_or_the_lease_renews_it)
{
	struct sched_vgpu *vgpu = rig_lease();

	for (int i = 0; i < 20; i++) {
		rig_run(2 * SLOT);
		if (i % 2 == 0)
			sched_set_cap(vgpu, 60, rig.now_ns);
		else
			sched_set_lease(vgpu, LEASE, rig.now_ns);
		assert_int_equal(vgpu->lease_end_ns, rig.now_ns + LEASE);
	}
	assert_int_equal(vgpu->cap_pct, 60);
	rig_run(3 * SLOT);
	assert_int_equal(vgpu->cap_pct, 20);
}

TEST(an_expired_lease_has_no_effect_until_the_next_write)
{
	struct sched_vgpu *vgpu = rig_lease();

	rig_run(5 * SLOT);
	assert_int_equal(vgpu->lease_end_ns, 0);
	assert_int_equal(vgpu->lease_ns, LEASE);
	sched_set_cap(vgpu, 50, rig.now_ns);
	rig_run(SLOT);
	assert_int_equal(vgpu->cap_pct, 50);
	rig_run(2 * SLOT);
	assert_int_equal(vgpu->cap_pct, 20);
}

TEST(without_a_lease_a_cap_never_expires)
{
	struct sched_vgpu *vgpu = rig_lease();

	sched_set_lease(vgpu, 0, 0);
	rig_run(100 * SLOT);
	assert_int_equal(vgpu->cap_pct, 60);
}

TEST(a_new_vgpu_has_no_lease)
{
	struct sched_vgpu *vgpu;

	memset(rig.tenants, 0xff, sizeof(rig.tenants));
	vgpu = &rig.tenants[0].sched;
	sched_add(&rig.sched, vgpu, 30, 0);
	assert_int_equal(vgpu->lease_ns, 0);
	assert_int_equal(vgpu->lease_end_ns, 0);
	assert_false(vgpu->cap_written);
}

TEST(a_late_slot_ends_the_lease_too)
{
	struct sched_vgpu *vgpu = rig_lease();

	sched_open_slot(&rig.sched, 40 * SLOT);
	assert_int_equal(vgpu->cap_pct, 20);
	/* The lease ended during the slot, but the cap changes only at the next slot. */
	assert_int_equal(vgpu->sched_ns, 8 * SLOT);
}

TEST(the_initial_cap_is_in_force_until_a_cap_is_written)
{
	struct sched_vgpu *vgpu = &rig_add(20, FOREVER)->sched;

	assert_int_equal(sched_set_initial_cap(vgpu, 35), 0);
	assert_int_equal(vgpu->next_cap_pct, 35);
	assert_int_equal(vgpu->cap_pct, 20);
	rig_run(SLOT);
	assert_int_equal(vgpu->cap_pct, 35);
	sched_set_cap(vgpu, 35, rig.now_ns);
	assert_true(sched_set_initial_cap(vgpu, 50) < 0);
	assert_int_equal(vgpu->initial_cap_pct, 35);
	assert_int_equal(vgpu->next_cap_pct, 35);
}

TEST(no_cap_is_in_force_more_than_a_slot_after_its_lease)
{
	for (uint64_t seed = 1; seed <= 50; seed++) {
		uint64_t written_ns = 0, lease_ns;
		struct sched_vgpu *vgpu;

		rig_init(seed);
		vgpu = &rig_add(25, FOREVER)->sched;
		lease_ns = 1 + draw(2 * NS_PER_S);
		sched_set_lease(vgpu, lease_ns, 0);
		while (rig.now_ns < 30 * NS_PER_S) {
			rig_run(1 + draw(draw(4) == 0 ? 3 * NS_PER_S : SLOT));
			if (rig.now_ns > written_ns + lease_ns + SLOT)
				assert_int_equal(vgpu->cap_pct, 25);
			else if (written_ns > 0 && rig.now_ns < written_ns + lease_ns)
				assert_int_equal(vgpu->next_cap_pct, 70);
			if (draw(3) == 0) {
				sched_set_cap(vgpu, 70, rig.now_ns);
				written_ns = rig.now_ns;
			}
		}
	}
}

TEST(a_lease_that_ends_with_the_slot_is_over)
{
	struct tenant *tenant = rig_add(20, 0);

	sched_set_lease(&tenant->sched, SLOT, 0);
	sched_set_cap(&tenant->sched, 60, 0);
	sched_open_slot(&rig.sched, SLOT);
	assert_int_equal(tenant->sched.cap_pct, 20);
}
