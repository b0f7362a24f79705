/* SPDX-License-Identifier: MIT */
/*
 * The vGPU scheduler: slices, the next vGPU and its turn, adding and removing vGPUs, leases, and
 * the discipline "weight" (shares of the whole GPU in proportion to the caps).
 */
#include "base/cleanup.h"
#include "tests/unit/kernel/sched/test-sched-rig.h"

TEST(a_slot_adds_to_the_rest_of_the_slice)
{
	struct tenant *tenant = rig_add(30, 0);

	for (int64_t slots = 1; slots <= SCHED_SLOTS; slots++) {
		assert_int_equal(tenant->sched.slice_ns, slots * 30 * (int64_t)NS_PER_MS);
		rig_run(SLOT);
	}
}

TEST(a_new_second_drops_credit)
{
	struct tenant *tenant = rig_add(30, 0);

	rig_run(NS_PER_S);
	assert_int_equal(tenant->sched.slice_ns, 30 * NS_PER_MS);
}

TEST(a_new_second_drops_debt)
{
	struct tenant *tenant = rig_add(30, 0);

	sched_account(&rig.sched, &tenant->sched, 900 * NS_PER_MS);
	assert_true(tenant->sched.slice_ns < 0);
	rig_run(9 * SLOT);
	assert_int_equal(tenant->sched.slice_ns, -600 * (int64_t)NS_PER_MS);
	rig_run(SLOT);
	assert_int_equal(tenant->sched.slice_ns, 30 * NS_PER_MS);
}

TEST(a_debt_is_deducted_within_the_second)
{
	struct tenant *tenant = rig_add(30, FOREVER);

	sched_account(&rig.sched, &tenant->sched, 120 * NS_PER_MS);
	rig_run(NS_PER_S);
	assert_int_equal(tenant->sched.busy_ns, 300 * NS_PER_MS);
}

TEST(a_cap_takes_effect_at_the_next_slot)
{
	struct tenant *tenant = rig_add(20, FOREVER);

	rig_run(5 * NS_PER_MS);
	sched_set_cap(&tenant->sched, 60, rig.now_ns);
	rig_run(SLOT - 5 * NS_PER_MS);
	assert_int_equal(tenant->sched.busy_ns, 20 * NS_PER_MS);
	rig_run(SLOT);
	assert_int_equal(tenant->sched.busy_ns, 80 * NS_PER_MS);
	assert_int_equal(tenant->sched.initial_cap_pct, 20);
}

TEST(no_limit_keeps_no_slice)
{
	struct tenant *tenant = rig_add(0, FOREVER);

	rig_run(4 * SLOT);
	assert_int_equal(tenant->sched.busy_ns, 4 * SLOT);
	assert_int_equal(sched_allotted_ns(&tenant->sched, rig.now_ns), 4 * SLOT);
	sched_set_cap(&tenant->sched, 10, rig.now_ns);
	rig_run(2 * SLOT);
	assert_int_equal(tenant->sched.busy_ns, 5 * SLOT + 10 * NS_PER_MS);
	sched_set_cap(&tenant->sched, 0, rig.now_ns);
	rig_run(2 * SLOT);
	assert_int_equal(tenant->sched.busy_ns, 6 * SLOT + 20 * NS_PER_MS);
}

TEST(allotted_is_the_integral_of_the_cap_in_force)
{
	struct tenant *tenant;

	rig_run(40 * NS_PER_MS);
	tenant = rig_add(50, 0);
	assert_int_equal(sched_allotted_ns(&tenant->sched, rig.now_ns), 0);
	rig_run(10 * NS_PER_MS);
	assert_int_equal(sched_allotted_ns(&tenant->sched, rig.now_ns), 5 * NS_PER_MS);
	sched_set_cap(&tenant->sched, 80, rig.now_ns);
	rig_run(50 * NS_PER_MS);
	assert_int_equal(sched_allotted_ns(&tenant->sched, rig.now_ns), 30 * NS_PER_MS);
	rig_run(150 * NS_PER_MS);
	assert_int_equal(sched_allotted_ns(&tenant->sched, rig.now_ns), 150 * NS_PER_MS);
	/* The cap also applies to the 10 ms by which the slot ends late. */
	sched_open_slot(&rig.sched, rig.now_ns + 60 * NS_PER_MS);
	assert_int_equal(sched_allotted_ns(&tenant->sched, rig.now_ns + 60 * NS_PER_MS),
			 198 * NS_PER_MS);
}

