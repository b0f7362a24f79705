/* SPDX-License-Identifier: MIT */
/*
 * The vGPU scheduler: properties that hold over any second with any tenants. The discipline
 * "guarantee": a cap is always available, the ceiling limits the total time, and spare time is
 * shared in proportion to the caps.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "tests/unit/kernel/sched/test-sched-rig.h"

/* Writes random caps for @n tenants, each at least 1, with the sum @sum_pct, to @caps. */
static void draw_caps(unsigned int *caps, int n, unsigned int sum_pct)
{
	for (int i = 0; i < n; i++) {
		unsigned int most = sum_pct - (unsigned int)(n - 1 - i);

		caps[i] = i + 1 == n ? most : 1 + (unsigned int)draw((most + 1) / 2);
		sum_pct -= caps[i];
	}
}

TEST(every_busy_vgpu_with_slice_runs_within_one_round)
{
	for (uint64_t seed = 1; seed <= 80; seed++) {
		int waited[TENANTS_MAX] = {0}; /* turns of others while vGPU i can run */
		const struct sched_vgpu *last = NULL;

		rig_init_with(seed <= 40 ? "cap" : "guarantee", seed);
		for (int i = 0; i < 2 + (int)seed % 9; i++)
			sched_set_ceiling(&rig_add_bursty((unsigned int)draw(100))->sched,
					  (unsigned int)draw(101));
		while (rig.now_ns < 3 * NS_PER_S) {
			struct tenant *ran = rig_step(3 * NS_PER_S);

			if (!ran || &ran->sched == last)
				continue;
			last = &ran->sched;
			for (int i = 0; i < rig.n; i++) {
				const struct sched_vgpu *v = &rig.tenants[i].sched;
				bool can = v->pending && (v->slice_ns > 0 || v->cap_pct == 0);

				waited[i] = can && v != last ? waited[i] + 1 : 0;
				assert_true(waited[i] < rig.n);
			}
		}
	}
}

/* The cumulative run time of the watched tenant after each step. */
struct past {
	uint64_t at_ns[200000];
	uint64_t busy_ns[200000];
	size_t n, tail;
};

static uint64_t got_in_the_last_second(struct past *past, uint64_t busy_ns)
{
	uint64_t from_ns = rig.now_ns - NS_PER_S;
	uint64_t then_ns;

	while (past->at_ns[past->tail + 1] <= from_ns)
		past->tail++;
	/* Between two steps, the tenant ran all of the time or not at all. */
	then_ns = past->busy_ns[past->tail];
	if (past->busy_ns[past->tail + 1] > then_ns)
		then_ns += from_ns - past->at_ns[past->tail];
	return busy_ns - then_ns;
}

/* Runs one step. Returns false if no whole second has passed since the beginning. */
static bool step(struct past *past, const struct sched_vgpu *busy, uint64_t end_ns,
		 uint64_t *ret_got_ns)
{
	past->at_ns[past->n] = rig.now_ns;
	past->busy_ns[past->n++] = busy->busy_ns;
	assert_true(past->n < ARRAY_SIZE(past->at_ns));
	rig_step(end_ns);
	past->at_ns[past->n] = rig.now_ns;
	past->busy_ns[past->n] = busy->busy_ns;
	if (rig.now_ns < NS_PER_S)
		return false;
	*ret_got_ns = got_in_the_last_second(past, busy->busy_ns);
	return true;
}

TEST(over_any_second_a_busy_vgpu_gets_its_cap_within_one_slice)
{
	struct past *past = malloc(sizeof(*past));

	assert_non_null(past);
	for (uint64_t seed = 1; seed <= 60; seed++) {
		unsigned int caps[TENANTS_MAX];
		struct tenant *busy;
		uint64_t slice_ns;
		int n = 2 + (int)seed % 12;

		rig_init(seed);
		draw_caps(caps, n, 100);
		busy = rig_add(caps[0], FOREVER);
		slice_ns = caps[0] * (SLOT / 100);
		for (int i = 1; i < n; i++)
			rig_add_bursty(caps[i]);
		past->n = 0;
		past->tail = 0;
		while (rig.now_ns < 6 * NS_PER_S) {
			uint64_t got_ns;

			if (step(past, &busy->sched, 6 * NS_PER_S, &got_ns))
				assert_near(got_ns, 10 * slice_ns, slice_ns);
		}
	}
	free(past);
}

