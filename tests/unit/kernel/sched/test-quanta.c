/* SPDX-License-Identifier: MIT */
/* The scheduler of quanta: shares, priorities, the preemption timeout, and properties of any GPU.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/sched/quanta-gpu.h"
#include "tests/unit/unit.h"

#define N	5
#define PERCENT (NS_PER_S / 10) /* of ten seconds */

static struct quanta_gpu gpu;

/* A GPU with @n VFs, whose quanta begin with that of the PF. */
static void begin(const uint32_t *quanta, unsigned int n, enum quanta_priority priority)
{
	memset(&gpu, 0xa5, sizeof(gpu)); /* start() must initialize all that is used */
	quanta_gpu_start(&gpu, n, 0);
	quanta_gpu_set_vfs(&gpu, n);
	quanta_gpu_set_priorities(&gpu, priority);
	for (unsigned int i = 0; i <= n; i++)
		quanta_set_quantum(&gpu.quanta, i, quanta[i]);
}

static void run(uint64_t ns)
{
	quanta_gpu_advance(&gpu, gpu.now_ns + ns);
}

static void assert_near(uint64_t value, uint64_t want, uint64_t tolerance)
{
	assert_in_range(value, want > tolerance ? want - tolerance : 0, want + tolerance);
}

TEST(shares_follow_from_quanta_loads_and_priority)
{
	static const struct {
		enum quanta_priority priority;
		uint32_t quanta[N];
		unsigned int loads_pct[N];
		unsigned int shares_pct[N]; /* active time */
	} rows[] = {
		/* all have work */
		{QUANTA_NORMAL, {1, 4, 6, 10}, {0, 100, 100, 100}, {0, 19, 29, 48}},
		{QUANTA_LOW, {1, 4, 6, 10}, {0, 100, 100, 100}, {0, 20, 30, 50}},
		/* idle time is unused, or shared in proportion */
		{QUANTA_NORMAL, {1, 20, 30, 49}, {0, 100, 0, 100}, {0, 20, 0, 49}},
		{QUANTA_LOW, {1, 20, 30, 50}, {0, 100, 0, 100}, {0, 29, 0, 71}},
		{QUANTA_LOW, {1, 20, 30, 50}, {0, 100, 0, 0}, {0, 100, 0, 0}},
		/* a small load gets what it needs; a turn ends with the work only under low */
		{QUANTA_LOW, {1, 40, 30, 30}, {0, 10, 100, 100}, {0, 10, 45, 45}},
		{QUANTA_NORMAL, {1, 40, 30, 29}, {0, 10, 100, 100}, {0, 10, 30, 29}},
		/* the PF is a participant */
		{QUANTA_NORMAL, {50, 25, 25}, {100, 100, 100}, {50, 25, 25}},
		{QUANTA_LOW, {50, 25, 25}, {0, 100, 100}, {0, 50, 50}},
		/* unlimited: the first function with work keeps the GPU */
		{QUANTA_LOW, {0, 0, 0}, {0, 100, 100}, {0, 100, 0}},
		{QUANTA_NORMAL, {0, 0, 0}, {0, 0, 100}, {0, 0, 100}},
		{QUANTA_LOW, {10, 0, 10}, {0, 40, 100}, {0, 40, 60}},
		{QUANTA_LOW, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		begin(rows[i].quanta, N - 1, rows[i].priority);
		for (unsigned int f = 0; f < N; f++)
			quanta_gpu_set_load(&gpu, f, rows[i].loads_pct[f]);
		run(10 * NS_PER_S);
		for (unsigned int f = 0; f < N; f++)
			assert_near(gpu.functions[f].active_ns, rows[i].shares_pct[f] * PERCENT,
				    PERCENT);
		assert_int_equal(gpu.quanta.elapsed_ns, 10 * NS_PER_S);
	}
}

TEST(allotted_time_is_the_part_of_the_quantum_in_the_round)
{
	static const uint32_t quanta[] = {10, 20, 30, 40};

	begin(quanta, 3, QUANTA_LOW);
	quanta_gpu_set_load(&gpu, 1, 100); /* uses all, as the others are idle */
	run(10 * NS_PER_S);
	for (unsigned int f = 0; f < 4; f++)
		assert_near(quanta_allotted_ns(&gpu.quanta, f), quanta[f] * PERCENT, 1000);
	assert_int_equal(gpu.functions[1].active_ns, 10 * NS_PER_S);

	/* All unlimited: equal parts. Without VFs the PF has all. */
	for (unsigned int f = 0; f < 4; f++)
		quanta_set_quantum(&gpu.quanta, f, 0);
	run(10 * NS_PER_S);
	assert_near(quanta_allotted_ns(&gpu.quanta, 3), (40 + 25) * PERCENT, 1000);
	quanta_gpu_set_vfs(&gpu, 0);
	run(10 * NS_PER_S);
	assert_near(quanta_allotted_ns(&gpu.quanta, 0), (10 + 25 + 100) * PERCENT, 1000);
	assert_near(quanta_allotted_ns(&gpu.quanta, 3), (40 + 25) * PERCENT, 1000);
}

TEST(a_changed_quantum_is_in_force_at_the_next_turn)
{
	static const uint32_t quanta[] = {1, 20, 30};

	begin(quanta, 2, QUANTA_LOW);
	quanta_gpu_set_load(&gpu, 1, 100);
	quanta_gpu_set_load(&gpu, 2, 100);
	run(10 * NS_PER_MS); /* in the turn of VF 1 */
	quanta_set_quantum(&gpu.quanta, 1, 5);
	run(10 * NS_PER_MS);
	assert_int_equal(gpu.functions[1].active_ns, 20 * NS_PER_MS);
	run(35 * NS_PER_MS); /* one round: 30 for VF 2, then 5 for VF 1 */
	assert_int_equal(gpu.functions[1].active_ns, 25 * NS_PER_MS);
	assert_int_equal(gpu.functions[2].active_ns, 30 * NS_PER_MS);
}

TEST(a_quantum_ends_an_unlimited_turn_except_of_endless_work)
{
	static const uint32_t quanta[] = {10, 0, 10};

	for (int endless = 0; endless < 2; endless++) {
		begin(quanta, 2, QUANTA_LOW);
		quanta_gpu_set_load(&gpu, 1, endless ? QUANTA_GPU_ENDLESS : 100);
		run(NS_PER_MS);
		quanta_gpu_set_load(&gpu, 2, 100);
		run(99 * NS_PER_MS);
		assert_int_equal(gpu.functions[2].active_ns, 0);
		quanta_set_quantum(&gpu.quanta, 1, 10);
		run(100 * NS_PER_MS);
		assert_int_equal(gpu.functions[2].active_ns, endless ? 0 : 50 * NS_PER_MS);
	}
}

TEST(endless_work_is_reset_at_the_end_of_the_preemption_timeout)
{
	static const uint32_t quanta[] = {1, 10, 10};
	static const struct {
		uint32_t timeout_us;
		unsigned int other_load_pct;
		uint64_t active_ms; /* of the endless work in one second */
		unsigned int load_pct;
	} rows[] = {
		{20000, 100, 30, 0},
		{1, 100, 10, 0},
		{0, 100, 1000, QUANTA_GPU_ENDLESS},   /* never preempted */
		{20000, 0, 1000, QUANTA_GPU_ENDLESS}, /* no other function has work */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		begin(quanta, 2, QUANTA_LOW);
		quanta_set_timeout(&gpu.quanta, 1, rows[i].timeout_us);
		quanta_gpu_set_load(&gpu, 1, QUANTA_GPU_ENDLESS);
		quanta_gpu_set_load(&gpu, 2, rows[i].other_load_pct);
		run(NS_PER_S);
		assert_near(gpu.functions[1].active_ns, rows[i].active_ms * NS_PER_MS, 1000);
		assert_int_equal(gpu.tenants[1].load_pct, rows[i].load_pct);
	}
	/* A turn without work under normal also needs the GPU. */

	begin(quanta, 2, QUANTA_NORMAL);
	quanta_set_timeout(&gpu.quanta, 1, 5000);
	quanta_gpu_set_load(&gpu, 1, QUANTA_GPU_ENDLESS);
	run(NS_PER_S);
	assert_int_equal(gpu.functions[1].active_ns, 15 * NS_PER_MS);
}

TEST(work_that_ends_in_the_preemption_timeout_is_not_reset)
{
	struct quanta_function functions[2];
	struct quanta quanta;
	uint64_t run_ns;

	quanta_start(&quanta, functions, 2);
	quanta_set_present(&quanta, 1, true);
	for (unsigned int f = 0; f < 2; f++)
		quanta_set_quantum(&quanta, f, 10);
	quanta_set_timeout(&quanta, 0, 4000);
	quanta_set_work(&quanta, 0, true, true);
	quanta_set_work(&quanta, 1, true, false);
	assert_ptr_equal(quanta_pick(&quanta, &run_ns), &functions[1]);
	assert_false(quanta_pass(&quanta, 10 * NS_PER_MS));
	assert_ptr_equal(quanta_pick(&quanta, &run_ns), &functions[0]);
	assert_false(quanta_pass(&quanta, 10 * NS_PER_MS));
	assert_ptr_equal(quanta_pick(&quanta, &run_ns), &functions[0]);
	assert_int_equal(run_ns, 4 * NS_PER_MS);
	assert_false(quanta_pass(&quanta, 3 * NS_PER_MS));
	quanta_set_work(&quanta, 0, false, false);
	assert_ptr_equal(quanta_pick(&quanta, &run_ns), &functions[1]);
	assert_int_equal(run_ns, 10 * NS_PER_MS);
}

TEST(a_high_pf_has_a_turn_after_each_other_turn)
{
	static const uint32_t quanta[] = {5, 20, 30, 45};

	begin(quanta, 3, QUANTA_LOW);
	quanta_set_priority(&gpu.quanta, QUANTA_PF, QUANTA_HIGH);
	for (unsigned int f = 0; f < 4; f++)
		quanta_gpu_set_load(&gpu, f, 100);
	run(11 * NS_PER_S);
	assert_near(gpu.functions[0].active_ns, 15 * NS_PER_S / 10, 30 * NS_PER_MS);
	assert_near(gpu.functions[1].active_ns, 2 * NS_PER_S, 30 * NS_PER_MS);
	assert_near(gpu.functions[3].active_ns, 45 * NS_PER_S / 10, 50 * NS_PER_MS);

	/* Without work it has no turn, and alone it has the GPU. */
	begin(quanta, 3, QUANTA_LOW);
	quanta_set_priority(&gpu.quanta, QUANTA_PF, QUANTA_HIGH);
	quanta_gpu_set_load(&gpu, 2, 100);
	run(NS_PER_S);
	assert_int_equal(gpu.functions[2].active_ns, NS_PER_S);
	quanta_gpu_set_vfs(&gpu, 0);
	quanta_set_priority(&gpu.quanta, QUANTA_PF, QUANTA_HIGH);
	quanta_gpu_set_load(&gpu, QUANTA_PF, 100);
	run(NS_PER_S);
	assert_int_equal(gpu.functions[0].active_ns, NS_PER_S);
}

TEST(disabling_vfs_resets_their_settings_and_keeps_counters)
{
	static const uint32_t quanta[] = {5, 20, 30};

	begin(quanta, 2, QUANTA_NORMAL);
	quanta_set_timeout(&gpu.quanta, 1, 7);
	quanta_gpu_set_load(&gpu, 1, 100);
	run(NS_PER_MS);
	quanta_gpu_set_vfs(&gpu, 0);
	run(NS_PER_S);
	assert_int_equal(gpu.functions[1].active_ns, NS_PER_MS);
	for (unsigned int f = 0; f < 3; f++) {
		assert_int_equal(gpu.functions[f].quantum_ms, 0);
		assert_int_equal(gpu.functions[f].timeout_us, 0);
		assert_int_equal(gpu.functions[f].priority, QUANTA_LOW);
		assert_int_equal(gpu.tenants[f].load_pct, 0);
	}
}

TEST(a_stopped_vf_has_no_work_until_it_is_enabled_again)
{
	static const uint32_t quanta[] = {1, 10, 10};

	begin(quanta, 2, QUANTA_LOW);
	quanta_gpu_set_load(&gpu, 1, 100);
	quanta_gpu_stop(&gpu, 1);
	quanta_gpu_set_load(&gpu, 1, 50);
	run(NS_PER_S);
	assert_int_equal(gpu.functions[1].active_ns, 0);
	quanta_gpu_set_vfs(&gpu, 0);
	quanta_gpu_set_vfs(&gpu, 2);
	quanta_gpu_set_load(&gpu, 1, 50);
	run(NS_PER_S);
	assert_near(gpu.functions[1].active_ns, NS_PER_S / 2, 1000);
}

TEST(values_above_the_limits_are_reduced)
{
	struct quanta_function functions[1];
	struct quanta quanta;

	quanta_start(&quanta, functions, 1);
	quanta_set_quantum(&quanta, 0, 100001);
	quanta_set_timeout(&quanta, 0, UINT32_MAX);
	assert_int_equal(functions[0].quantum_ms, 100000);
	assert_int_equal(functions[0].timeout_us, 100000000);
}

TEST(ticks_count_19200000_per_second)
{
	assert_int_equal(quanta_gpu_ticks(0), 0);
	assert_near(quanta_gpu_ticks(NS_PER_S), 19200000, 1);
	assert_near(quanta_gpu_ticks(1000000 * NS_PER_S), 19200000000000, 20000);
}

TEST(a_skip_simulates_nothing)
{
	static const uint32_t quanta[] = {1, 10};

	begin(quanta, 1, QUANTA_LOW);
	quanta_gpu_set_load(&gpu, 1, 50);
	run(NS_PER_S);
	quanta_gpu_skip(&gpu, 100 * NS_PER_S);
	assert_near(gpu.functions[1].active_ns, NS_PER_S / 2, 1000);
	run(NS_PER_S);
	assert_near(gpu.functions[1].active_ns, NS_PER_S, 60 * NS_PER_MS);
}

static uint32_t draw(uint64_t *random, uint32_t below)
{
	*random = *random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((*random >> 33) % below);
}

/* Checks the time of ten seconds against the quanta, up to one round at each end. */
static void check_shares(const struct quanta_function *before, uint64_t sum_ms, bool normal)
{
	uint64_t round_ns = 2 * sum_ms * NS_PER_MS, active_ns = 0, wanted_ns = 0;

	for (unsigned int f = 0; f < gpu.quanta.n_functions; f++) {
		const struct quanta_function *function = &gpu.functions[f];
		uint64_t ns = function->active_ns - before[f].active_ns;
		uint64_t share_ns = 10 * NS_PER_S / sum_ms * function->quantum_ms;

		active_ns += ns;
		wanted_ns += gpu.tenants[f].load_pct * PERCENT;
		if (normal)
			assert_true(ns <= share_ns + round_ns);
		if (gpu.tenants[f].load_pct == 100)
			assert_true(ns + round_ns >= share_ns);
	}
	/* Under low the GPU idles only if there is no work. */
	if (!normal && wanted_ns >= 10 * NS_PER_S)
		assert_true(active_ns == 10 * NS_PER_S);
	assert_true(active_ns <= 10 * NS_PER_S);
}

TEST(any_functions_get_their_guarantee_and_under_normal_no_more)
{
	uint64_t random = 7;

	for (int i = 0; i < 300; i++) {
		struct quanta_function before[17];
		unsigned int n = 1 + draw(&random, 16);
		bool normal = draw(&random, 2);
		uint32_t quanta[17];
		uint64_t sum_ms = 0;

		for (unsigned int f = 0; f <= n; f++)
			sum_ms += quanta[f] = 1 + draw(&random, 30);
		begin(quanta, n, normal ? QUANTA_NORMAL : QUANTA_LOW);
		for (unsigned int f = 0; f <= n; f++)
			quanta_gpu_set_load(&gpu, f, draw(&random, 3) ? draw(&random, 101) : 100);
		run(draw(&random, NS_PER_S));
		memcpy(before, gpu.functions, (n + 1) * sizeof(before[0]));
		run(10 * NS_PER_S);
		check_shares(before, sum_ms, normal);
	}
}