/* The scheduler divides in steps of 16 bits. The products here need up to 64 bits. */
TEST(the_allotted_time_is_exact_for_any_time)
{
	static const unsigned int caps[] = {1, 3, 33, 50, 99, 100};

	for (size_t i = 0; i < ARRAY_SIZE(caps); i++) {
		const struct sched_vgpu *vgpu = &rig_add(caps[i], 0)->sched;

		for (int bit = 0; bit < 57; bit++) {
			uint64_t edge = UINT64_C(1) << bit;

			for (uint64_t ns = edge - 1; ns <= edge + 1; ns++)
				assert_int_equal(sched_allotted_ns(vgpu, ns), ns * caps[i] / 100);
		}
		assert_int_equal(sched_allotted_ns(vgpu, UINT64_C(0x123456789abcdef)),
				 UINT64_C(0x123456789abcdef) * caps[i] / 100);
	}
}

/* A time before the last change of the cap is possible if two readers of a clock disagree. */
TEST(allotted_time_never_decreases)
{
	struct tenant *tenant = rig_add(50, 0);

	rig_run(SLOT);
	assert_int_equal(sched_allotted_ns(&tenant->sched, SLOT), 50 * NS_PER_MS);
	assert_int_equal(sched_allotted_ns(&tenant->sched, SLOT - 1), 50 * NS_PER_MS);
	assert_int_equal(sched_allotted_ns(&tenant->sched, 0), 50 * NS_PER_MS);
}

TEST(the_next_vgpu_is_the_first_in_the_round_with_work_and_slice)
{
	struct tenant *a, *b, *c;
	uint64_t run_ns = 0;

	assert_null(sched_pick(&rig.sched, &run_ns));
	a = rig_add(20, 0);
	assert_null(sched_pick(&rig.sched, &run_ns));
	sched_set_pending(&rig.sched, &a->sched, true);
	b = rig_add(20, 0);
	c = rig_add(20, FOREVER);
	assert_ptr_equal(sched_pick(&rig.sched, &run_ns), &c->sched);
	sched_set_pending(&rig.sched, &b->sched, true);
	sched_account(&rig.sched, &c->sched, run_ns);
	assert_ptr_equal(sched_pick(&rig.sched, &run_ns), &a->sched);
	sched_account(&rig.sched, &a->sched, 20 * NS_PER_MS);
	assert_ptr_equal(sched_pick(&rig.sched, &run_ns), &b->sched);
	sched_set_pending(&rig.sched, &c->sched, false);
	sched_set_pending(&rig.sched, &b->sched, false);
	/* vGPU a has work but no slice left: the GPU idles. */
	assert_null(sched_pick(&rig.sched, &run_ns));
}

TEST(a_turn_is_a_quantum_in_proportion_to_the_cap)
{
	static const struct {
		unsigned int cap_pct;
		uint64_t quantum_ns;
	} rows[] = {
		{1, 50000}, {20, 1000000}, {50, 2500000}, {100, 5000000}, {0, 5000000},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t run_ns = 0;
		struct tenant *tenant;

		rig_init(1);
		tenant = rig_add(rows[i].cap_pct, FOREVER);
		assert_ptr_equal(sched_pick(&rig.sched, &run_ns), &tenant->sched);
		assert_int_equal(run_ns, rows[i].quantum_ns);
	}
}

