/* SPDX-License-Identifier: MIT */
/* A new thread inherits the signal mask of its creator, so all signals are blocked while a thread
 * is created. */
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/thread.h"

int thread_start(pthread_t *ret_thread, void *(*run)(void *userdata), void *userdata,
		 const char *name)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	r = -pthread_sigmask(SIG_SETMASK, &all, &before);
	if (r < 0)
		return r;
	r = -pthread_create(ret_thread, NULL, run, userdata);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r >= 0)
		(void)pthread_setname_np(*ret_thread, name);
	return r;
}

#define THREADS_MAX 64

struct jobs {
	int n;
	void (*job)(void *userdata, int index);
	void *userdata;
	atomic_int next;
};

static void *run_jobs(void *userdata)
{
	struct jobs *jobs = userdata;

	for (int i; (i = atomic_fetch_add(&jobs->next, 1)) < jobs->n;)
		jobs->job(jobs->userdata, i);
	return NULL;
}

void thread_run_all(int n, void (*job)(void *userdata, int index), void *userdata)
{
	struct jobs jobs = {.n = n, .job = job, .userdata = userdata};
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t threads[THREADS_MAX];
	int started = 0;

	while (started < THREADS_MAX && started + 1 < n && started + 1 < cpus &&
	       thread_start(&threads[started], run_jobs, &jobs, "gover-job") >= 0)
		started++;
	(void)run_jobs(&jobs);
	while (started > 0)
		(void)pthread_join(threads[--started], NULL);
}
