/* SPDX-License-Identifier: MIT */
/* Device time by sampling: which submissions are measured, and what a batch took. */
#include <string.h>

#include "base/cleanup.h"
#include "compute/tenant/batch.h"
#include "tests/unit/unit.h"

/* A kind with a known time of @ns that is not measured again in turn 1. */
static struct estimate *known(uintptr_t kernel, uint64_t ns)
{
	struct estimate *e = estimate_find((const void *)kernel, 1);

	for (int i = 0; i < 8; i++)
		estimate_learn(e, ns);
	(void)estimate_begin_sample(e, 1);
	assert_int_equal(estimate_predict(e), ns);
	return e;
}

TEST(sizes_within_a_factor_of_two_are_one_kind)
{
	const void *kernel = (const void *)0x1000, *other = (const void *)0x2000;

	assert_ptr_equal(estimate_find(kernel, 1024), estimate_find(kernel, 2047));
	assert_ptr_not_equal(estimate_find(kernel, 1024), estimate_find(kernel, 2048));
	assert_ptr_not_equal(estimate_find(kernel, 1024), estimate_find(other, 1024));
	assert_ptr_not_equal(estimate_find(kernel, 0), estimate_find(kernel, 1));
}

TEST(an_estimate_follows_the_measured_times)
{
	struct estimate e = {0};

	assert_true(estimate_is_new(&e));
	assert_int_equal(estimate_predict(&e), ESTIMATE_FIRST_NS);
	estimate_learn(&e, 1000);
	assert_int_equal(estimate_predict(&e), 1000);
	estimate_learn(&e, 3000);
	assert_int_equal(estimate_predict(&e), 2000);
	for (int i = 0; i < 100; i++)
		estimate_learn(&e, 500);
	assert_in_range(estimate_predict(&e), 500, 510);
	estimate_learn(&e, 0);
	estimate_learn(&e, UINT64_MAX);
	assert_true(estimate_predict(&e) <= ESTIMATE_MAX_NS);
}

TEST(a_kind_is_measured_at_first_and_once_in_each_turn)
{
	struct estimate e = {0};

	for (int i = 0; i < ESTIMATE_SAMPLES; i++) {
		assert_true(estimate_begin_sample(&e, 8));
		estimate_learn(&e, 10);
	}
	assert_true(estimate_begin_sample(&e, 8));
	assert_false(estimate_begin_sample(&e, 8));
	assert_true(estimate_begin_sample(&e, 12));
	assert_false(estimate_begin_sample(&e, 12));
}

/* Adds @n submissions of @ns and returns the number of the one that ended the batch, or 0. */
static unsigned int add(struct batch *batch, struct estimate *e, unsigned int n,
			unsigned int tracked)
{
	for (unsigned int i = 1; i <= n; i++) {
		struct batch_item item = {.estimate = e,
					  .predicted_ns = estimate_predict(e),
					  .host_ns = 1000 * i,
					  .is_unit = true};

		if (batch_add(batch, &item, tracked, false, 1))
			return i;
	}
	return 0;
}

TEST(a_batch_ends_when_it_is_long_enough)
{
	struct batch batch = {0};

	assert_int_equal(add(&batch, known(0x10, 20000), 100, 1), 10);
	assert_int_equal(batch.n, 10);
	assert_int_equal(batch.units, 10);
	assert_int_equal(batch.predicted_ns, 200000);
	assert_int_equal(batch.estimated_ns, 180000);
	batch = (struct batch){0};
	assert_int_equal(add(&batch, known(0x11, 1), 100, 1), BATCH_COUNT_MAX);
	batch = (struct batch){0};
	assert_int_equal(add(&batch, known(0x12, 20000), 100, 0), 1);
	batch = (struct batch){0};
	assert_int_equal(add(&batch, estimate_find((const void *)0x13, 1), 100, 1), 1);
}

TEST(out_of_order_each_submission_is_a_batch)
{
	struct batch batch = {0};
	struct batch_item item = {.estimate = known(0x14, 10)};

	assert_true(batch_add(&batch, &item, 5, true, 1));
}

static struct gate_work work_of(const struct batch *batch, uint64_t queued, uint64_t start,
				uint64_t end, uint64_t *mark_ns)
{
	struct batch_times times = {.valid = true, .queued = queued, .start = start, .end = end};
	struct batch_mark mark = {.end = *mark_ns};
	struct gate_work work;

	batch_finish(batch, &times, false, &mark, &work);
	*mark_ns = mark.end;
	return work;
}