TEST(a_turn_is_never_longer_than_the_rest_of_the_slice)
{
	uint64_t run_ns = 0;
	struct tenant *tenant = rig_add(20, FOREVER);

	sched_account(&rig.sched, &tenant->sched, 20 * NS_PER_MS - 3);
	sched_pick(&rig.sched, &run_ns);
	assert_int_equal(run_ns, 3);
}

TEST(a_repeated_pick_changes_nothing)
{
	uint64_t first_ns = 0, again_ns = 0;
	struct tenant *a = rig_add(50, FOREVER);

	rig_add(50, FOREVER);
	sched_set_pending(&rig.sched, &a->sched, false);
	sched_pick(&rig.sched, &first_ns);
	sched_set_pending(&rig.sched, &a->sched, true);
	sched_account(&rig.sched, rig.sched.turn, 1000);
	for (int i = 0; i < 5; i++) {
		assert_ptr_equal(sched_pick(&rig.sched, &again_ns), &rig.tenants[1].sched);
		assert_int_equal(again_ns, first_ns - 1000);
	}
}

TEST(the_time_of_an_idle_vgpu_stays_unused)
{
	struct tenant *busy;

	rig_add(70, 0);
	busy = rig_add(30, FOREVER);
	for (uint64_t second = 1; second <= 5; second++) {
		rig_run(NS_PER_S);
		assert_int_equal(busy->sched.busy_ns, second * 300 * NS_PER_MS);
	}
}