TEST(no_vgpu_gets_more_than_its_cap_in_a_second)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		uint64_t before_ns[TENANTS_MAX] = {0};

		rig_init(seed);
		for (int i = 0; i < 8; i++)
			rig_add_bursty(1 + (unsigned int)draw(40));
		for (int second = 0; second < 6; second++) {
			rig_run(NS_PER_S);
			for (int i = 0; i < rig.n; i++) {
				const struct sched_vgpu *v = &rig.tenants[i].sched;

				assert_true(v->busy_ns - before_ns[i] <=
					    v->cap_pct * (NS_PER_S / 100));
				before_ns[i] = v->busy_ns;
			}
		}
	}
}

/* The guarantee depends neither on other vGPUs nor on the time that the vGPU borrows. */
TEST(over_any_second_a_busy_vgpu_gets_at_least_its_guarantee)
{
	struct past *past = malloc(sizeof(*past));

	assert_non_null(past);
	for (uint64_t seed = 1; seed <= 60; seed++) {
		unsigned int caps[TENANTS_MAX];
		struct tenant *busy;
		int n = 2 + (int)seed % 12;

		rig_init_with("guarantee", seed);
		draw_caps(caps, n, 100);
		busy = rig_add(caps[0], FOREVER);
		sched_set_ceiling(&busy->sched, caps[0] + (unsigned int)draw(101 - caps[0]));
		for (int i = 1; i < n; i++)
			sched_set_ceiling(&rig_add_bursty(caps[i])->sched, (unsigned int)draw(101));
		past->n = 0;
		past->tail = 0;
		while (rig.now_ns < 6 * NS_PER_S) {
			uint64_t got_ns;

			if (step(past, &busy->sched, 6 * NS_PER_S, &got_ns))
				assert_true(got_ns >= 9 * caps[0] * (SLOT / 100));
		}
	}
	free(past);
}

static void draw_ceilings(void)
{
	for (int i = 0; i < rig.n; i++)
		sched_set_ceiling(&rig.tenants[i].sched,
				  draw(4) == 0 ? 0 : 1 + (unsigned int)draw(100));
}

TEST(no_vgpu_gets_more_than_its_ceiling_in_a_second)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		uint64_t before_ns[TENANTS_MAX] = {0};

		rig_init_with("guarantee", seed);
		for (int i = 0; i < 8; i++)
			rig_add_bursty(1 + (unsigned int)draw(40));
		draw_ceilings();
		for (int second = 0; second < 6; second++) {
			rig_run(NS_PER_S);
			for (int i = 0; i < rig.n; i++) {
				const struct sched_vgpu *v = &rig.tenants[i].sched;
				unsigned int limit_pct = v->ceiling_pct == 0 ? 100 : v->ceiling_pct;

				if (v->cap_pct > limit_pct)
					limit_pct = v->cap_pct;
				assert_true(v->busy_ns - before_ns[i] <=
					    limit_pct * (NS_PER_S / 100));
				before_ns[i] = v->busy_ns;
			}
		}
	}
}

TEST(the_gpu_idles_only_if_every_vgpu_is_idle_or_at_its_ceiling)
{
	uint64_t idle_ns = 0;

	for (uint64_t seed = 1; seed <= 40; seed++) {
		rig_init_with("guarantee", seed);
		for (int i = 0; i < 2 + (int)seed % 7; i++)
			rig_add_bursty(1 + (unsigned int)draw(30));
		draw_ceilings();
		rig_run(SLOT);
		while (rig.now_ns < 5 * NS_PER_S) {
			uint64_t before_ns = rig.now_ns;
			bool wanted = false;

			for (int i = 0; i < rig.n; i++) {
				const struct sched_vgpu *v = &rig.tenants[i].sched;

				wanted |= v->pending && (v->ceiling_ns > 0 || v->ceiling_pct == 0 ||
							 v->slice_ns > 0);
			}
			if (rig_step(5 * NS_PER_S))
				continue;
			assert_false(wanted);
			idle_ns += rig.now_ns - before_ns;
		}
	}
	assert_true(idle_ns > 0);
}