TEST(the_device_time_of_a_batch)
{
	/* batches of @n submissions of 20 us that were submitted each 1 us, until @queued */
	static const struct {
		const char *why;
		unsigned int n;
		uint64_t mark, queued, start, end; /* us */
		uint64_t busy;			   /* us */
	} rows[] = {
		{"a single one: from start to end", 1, 0, 100, 150, 170, 20},
		{"waiting in the queue is no device time", 1, 0, 100, 900, 930, 30},
		{"overlapping work counts once", 1, 160, 100, 150, 170, 10},
		{"work inside other work counts nothing", 1, 180, 100, 150, 170, 0},
		{"a busy device: since the end before", 5, 200, 50, 300, 320, 120},
		{"a busy device, slower than estimated", 5, 200, 50, 400, 450, 250},
		{"gaps: the estimates", 5, 100, 990, 1000, 1020, 34},
		{"the end before is later than the first submission", 5, 100, 104, 180, 200, 100},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct batch batch = {0};
		struct estimate *e = known(0x100 + i, 20000);
		uint64_t mark = rows[i].mark * 1000;
		struct gate_work work;

		assert_int_equal(add(&batch, e, rows[i].n, 1), 0);
		work = work_of(&batch, rows[i].queued * 1000, rows[i].start * 1000,
			       rows[i].end * 1000, &mark);
		if (work.busy_ns != rows[i].busy * 1000)
			fail_msg("%s: %llu", rows[i].why, (unsigned long long)work.busy_ns);
		assert_int_equal(work.submissions, rows[i].n);
		assert_int_equal(work.units, rows[i].n);
		assert_int_equal(work.sampled, 1);
		assert_true(mark >= rows[i].end * 1000);
	}
}

TEST(compilation_before_the_start_is_no_device_time)
{
	struct batch batch = {0};
	struct batch_item item = {.estimate = known(0x200, 20000),
				  .predicted_ns = 20000,
				  .host_ns = 5000,
				  .is_unit = true,
				  .is_new = true};
	uint64_t mark = 10000;
	struct gate_work work;

	assert_int_equal(add(&batch, known(0x201, 20000), 4, 1), 0);
	(void)batch_add(&batch, &item, 1, false, 1);
	work = work_of(&batch, 5000, 14000000, 14020000, &mark);
	assert_int_equal(work.busy_ns, 100000);
}

TEST(without_times_the_estimates_count)
{
	struct batch_times times = {.valid = false, .end = 5};
	struct batch_mark mark = {0};
	struct batch batch = {0};
	struct gate_work work;

	assert_int_equal(add(&batch, known(0x300, 20000), 3, 1), 0);
	batch_finish(&batch, &times, false, &mark, &work);
	assert_int_equal(work.busy_ns, 60000);
	assert_int_equal(work.sampled, 0);
	times = (struct batch_times){.valid = true, .queued = 9, .start = 5, .end = 7};
	batch_finish(&batch, &times, false, &mark, &work);
	assert_int_equal(work.sampled, 0);
}

TEST(a_failed_launch_is_no_unit)
{
	struct batch_times times = {.valid = true, .queued = 1, .start = 2, .end = 3};
	struct batch_mark mark = {0};
	struct batch batch = {0};
	struct estimate *e = known(0x400, 20000);
	struct gate_work work;

	assert_int_equal(add(&batch, e, 3, 1), 0);
	batch_finish(&batch, &times, true, &mark, &work);
	assert_int_equal(work.units, 2);
	assert_int_equal(work.submissions, 3);
	assert_int_equal(estimate_predict(e), 20000);
}

/*
 * A saturated device with kernels of @mean_ns +- half, measured only where batches end, against
 * the true sum: the error is at most 3 %.
 */
TEST(sampling_agrees_with_full_timing)
{
	static const uint64_t means[] = {5000, 20000, 90000, 400000};

	for (size_t m = 0; m < ARRAY_SIZE(means); m++) {
		struct estimate *e = estimate_find((const void *)(0x500 + m), 1);
		uint64_t device = 1000000, host = 0, truth = 0, measured = 0, sampled = 0;
		uint32_t seed = 1;
		struct batch batch = {0};
		struct batch_mark mark = {0};
		struct gate_work work;

		for (int i = 0; i < 5000; i++) {
			struct batch_item item = {.estimate = e,
						  .is_unit = true,
						  .host_ns = host,
						  .predicted_ns = estimate_predict(e)};
			struct batch_times times = {.valid = true, .queued = host};

			seed = seed * 1664525u + 1013904223u;
			times.start = device;
			device += means[m] / 2 + seed % means[m];
			times.end = device;
			truth += times.end - times.start;
			host += 1000;
			if (!batch_add(&batch, &item, 1, false, (uint32_t)(truth / 6000000)))
				continue;
			batch_finish(&batch, &times, false, &mark, &work);
			measured += work.busy_ns;
			sampled += work.sampled;
			batch = (struct batch){0};
		}
		assert_in_range(measured, truth - truth * 3 / 100, truth + truth * 3 / 100);
		assert_true(means[m] > BATCH_LENGTH_NS || sampled < 5000);
	}
}

/* The last test, because it fills the table. */
TEST(a_full_table_shares_an_entry)
{
	for (uintptr_t i = 1; i < 100000; i++)
		assert_non_null(estimate_find((const void *)(0x100000 + i * 64), i));
	assert_ptr_equal(estimate_find((const void *)0x40, 1),
			 estimate_find((const void *)0x80, 1));
}