TEST(caps_above_100_in_sum_are_reduced_in_proportion)
{
	static const struct {
		unsigned int caps[4];
		unsigned int shares_pct[4]; /* of the GPU */
	} rows[] = {
		{{50, 50, 50}, {33, 33, 33}},
		{{80, 40}, {67, 33}},
		{{100, 100, 100, 100}, {25, 25, 25, 25}},
		{{90, 60, 30}, {50, 33, 17}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		rig_init(1);
		for (int j = 0; j < 4 && rows[i].caps[j] > 0; j++)
			rig_add(rows[i].caps[j], FOREVER);
		rig_run(10 * NS_PER_S);
		for (int j = 0; j < rig.n; j++)
			assert_near(rig.tenants[j].sched.busy_ns,
				    rows[i].shares_pct[j] * (NS_PER_S / 10), NS_PER_S / 10);
	}
}

TEST(no_limit_counts_as_100_among_others)
{
	struct tenant *free_one = rig_add(0, FOREVER), *capped = rig_add(100, FOREVER);

	rig_run(NS_PER_S);
	assert_near(free_one->sched.busy_ns, NS_PER_S / 2, SCHED_ROUND_NS);
	assert_near(capped->sched.busy_ns, NS_PER_S / 2, SCHED_ROUND_NS);
}

TEST(a_saved_slice_does_not_reduce_the_share_of_others)
{
	struct tenant *busy = rig_add(50, FOREVER);

	for (int i = 0; i < 10; i++)
		rig_add(5, 0);
	rig_run(5 * SLOT);
	for (int i = 1; i < rig.n; i++) {
		rig_wake(&rig.tenants[i]);
	}
	rig_run(5 * SLOT);
	assert_int_equal(busy->sched.busy_ns, 500 * NS_PER_MS);
}

TEST(a_new_vgpu_gets_the_slice_for_the_rest_of_the_slot)
{
	struct tenant *newcomer;

	rig_add(50, FOREVER);
	rig_run(75 * NS_PER_MS);
	newcomer = rig_add(40, FOREVER);
	rig_run(25 * NS_PER_MS);
	assert_int_equal(newcomer->sched.busy_ns, 10 * NS_PER_MS);
	rig_run(SLOT);
	assert_int_equal(newcomer->sched.busy_ns, 50 * NS_PER_MS);
}

TEST(a_vgpu_that_is_added_after_the_end_of_the_slot_waits_for_the_next)
{
	uint64_t run_ns = 0;
	struct tenant *late;

	for (int i = 0; i < 2; i++) {
		rig.now_ns = SLOT + (uint64_t)i; /* sched_open_slot() is late */
		late = rig_add(100, FOREVER);
		assert_int_equal(late->sched.slice_ns, 0);
		assert_null(sched_pick(&rig.sched, &run_ns));
	}
	sched_open_slot(&rig.sched, rig.now_ns);
	assert_int_equal(late->sched.slice_ns, SLOT);
}

/* The structs of a driver are allocated memory with any content. */
TEST(starting_and_adding_set_every_member)
{
	static const char *const disciplines[] = {"cap", "weight", "guarantee"};

	for (size_t d = 0; d < ARRAY_SIZE(disciplines); d++) {
		struct {
			const struct tenant *ran;
			uint64_t now_ns;
			int n_runnable;
		} clean[1000];
		struct rig first;

		rig_init_with(disciplines[d], 1);
		for (int i = 0; i < 3; i++)
			rig_add(20 * (unsigned int)(i + 1), FOREVER);
		for (int step = 0; step < 1000; step++) {
			clean[step].ran = rig_step(NS_PER_S);
			clean[step].now_ns = rig.now_ns;
			clean[step].n_runnable = (int)rig.sched.n_runnable;
		}
		first = rig;

		rig_init_with(disciplines[d], 1);
		memset(&rig.sched, 0xa5, sizeof(rig.sched));
		sched_start(&rig.sched, sched_discipline_find(disciplines[d]), 0);
		for (int i = 0; i < 3; i++) {
			struct tenant *tenant = &rig.tenants[rig.n++];

			memset(&tenant->sched, 0xa5, sizeof(tenant->sched));
			tenant->work_ns = tenant->arrives_ns = FOREVER;
			sched_add(&rig.sched, &tenant->sched, 20 * (unsigned int)(i + 1), 0);
			sched_set_pending(&rig.sched, &tenant->sched, true);
		}
		for (int step = 0; step < 1000; step++) {
			assert_ptr_equal(rig_step(NS_PER_S), clean[step].ran);
			assert_int_equal(rig.now_ns, clean[step].now_ns);
			assert_int_equal(rig.sched.n_runnable, clean[step].n_runnable);
		}
		for (int i = 0; i < 3; i++) {
			struct sched_vgpu *vgpu = &rig.tenants[i].sched;

			assert_int_equal(vgpu->busy_ns, first.tenants[i].sched.busy_ns);
			assert_int_equal(sched_allotted_ns(vgpu, NS_PER_S),
					 sched_allotted_ns(&first.tenants[i].sched, NS_PER_S));
			assert_int_equal(vgpu->cap_pct, 20 * (i + 1));
			assert_int_equal(sched_set_initial_cap(vgpu, 7), 0);
		}
	}
}

TEST(a_new_vgpu_is_last_in_the_round)
{
	uint64_t run_ns = 0;

	rig_add(20, FOREVER);
	rig_add(20, FOREVER);
	sched_pick(&rig.sched, &run_ns);
	assert_ptr_equal(rig.sched.turn, &rig.tenants[1].sched);
	rig_add(20, FOREVER);
	sched_account(&rig.sched, rig.sched.turn, run_ns);
	sched_pick(&rig.sched, &run_ns);
	assert_ptr_equal(rig.sched.turn, &rig.tenants[0].sched);
	sched_account(&rig.sched, rig.sched.turn, run_ns);
	sched_pick(&rig.sched, &run_ns);
	assert_ptr_equal(rig.sched.turn, &rig.tenants[2].sched);
}

TEST(removing_the_running_vgpu_lets_the_next_run)
{
	uint64_t run_ns = 0;

	for (int i = 0; i < 3; i++)
		rig_add(20, FOREVER);
	assert_ptr_equal(sched_pick(&rig.sched, &run_ns), &rig.tenants[1].sched);
	sched_remove(&rig.sched, &rig.tenants[1].sched);
	assert_ptr_equal(sched_pick(&rig.sched, &run_ns), &rig.tenants[2].sched);
	sched_remove(&rig.sched, &rig.tenants[0].sched);
	assert_ptr_equal(sched_pick(&rig.sched, &run_ns), &rig.tenants[2].sched);
	sched_remove(&rig.sched, &rig.tenants[2].sched);
	assert_null(sched_pick(&rig.sched, &run_ns));
	sched_open_slot(&rig.sched, SLOT);
	for (int i = 0; i < 3; i++)
		assert_true(!rig.tenants[i].sched.next && !rig.tenants[i].sched.prev);
}

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

TEST(a_discipline_is_found_by_its_name)
{
	struct sched sched;

	assert_ptr_equal(sched_discipline_find("cap"), &sched_disciplines[0]);
	assert_string_equal(sched_discipline_find("weight")->name, "weight");
	assert_null(sched_discipline_find("cap "));
	assert_null(sched_discipline_find("ca"));
	assert_null(sched_discipline_find(""));
	sched_start(&sched, NULL, 0);
	assert_string_equal(sched.discipline->name, "cap");
}

TEST(busy_vgpus_share_the_whole_gpu_by_weight)
{
	static const struct {
		unsigned int caps[4];
		unsigned int shares_pct[4];
	} rows[] = {
		{{20, 30, 50}, {20, 30, 50}}, {{10, 10}, {50, 50}},
		{{10, 30}, {25, 75}},	      {{100, 100, 100, 100}, {25, 25, 25, 25}},
		{{1, 99}, {1, 99}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		rig_init_with("weight", 1);
		for (int j = 0; j < 4 && rows[i].caps[j] > 0; j++)
			rig_add(rows[i].caps[j], FOREVER);
		rig_run(10 * NS_PER_S);
		for (int j = 0; j < rig.n; j++)
			assert_near(rig.tenants[j].sched.busy_ns,
				    rows[i].shares_pct[j] * (NS_PER_S / 10), 2 * SCHED_ROUND_NS);
	}
}

TEST(the_time_of_an_idle_vgpu_is_used_by_others)
{
	struct tenant *busy;

	rig_init_with("weight", 1);
	rig_add(90, 0);
	busy = rig_add(1, FOREVER);
	rig_run(3 * NS_PER_S);
	assert_int_equal(busy->sched.busy_ns, 3 * NS_PER_S);
	/* The allotted time is still computed from the cap. */
	assert_int_equal(sched_allotted_ns(&busy->sched, rig.now_ns), 30 * NS_PER_MS);
}

TEST(no_limit_has_the_weight_100)
{
	rig_init_with("weight", 1);
	rig_add(0, FOREVER);
	rig_add(100, FOREVER);
	rig_run(100 * NS_PER_S);
	assert_near(rig.tenants[0].sched.busy_ns, 50 * NS_PER_S, 2 * SCHED_ROUND_NS);
}

TEST(equal_vgpus_run_in_the_order_of_the_round)
{
	struct tenant *second, *third;

	rig_init_with("weight", 1);
	rig_add(50, FOREVER);
	second = rig_add(50, FOREVER);
	third = rig_add(50, FOREVER);
	assert_ptr_equal(rig_step(NS_PER_S), second);
	assert_ptr_equal(rig_step(NS_PER_S), third);
	assert_ptr_equal(rig_step(NS_PER_S), &rig.tenants[0]);
	assert_ptr_equal(rig_step(NS_PER_S), second);
}

TEST(an_idle_time_gives_no_advantage)
{
	struct tenant *rested;

	rig_init_with("weight", 1);
	rig_add(50, FOREVER);
	rested = rig_add(50, 0);
	rig_run(5 * NS_PER_S);
	rig_wake(rested);
	rig_run(NS_PER_S);
	assert_near(rested->sched.busy_ns, NS_PER_S / 2, SCHED_ROUND_NS);
}

TEST(an_overrun_is_deducted)
{
	struct tenant *greedy, *other;

	rig_init_with("weight", 1);
	greedy = rig_add(50, FOREVER);
	other = rig_add(50, FOREVER);
	sched_account(&rig.sched, &greedy->sched, 300 * NS_PER_MS);
	rig_run(700 * NS_PER_MS);
	assert_near(greedy->sched.busy_ns, NS_PER_S / 2, SCHED_ROUND_NS);
	assert_near(other->sched.busy_ns, NS_PER_S / 2, SCHED_ROUND_NS);
}

TEST(a_weight_takes_effect_at_the_next_slot)
{
	rig_init_with("weight", 1);
	rig_add(50, FOREVER);
	rig_add(50, FOREVER);
	rig_run(NS_PER_S);
	sched_set_cap(&rig.tenants[0].sched, 25, rig.now_ns);
	sched_set_cap(&rig.tenants[1].sched, 75, rig.now_ns);
	rig_run(NS_PER_S + SLOT);
	assert_near(rig.tenants[0].sched.busy_ns, 800 * NS_PER_MS, 2 * SCHED_ROUND_NS);
}

TEST(tags_may_wrap_around)
{
	for (int sleeper = 0; sleeper < 2; sleeper++) {
		struct tenant *asleep = NULL;

		rig_init_with("weight", 1);
		rig.sched.tag = UINT64_MAX - ((uint64_t)NS_PER_S << 14);
		rig_add(20, FOREVER);
		rig_add(80, FOREVER);
		if (sleeper)
			asleep = rig_add(100, 0);
		rig_run(4 * NS_PER_S);
		assert_true(rig.tenants[0].sched.tag < UINT64_MAX / 2);
		assert_near(rig.tenants[0].sched.busy_ns, 800 * NS_PER_MS, 2 * SCHED_ROUND_NS);
		if (!asleep)
			continue;
		rig_wake(asleep);
		rig_run(NS_PER_S);
		assert_near(asleep->sched.busy_ns, NS_PER_S / 2, 2 * SCHED_ROUND_NS);
	}
}

/* Lets @tenant run in all slots of @ns. */
static void run_alone(struct tenant *tenant, uint64_t ns)
{
	uint64_t run_ns;

	for (uint64_t t = 0; t < ns; t += SLOT) {
		assert_ptr_equal(sched_pick(&rig.sched, &run_ns), &tenant->sched);
		sched_account(&rig.sched, &tenant->sched, SLOT);
		rig.now_ns += SLOT;
		sched_open_slot(&rig.sched, rig.now_ns);
	}
}

/* At weight 1, the difference of two tags overflows after 2.4 hours. */
TEST(after_hours_a_vgpu_that_wakes_or_joins_gets_its_share)
{
	for (int joins = 0; joins < 2; joins++) {
		struct tenant *busy, *other = NULL;

		rig_init_with("weight", 1);
		busy = rig_add(1, FOREVER);
		if (!joins)
			other = rig_add(99, 0);
		run_alone(busy, 3 * 3600 * NS_PER_S);
		if (joins)
			other = rig_add(99, FOREVER);
		rig_wake(other);
		rig_run(NS_PER_S);
		assert_near(other->sched.busy_ns, 990 * NS_PER_MS, 2 * SCHED_ROUND_NS);
	}
}

TEST(the_gpu_never_idles_and_no_vgpu_starves)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct tenant *smallest;
		uint64_t weights = 1;

		rig_init_with("weight", seed);
		smallest = rig_add(1, FOREVER);
		for (int i = 0; i < 1 + (int)seed % 9; i++)
			weights += rig_add_bursty(1 + (unsigned int)draw(100))->sched.cap_pct;
		while (rig.now_ns < 5 * NS_PER_S)
			assert_non_null(rig_step(5 * NS_PER_S));
		assert_true(smallest->sched.busy_ns + 2 * SCHED_ROUND_NS > 5 * NS_PER_S / weights);
	}
}