/* vGPUs that always have work and have no ceiling, beside bursty vGPUs. */
TEST(borrowed_times_are_proportional_to_caps)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		unsigned int caps[TENANTS_MAX];
		double borrowed_ns = 0, first = 0;
		int busy = 2 + (int)seed % 4;

		rig_init_with("guarantee", seed);
		draw_caps(caps, busy + 3, 60);
		for (int i = 0; i < busy + 3; i++) {
			caps[i] += 3; /* the sum is at most 84 */
			if (i < busy)
				rig_add(caps[i], FOREVER);
			else
				rig_add_bursty(caps[i]);
			sched_set_ceiling(&rig.tenants[i].sched, 0);
		}
		rig_run(30 * NS_PER_S);
		for (int i = 0; i < busy; i++) {
			const struct sched_vgpu *v = &rig.tenants[i].sched;

			borrowed_ns = (double)(v->busy_ns - sched_allotted_ns(v, rig.now_ns));
			assert_true(borrowed_ns > 0);
			if (i == 0)
				first = borrowed_ns / caps[0];
			assert_true(borrowed_ns / caps[i] > 0.98 * first &&
				    borrowed_ns / caps[i] < 1.02 * first);
		}
	}
}

/* Caps whose sum exceeds 100 are reduced by the same factor. */
TEST(caps_above_100_in_sum_are_proportions)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		uint64_t sum_pct = 0;

		rig_init_with(seed % 2 == 0 ? "cap" : "guarantee", seed);
		while (rig.n < 3 + (int)seed % 20 || sum_pct < 100)
			sum_pct += rig_add(1 + (unsigned int)draw(100), FOREVER)->sched.cap_pct;
		rig_run(10 * NS_PER_S);
		for (int i = 0; i < rig.n; i++) {
			const struct sched_vgpu *v = &rig.tenants[i].sched;

			assert_near(v->busy_ns, 10 * NS_PER_S * v->cap_pct / sum_pct,
				    NS_PER_S / 10);
		}
	}
}

/*
 * GVT-g switches vGPUs only at ticks of one millisecond and therefore overruns nearly every turn.
 * Work that cannot be preempted makes turns even longer. Overruns are deducted from the slice, so
 * the shares are correct within one percentage point.
 */
TEST(overruns_do_not_change_shares)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		uint64_t until_ns = 0, run_ns = 0, work_max_ns = seed % 2 * 4 * NS_PER_MS;
		unsigned int caps[TENANTS_MAX];
		struct sched_vgpu *on = NULL;
		int n = 2 + (int)seed % 7;

		rig_init(seed);
		draw_caps(caps, n, 100);
		for (int i = 0; i < n; i++)
			rig_add(caps[i], FOREVER);
		for (; rig.now_ns < 20 * NS_PER_S; rig.now_ns += NS_PER_MS) {
			if (rig.now_ns >= rig.sched.slot_end_ns)
				sched_open_slot(&rig.sched, rig.now_ns);
			if (rig.now_ns >= until_ns) {
				on = sched_pick(&rig.sched, &run_ns);
				until_ns = rig.now_ns;
				if (work_max_ns > 0)
					until_ns += draw(work_max_ns);
			}
			if (on)
				sched_account(&rig.sched, on, NS_PER_MS);
		}
		for (int i = 0; i < n; i++)
			assert_near(rig.tenants[i].sched.busy_ns, caps[i] * (NS_PER_S / 5),
				    20 * NS_PER_S / 100);
	}
}

static void assert_ring_is_whole(const bool *in, int n_in)
{
	const struct sched_vgpu *v = rig.sched.turn;
	int n = 0;

	if (n_in == 0) {
		assert_null(v);
		return;
	}
	do {
		ptrdiff_t i = (const struct tenant *)(const void *)v - rig.tenants;

		assert_true(i >= 0 && i < TENANTS_MAX && in[i]);
		assert_ptr_equal(v->next->prev, v);
		v = v->next;
		assert_true(++n <= n_in);
	} while (v != rig.sched.turn);
	assert_int_equal(n, n_in);
}

