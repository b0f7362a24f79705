/* SPDX-License-Identifier: MIT */
/* The worker: jobs run in threads and finish in the loop, in the order of submission or by turns.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "gover-d/util/worker.h"
#include "tests/unit/unit.h"

#define JOBS	   300
#define WAIT_USEC  (30 * 1000000ULL) /* long enough for a machine under load */
#define WAITING_OK 256

static const struct worker_limits one_thread = {
	.name = "test", .threads = 1, .waiting_max = WAITING_OK, .client_max = WAITING_OK};

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

static int set_up(void)
{
	test.n_done = 0;
	atomic_store(&test.held, false);
	atomic_store(&test.running, 0);
	atomic_store(&test.most_running, 0);
	for (int i = 0; i < JOBS; i++)
		jobs[i] = (struct job){.job = {.run = run, .done = done}, .number = i};
	if (sd_event_new(&test.event) < 0)
		return -1;
	return worker_new(test.event, &one_thread, &test.worker);
}

static int tear_down(void)
{
	atomic_store(&test.held, false);
	test.worker = worker_free(test.worker);
	test.event = sd_event_unref(test.event);
	return 0;
}

FIXTURE(set_up, tear_down)

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

static void wait_until_running(int n)
{
	while (atomic_load(&test.running) < n)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* Runs job 0, which ends when test.held is false. */
static void hold_the_thread(void)
{
	atomic_store(&test.held, true);
	submit(0);
	wait_until_running(1);
}

TEST(test_a_job_runs_in_the_thread_and_is_done_in_the_loop)
{
	submit(0);
	loop_until(1);
	assert_false(pthread_equal(jobs[0].ran_in, pthread_self()));
	assert_true(pthread_equal(test.done_in, pthread_self()));
}

TEST(test_jobs_are_done_one_at_a_time_in_their_order)
{
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

TEST(test_the_loop_never_waits_for_a_job)
{
	atomic_store(&test.held, true);
	submit(0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(sd_event_run(test.event, 1000), 0);
	assert_int_equal(test.n_done, 0);
	atomic_store(&test.held, false);
	loop_until(1);
}

TEST(test_more_than_256_waiting_jobs_are_refused)
{
	hold_the_thread(); /* a running job does not count as waiting */
	for (int i = 1; i <= WAITING_OK; i++)
		submit(i);
	assert_int_equal(worker_submit(test.worker, &jobs[WAITING_OK + 1].job), -EBUSY);
	atomic_store(&test.held, false);
	loop_until(WAITING_OK + 1);
	assert_false(jobs[WAITING_OK + 1].ran); /* the test still owns the refused job */
	submit(WAITING_OK + 1);
	loop_until(WAITING_OK + 2);
}

TEST(test_free_finishes_queued_jobs)
{
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

TEST(test_done_may_submit_the_next_job)
{
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

TEST(test_no_job_is_accepted_during_free)
{
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

TEST(test_the_thread_gets_no_signals)
{
	jobs[0].job.run = run_and_look_at_signals;
	submit(0);
	loop_until(1);
	assert_int_equal(sigismember(&blocked, SIGTERM), 1);
	assert_int_equal(sigismember(&blocked, SIGCHLD), 1);
}

/* --- clients and threads --- */

static void replace_worker(const struct worker_limits *limits)
{
	worker_free(test.worker);
	test.worker = NULL;
	assert_int_equal(worker_new(test.event, limits, &test.worker), 0);
}

/*
 * Each letter is a job of the client with this name. The jobs are submitted in this order while one
 * job runs.
 */
static const struct turns {
	const char *submitted, *started;
} turns[] = {
	{"aaaa", "aaaa"},     {"ab", "ab"},	      {"aaaab", "abaaa"},
	{"aaaabb", "ababaa"}, {"aaaabbc", "abcabaa"}, {"ccbbaa", "cbacba"},
};

TEST(test_clients_take_turns)
{
	for (size_t t = 0; t < ARRAY_SIZE(turns); t++) {
		int n = (int)strlen(turns[t].submitted);
		char names[16][2], started[17] = "";

		test.n_done = 0;
		hold_the_thread();
		for (int i = 0; i < n; i++) {
			names[i][0] = turns[t].submitted[i];
			names[i][1] = '\0';
			jobs[1 + i].job.client = names[i];
			submit(1 + i);
		}
		atomic_store(&test.held, false);
		loop_until(1 + n);
		for (int i = 0; i < n; i++)
			started[i] = names[test.done[1 + i] - 1][0];
		assert_string_equal(started, turns[t].started);
	}
}

TEST(test_a_client_never_waits_for_later_jobs_of_others)
{
	char name[2] = "b";
	int first = -1;

	hold_the_thread();
	for (int i = 1; i <= 10; i++)
		submit(i);
	atomic_store(&test.held, false);
	/* a second client submits its next job as soon as the previous one has ended */
	for (int i = 100; i < 130; i++) {
		int n = test.n_done;

		jobs[i].job.client = name;
		submit(i);
		loop_until(n + 1);
	}
	loop_until(11 + 30);
	for (int i = 0; i < test.n_done; i++)
		if (test.done[i] == 10)
			first = i;
	/* at most one job of the second client runs before each of the ten jobs */
	assert_in_range(first, 10, 22);
}

TEST(test_a_client_has_a_limit_of_its_own)
{
	char name[2] = "b";

	replace_worker(&(struct worker_limits){
		.name = "test", .threads = 1, .waiting_max = 6, .client_max = 4});
	hold_the_thread();
	for (int i = 1; i <= 4; i++)
		submit(i);
	assert_int_equal(worker_submit(test.worker, &jobs[5].job), -EDQUOT);
	jobs[6].job.client = jobs[7].job.client = jobs[8].job.client = name;
	submit(6);
	submit(7);
	assert_int_equal(worker_submit(test.worker, &jobs[8].job), -EBUSY);
	atomic_store(&test.held, false);
	loop_until(7);
}

TEST(test_threads_run_jobs_at_the_same_time)
{
	replace_worker(&(struct worker_limits){
		.name = "test", .threads = 2, .waiting_max = 64, .client_max = 64});
	atomic_store(&test.held, true);
	for (int i = 0; i < 20; i++)
		submit(i);
	wait_until_running(2);
	atomic_store(&test.held, false);
	loop_until(20);
	assert_int_equal(atomic_load(&test.most_running), 2);
}

static const atomic_bool *stopping;

static void run_until_stopping(struct worker_job *job)
{
	while (!atomic_load(stopping))
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	((struct job *)(void *)job)->ran = true;
}

TEST(test_a_running_job_learns_that_the_worker_stops)
{
	stopping = worker_stopping(test.worker);
	jobs[0].job.run = run_until_stopping;
	submit(0);
	test.worker = worker_free(test.worker);
	assert_int_equal(test.n_done, 1);
}
