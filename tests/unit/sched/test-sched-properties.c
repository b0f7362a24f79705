/* SPDX-License-Identifier: MIT */
/* The vGPU scheduler: properties that hold over any second with any tenants. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "tests/unit/sched/test-sched-rig.h"
#include "tests/unit/unit.h"

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