TEST(adding_and_removing_during_turns_keeps_the_ring_valid)
{
	bool in[TENANTS_MAX] = {false};
	int n_in = 0;

	rig_init(7);
	rig.n = TENANTS_MAX;
	for (int i = 0; i < TENANTS_MAX; i++)
		rig.tenants[i].arrives_ns = FOREVER;
	for (int step = 0; step < 20000; step++) {
		int i = (int)draw(TENANTS_MAX);
		struct tenant *tenant = &rig.tenants[i];

		if (in[i]) {
			sched_remove(&rig.sched, &tenant->sched);
			sched_set_pending(&rig.sched, &tenant->sched, false);
		} else {
			sched_add(&rig.sched, &tenant->sched, (unsigned int)draw(101), rig.now_ns);
			tenant->work_ns = draw(3) * NS_PER_MS;
			sched_set_pending(&rig.sched, &tenant->sched, tenant->work_ns > 0);
		}
		in[i] = !in[i];
		n_in += in[i] ? 1 : -1;
		rig_run(draw(NS_PER_MS));
		assert_ring_is_whole(in, n_in);
	}
}

/* --- the discipline "guarantee" --- */

#define PCT_OF_A_SECOND (NS_PER_S / 100)

static struct sched_vgpu *add(unsigned int cap_pct, unsigned int ceiling_pct, uint64_t work_ns)
{
	struct sched_vgpu *vgpu = &rig_add(cap_pct, work_ns)->sched;

	sched_set_ceiling(vgpu, ceiling_pct);
	return vgpu;
}

static void give_work(struct sched_vgpu *vgpu)
{
	rig_wake((struct tenant *)(void *)vgpu);
}

/* Runs to the next beginning of a second, so that ceilings and caps are in force. */
static void begin_second(void)
{
	do
		rig_run(SLOT);
	while (rig.sched.slot != 0);
}

/* Returns the time that @vgpu runs in the next @ns. */
static uint64_t gain(const struct sched_vgpu *vgpu, uint64_t ns)
{
	uint64_t before_ns = vgpu->busy_ns;

	rig_run(ns);
	return vgpu->busy_ns - before_ns;
}

TEST(spare_time_is_shared_in_proportion_to_caps_up_to_ceilings)
{
	static const struct {
		unsigned int caps[4], ceilings[4];
		unsigned int shares_pct[4];
	} rows[] = {
		{{20}, {50}, {50}},
		{{20}, {0}, {100}},
		{{20}, {20}, {20}},
		{{10, 30}, {0, 0}, {25, 75}},
		{{10, 30}, {0, 50}, {50, 50}},
		{{10, 20, 30}, {100, 100, 100}, {17, 33, 50}},
		{{10, 20, 30}, {12, 100, 100}, {12, 35, 53}},
		{{1, 49}, {100, 100}, {2, 98}},
		{{60, 60}, {100, 100}, {50, 50}}, /* no time is spare */
		{{80, 40}, {100, 100}, {67, 33}},
		{{30, 70, 20, 60}, {0, 0, 0, 0}, {17, 39, 11, 33}},
		{{0, 100}, {0, 100}, {50, 50}},
		{{50, 10}, {30, 20}, {50, 20}}, /* a cap prevails over a smaller ceiling */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		rig_init_with("guarantee", 1);
		for (int j = 0; j < 4 && rows[i].shares_pct[j] > 0; j++)
			add(rows[i].caps[j], rows[i].ceilings[j], FOREVER);
		begin_second();
		for (int j = 0; j < rig.n; j++)
			rig.tenants[j].sched.busy_ns = 0;
		rig_run(10 * NS_PER_S);
		for (int j = 0; j < rig.n; j++)
			assert_near(rig.tenants[j].sched.busy_ns,
				    rows[i].shares_pct[j] * 10 * PCT_OF_A_SECOND,
				    6 * PCT_OF_A_SECOND);
	}
}

