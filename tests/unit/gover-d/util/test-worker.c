/* SPDX-License-Identifier: MIT */
/* The worker: jobs run in the thread and finish in the loop, in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "gover-d/util/worker.h"

#define JOBS	   300
#define WAIT_USEC  (30 * 1000000ULL) /* long enough for a machine under load */
#define WAITING_OK 256

static struct job {
	struct worker_job job;
	pthread_t ran_in;
	int number;
	bool ran;
} jobs[JOBS];

static struct {
	sd_event *event;
	struct worker *worker;
	int done[JOBS], n_done;
	pthread_t done_in;
	atomic_bool held; /* while true, running jobs do not end */
	atomic_int running, most_running;
} test;

static void run(struct worker_job *job)
{
	struct job *mine = (struct job *)(void *)job;
	int running = atomic_fetch_add(&test.running, 1) + 1;

	if (running > atomic_load(&test.most_running))
		atomic_store(&test.most_running, running);
	while (atomic_load(&test.held))
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	mine->ran = true;
	mine->ran_in = pthread_self();
	atomic_fetch_sub(&test.running, 1);
}

static void done(struct worker_job *job)
{
	struct job *mine = (struct job *)(void *)job;

	assert_true(mine->ran);
	test.done_in = pthread_self();
	test.done[test.n_done++] = mine->number;
}

static int set_up(void **state)
{
	(void)state;
	test.n_done = 0;
	atomic_store(&test.held, false);
	atomic_store(&test.running, 0);
	atomic_store(&test.most_running, 0);
	for (int i = 0; i < JOBS; i++)
		jobs[i] = (struct job){.job = {.run = run, .done = done}, .number = i};
	if (sd_event_new(&test.event) < 0)
		return -1;
	return worker_new(test.event, &test.worker);
}

static int tear_down(void **state)
{
	(void)state;
	atomic_store(&test.held, false);
	test.worker = worker_free(test.worker);
	test.event = sd_event_unref(test.event);
	return 0;
}

static void submit(int number)
{
	assert_int_equal(worker_submit(test.worker, &jobs[number].job), 0);
}

/* Runs the loop until @n jobs are done. */
static void loop_until(int n)
{
	while (test.n_done < n)
		assert_true(sd_event_run(test.event, WAIT_USEC) > 0);
}

static void test_a_job_runs_in_the_thread_and_is_done_in_the_loop(void **state)
{
	(void)state;
	submit(0);
	loop_until(1);
	assert_false(pthread_equal(jobs[0].ran_in, pthread_self()));
	assert_true(pthread_equal(test.done_in, pthread_self()));
}

static void test_jobs_are_done_one_at_a_time_in_their_order(void **state)
{
	(void)state;
	for (int round = 0; round < 3; round++) {
		test.n_done = 0;
		for (int i = 0; i < 200; i++)
			submit(i);
		loop_until(200);
		for (int i = 0; i < 200; i++)
			assert_int_equal(test.done[i], i);
	}
	assert_int_equal(atomic_load(&test.most_running), 1);
}

static void test_the_loop_never_waits_for_a_job(void **state)
{
	(void)state;
	atomic_store(&test.held, true);
	submit(0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(sd_event_run(test.event, 1000), 0);
	assert_int_equal(test.n_done, 0);
	atomic_store(&test.held, false);
	loop_until(1);
}

static void test_more_than_256_waiting_jobs_are_refused(void **state)
{
	(void)state;
	atomic_store(&test.held, true);
	submit(0);
	while (atomic_load(&test.running) == 0) /* a running job does not count as waiting */
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	for (int i = 1; i <= WAITING_OK; i++)
		submit(i);
	assert_int_equal(worker_submit(test.worker, &jobs[WAITING_OK + 1].job), -EBUSY);
	atomic_store(&test.held, false);
	loop_until(WAITING_OK + 1);
	assert_false(jobs[WAITING_OK + 1].ran); /* the test still owns the refused job */
	submit(WAITING_OK + 1);
	loop_until(WAITING_OK + 2);
}

static void test_free_finishes_queued_jobs(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++)
		submit(i);
	test.worker = worker_free(test.worker);
	assert_null(test.worker);
	assert_int_equal(test.n_done, 100);
	for (int i = 0; i < 100; i++)
		assert_int_equal(test.done[i], i);
	/* the event source of the worker was removed */
	assert_int_equal(sd_event_run(test.event, 0), 0);
	assert_null(worker_free(NULL));
}

static void done_and_submit(struct worker_job *job)
{
	int next = test.n_done + 1;

	done(job);
	if (next < 10)
		submit(next);
}

static void test_done_may_submit_the_next_job(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++)
		jobs[i].job.done = done_and_submit;
	submit(0);
	loop_until(10);
}

static int late_result;

static void done_and_submit_late(struct worker_job *job)
{
	done(job);
	late_result = worker_submit(test.worker, &jobs[1].job);
}

static void test_no_job_is_accepted_during_free(void **state)
{
	(void)state;
	late_result = 0;
	jobs[0].job.done = done_and_submit_late;
	submit(0);
	test.worker = worker_free(test.worker);
	assert_int_equal(late_result, -ESHUTDOWN);
	assert_false(jobs[1].ran);
}

static sigset_t blocked;

static void run_and_look_at_signals(struct worker_job *job)
{
	(void)pthread_sigmask(SIG_BLOCK, NULL, &blocked);
	run(job);
}

static void test_the_thread_gets_no_signals(void **state)
{
	(void)state;
	jobs[0].job.run = run_and_look_at_signals;
	submit(0);
	loop_until(1);
	assert_int_equal(sigismember(&blocked, SIGTERM), 1);
	assert_int_equal(sigismember(&blocked, SIGCHLD), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_job_runs_in_the_thread_and_is_done_in_the_loop),
		TEST(test_jobs_are_done_one_at_a_time_in_their_order),
		TEST(test_the_loop_never_waits_for_a_job),
		TEST(test_more_than_256_waiting_jobs_are_refused),
		TEST(test_free_finishes_queued_jobs),
		TEST(test_done_may_submit_the_next_job),
		TEST(test_no_job_is_accepted_during_free),
		TEST(test_the_thread_gets_no_signals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