TEST(a_vgpu_with_new_work_gets_its_guarantee_at_once)
{
	struct sched_vgpu *idle, *busy;

	rig_init_with("guarantee", 1);
	busy = add(40, 100, FOREVER);
	idle = add(60, 60, 0);
	begin_second();
	assert_int_equal(gain(busy, NS_PER_S + 5 * SLOT + 45 * NS_PER_MS),
			 NS_PER_S + 5 * SLOT + 45 * NS_PER_MS);
	assert_true(busy->borrows);
	give_work(idle);
	/* The turn of the borrower ends. The rest of this slot is less than the saved slice. */
	assert_int_equal(gain(idle, 55 * NS_PER_MS), 55 * NS_PER_MS);
	begin_second();
	assert_int_equal(gain(idle, NS_PER_S), 60 * PCT_OF_A_SECOND);
	assert_int_equal(gain(busy, NS_PER_S), 40 * PCT_OF_A_SECOND);
}

TEST(borrowed_time_does_not_reduce_the_guarantee)
{
	struct sched_vgpu *borrower, *other;

	rig_init_with("guarantee", 1);
	borrower = add(50, 0, FOREVER);
	other = add(50, 0, 0);
	begin_second();
	assert_int_equal(gain(borrower, 5 * SLOT), 5 * SLOT);
	give_work(other);
	/* The other vGPU has saved five slices, the borrower has only the slice of each slot. */
	assert_near(gain(borrower, SLOT), SLOT / 2, 3 * NS_PER_MS);
	assert_near(gain(borrower, SLOT), SLOT / 2, 3 * NS_PER_MS);
	begin_second();
	assert_int_equal(gain(borrower, NS_PER_S), NS_PER_S / 2);
}

/* A workload that cannot be preempted runs on after the turn of its vGPU. */
TEST(only_an_overrun_of_a_guaranteed_turn_is_a_debt)
{
	struct sched_vgpu *greedy, *other;
	uint64_t run_ns = 0;

	rig_init_with("guarantee", 1);
	greedy = add(10, 100, FOREVER);
	rig_run(NS_PER_S + SLOT - 1);
	assert_int_equal(greedy->slice_ns, 0);
	rig_run(1);
	other = add(90, 90, FOREVER);
	assert_ptr_equal(sched_pick(&rig.sched, &run_ns), other);
	sched_account(&rig.sched, greedy, 16 * NS_PER_MS);
	assert_int_equal(greedy->slice_ns, 10 * (int64_t)NS_PER_MS);

	begin_second();
	while (sched_pick(&rig.sched, &run_ns) != greedy)
		rig_step(FOREVER);
	assert_false(greedy->borrows);
	sched_account(&rig.sched, greedy, 16 * NS_PER_MS);
	assert_true(greedy->slice_ns < 0);
	assert_int_equal(gain(greedy, SLOT - 16 * NS_PER_MS), 0);
}

TEST(idle_time_gives_no_claim_to_spare_time)
{
	struct sched_vgpu *other, *steady;

	rig_init_with("guarantee", 1);
	steady = add(20, 0, FOREVER);
	other = add(20, 0, 0);
	rig_run(20 * NS_PER_S);
	give_work(other);
	assert_near(gain(other, NS_PER_S), NS_PER_S / 2, 2 * NS_PER_MS);

	/* The same for a vGPU that was at its ceiling while another one borrowed. */
	sched_set_ceiling(other, 20);
	rig_run(20 * NS_PER_S);
	sched_set_ceiling(other, 0);
	begin_second();
	assert_near(gain(steady, NS_PER_S), NS_PER_S / 2, 2 * NS_PER_MS);
}

TEST(tags_may_wrap_around)
{
	struct sched_vgpu *a, *b, *idle;

	rig_init_with("guarantee", 1);
	rig.sched.tag = UINT64_MAX - ((uint64_t)NS_PER_S << 14);
	a = add(10, 0, FOREVER);
	b = add(40, 0, FOREVER);
	idle = add(50, 0, 0);
	begin_second();
	rig_run(4 * NS_PER_S);
	assert_true(a->tag < UINT64_MAX / 2);
	assert_near(gain(a, NS_PER_S), 20 * PCT_OF_A_SECOND, 5 * NS_PER_MS);
	assert_near(gain(b, NS_PER_S), 80 * PCT_OF_A_SECOND, 5 * NS_PER_MS);
	give_work(idle);
	assert_near(gain(idle, NS_PER_S), 50 * PCT_OF_A_SECOND, 5 * NS_PER_MS);
	assert_near(gain(a, NS_PER_S), 10 * PCT_OF_A_SECOND, 5 * NS_PER_MS);
}

TEST(the_ceiling_follows_the_initial_cap_until_it_is_set)
{
	struct sched_vgpu *vgpu;

	rig_init_with("guarantee", 1);
	vgpu = &rig_add(20, FOREVER)->sched;
	assert_int_equal(vgpu->ceiling_pct, 20);
	assert_int_equal(sched_set_initial_cap(vgpu, 35), 0);
	assert_int_equal(vgpu->next_ceiling_pct, 35);
	sched_set_cap(vgpu, 10, 0);
	begin_second();
	assert_int_equal(gain(vgpu, NS_PER_S), 35 * PCT_OF_A_SECOND);
	sched_set_ceiling(vgpu, 60);
	begin_second();
	assert_int_equal(gain(vgpu, NS_PER_S), 60 * PCT_OF_A_SECOND);

	vgpu = &rig_add(20, 0)->sched;
	sched_set_ceiling(vgpu, 60);
	assert_int_equal(sched_set_initial_cap(vgpu, 40), 0);
	assert_int_equal(vgpu->next_ceiling_pct, 60);
}

/* A new ceiling neither extends nor ends the limit of the current slot. */
TEST(a_new_ceiling_is_in_force_from_the_next_slot_on)
{
	static const struct {
		unsigned int before, after;
		unsigned int at_once_pct; /* gain in the rest of the slot after it is set */
		unsigned int later_pct;	  /* gain in the next slot */
	} rows[] = {
		{0, 60, 100, 60}, {0, 10, 100, 10}, {20, 0, 0, 100},
		{20, 60, 0, 60},  {60, 20, 20, 20}, {60, 0, 20, 100},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sched_vgpu *vgpu;

		rig_init_with("guarantee", 1);
		vgpu = add(1, rows[i].before, FOREVER);
		begin_second();
		(void)gain(vgpu, SLOT / 2);
		sched_set_ceiling(vgpu, rows[i].after);
		/* With a ceiling, 50 % of the slot has been used already. */
		assert_int_equal(gain(vgpu, SLOT / 2), SLOT * rows[i].at_once_pct / 200);
		assert_int_equal(gain(vgpu, SLOT), SLOT * rows[i].later_pct / 100);
	}
}

TEST(without_a_ceiling_no_rest_is_saved_and_a_new_discipline_ends_a_debt)
{
	struct sched_vgpu *vgpu;

	rig_init_with("guarantee", 1);
	vgpu = add(1, 0, 0);
	assert_int_equal(rig.sched.n_runnable, 0);
	rig_run(5 * SLOT);
	assert_int_equal(vgpu->ceiling_ns, 0);
	sched_set_ceiling(vgpu, 10);
	rig_run(SLOT);
	assert_int_equal(vgpu->ceiling_ns, SLOT / 10);

	sched_account(&rig.sched, vgpu, SLOT);
	assert_true(vgpu->ceiling_ns < 0 && vgpu->slice_ns < 0);
	sched_set_discipline(&rig.sched, sched_sharing_find("hard"));
	assert_int_equal(vgpu->ceiling_ns, 0);
	assert_int_equal(vgpu->slice_ns, 0);
}

TEST(an_expired_lease_keeps_the_ceiling)
{
	struct sched_vgpu *vgpu, *other;

	rig_init_with("guarantee", 1);
	vgpu = add(30, 40, FOREVER);
	other = add(95, 100, FOREVER);
	sched_set_lease(vgpu, 3 * NS_PER_S / 2, 0);
	sched_set_cap(vgpu, 5, 0);
	begin_second();
	assert_int_equal(vgpu->cap_pct, 5);
	begin_second();
	assert_int_equal(vgpu->cap_pct, 30);
	assert_int_equal(vgpu->ceiling_pct, 40);
	sched_set_pending(&rig.sched, other, false);
	((struct tenant *)(void *)other)->work_ns = 0;
	assert_int_equal(gain(vgpu, NS_PER_S), 40 * PCT_OF_A_SECOND);
}

TEST(a_new_discipline_is_in_force_at_once)
{
	const struct sched_discipline *hard = sched_sharing_find("hard");
	const struct sched_discipline *guarantee = sched_sharing_find("guarantee");
	struct sched_vgpu *vgpu;

	rig_init_with("cap", 1);
	sched_set_discipline(&rig.sched, guarantee); /* without vGPUs */
	sched_set_discipline(&rig.sched, hard);
	vgpu = add(20, 50, FOREVER);
	begin_second();
	assert_int_equal(gain(vgpu, 4 * SLOT), 80 * NS_PER_MS);
	sched_set_discipline(&rig.sched, guarantee);
	/* The rest of the ceiling of this second is available. */
	assert_int_equal(gain(vgpu, 6 * SLOT), 420 * NS_PER_MS);
	assert_int_equal(gain(vgpu, NS_PER_S), 50 * PCT_OF_A_SECOND);
	sched_set_discipline(&rig.sched, hard);
	assert_int_equal(gain(vgpu, NS_PER_S), 20 * PCT_OF_A_SECOND);
	sched_set_discipline(&rig.sched, sched_discipline_find("weight"));
	assert_int_equal(gain(vgpu, NS_PER_S), NS_PER_S);
	rig_run(5 * SLOT);
	sched_set_discipline(&rig.sched, hard);
	/* The debt of this slot ends, and so does the share that was deducted from it. */
	assert_int_equal(gain(vgpu, 5 * SLOT), 80 * NS_PER_MS);
	assert_int_equal(vgpu->cap_pct, 20);
}

TEST(changes_of_the_discipline_create_no_time)
{
	const struct sched_discipline *hard = sched_sharing_find("hard");
	const struct sched_discipline *guarantee = sched_sharing_find("guarantee");

	for (uint64_t seed = 1; seed <= 40; seed++) {
		uint64_t before_ns[TENANTS_MAX] = {0};

		rig_init_with("cap", seed);
		for (int i = 0; i < 8; i++) {
			unsigned int cap_pct = 1 + (unsigned int)draw(24);

			sched_set_ceiling(&rig_add_bursty(cap_pct)->sched,
					  cap_pct + (unsigned int)draw(30));
		}
		for (int second = 0; second < 6; second++) {
			uint64_t end_ns = rig.now_ns + NS_PER_S;

			while (rig.now_ns < end_ns) {
				uint64_t ns = 1 + draw(2 * SLOT);

				rig_run(ns < end_ns - rig.now_ns ? ns : end_ns - rig.now_ns);
				sched_set_discipline(&rig.sched, draw(2) == 0 ? hard : guarantee);
			}
			for (int i = 0; i < rig.n; i++) {
				const struct sched_vgpu *v = &rig.tenants[i].sched;

				assert_true(v->busy_ns - before_ns[i] <=
					    v->ceiling_pct * PCT_OF_A_SECOND);
				before_ns[i] = v->busy_ns;
			}
		}
	}
}

TEST(the_words_of_sharing_name_rows)
{
	assert_string_equal(sched_sharing_find("hard")->name, "cap");
	assert_string_equal(sched_sharing_find("guarantee")->name, "guarantee");
	assert_null(sched_sharing_find("weight"));
	assert_null(sched_sharing_find("cap"));
	assert_string_equal(sched_sharing_find("guarantee\n")->name, "guarantee");
	for (const char *const *word = (const char *const[]){"", "\n", "har", "hardy", "hard\n\n",
							     "hard\nx", "\nhard", " hard", NULL};
	     *word; word++)
		assert_null(sched_sharing_find(*word));
	for (const char *const *name = (const char *const[]){"cap", "weight", "guarantee", NULL};
	     *name; name++)
		assert_string_equal(sched_sharing_name(sched_discipline_find(*name)),
				    strcmp(*name, "cap") == 0 ? "hard" : *name);
}
