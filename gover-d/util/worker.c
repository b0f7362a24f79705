/* SPDX-License-Identifier: MIT */
/*
 * The thread takes jobs from a queue and appends finished jobs to a second list. An eventfd wakes
 * the event loop, which calls done() of each finished job.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/thread.h"
#include "gover-d/util/worker.h"

#define WAITING_MAX 256
#define QUERIES_MAX 64

struct job_list {
	struct worker_job *first, **last; /* linked by worker_job.next */
};

struct worker {
	sd_event_source *source;
	int fd; /* eventfd; readable when the list of finished jobs is not empty */
	pthread_t thread;
	bool started;
	/* @lock guards the following members. */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct job_list queue, finished;
	int waiting; /* number of jobs in @queue */
	bool stop;
};

static void list_init(struct job_list *list)
{
	list->first = NULL;
	list->last = &list->first;
}

static void list_append(struct job_list *list, struct worker_job *job)
{
	job->next = NULL;
	*list->last = job;
	list->last = &job->next;
}

static struct worker_job *list_take(struct job_list *list)
{
	struct worker_job *job = list->first;

	if (!job)
		return NULL;
	list->first = job->next;
	if (!list->first)
		list->last = &list->first;
	return job;
}

static void *run_thread(void *arg)
{
	const uint64_t one = 1;
	struct worker *worker = arg;

	pthread_mutex_lock(&worker->lock);
	for (;;) {
		struct worker_job *job = list_take(&worker->queue);

		if (!job && worker->stop)
			break;
		if (!job) {
			pthread_cond_wait(&worker->wake, &worker->lock);
			continue;
		}
		worker->waiting--;
		pthread_mutex_unlock(&worker->lock);
		job->run(job);
		pthread_mutex_lock(&worker->lock);
		list_append(&worker->finished, job);
		/*
		 * write() fails only if the counter of the eventfd is full. The eventfd is then
		 * already readable.
		 */
		(void)!write(worker->fd, &one, sizeof(one));
	}
	pthread_mutex_unlock(&worker->lock);
	return NULL;
}

static struct worker_job *take_finished(struct worker *worker)
{
	struct worker_job *job;

	pthread_mutex_lock(&worker->lock);
	job = list_take(&worker->finished);
	pthread_mutex_unlock(&worker->lock);
	return job;
}

static void finish_jobs(struct worker *worker)
{
	struct worker_job *job;

	while ((job = take_finished(worker)))
		job->done(job);
}

static int on_finished(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	uint64_t count;

	(void)source;
	(void)revents;
	if (read(fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		return -errno;
	finish_jobs(userdata);
	return 0;
}

int worker_new(sd_event *event, struct worker **ret_worker)
{
	struct worker *worker;
	int r;

	worker = calloc(1, sizeof(*worker));
	if (!worker)
		return -ENOMEM;
	list_init(&worker->queue);
	list_init(&worker->finished);
	(void)pthread_mutex_init(&worker->lock, NULL); /* never fails without attributes */
	(void)pthread_cond_init(&worker->wake, NULL);
	worker->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = worker->fd < 0 ? -errno : 0;
	if (r >= 0)
		r = sd_event_add_io(event, &worker->source, worker->fd, EPOLLIN, on_finished,
				    worker);
	if (r >= 0)
		r = thread_start(&worker->thread, run_thread, worker, "gover-worker");
	if (r >= 0)
		worker->started = true;
	if (r < 0) {
		worker_free(worker);
		return r;
	}
	*ret_worker = worker;
	return 0;
}

struct worker *worker_free(struct worker *worker)
{
	if (!worker)
		return NULL;
	pthread_mutex_lock(&worker->lock);
	worker->stop = true;
	pthread_cond_signal(&worker->wake);
	pthread_mutex_unlock(&worker->lock);
	if (worker->started)
		(void)pthread_join(worker->thread, NULL);
	finish_jobs(worker);
	sd_event_source_disable_unref(worker->source);
	if (worker->fd >= 0)
		(void)close(worker->fd);
	pthread_cond_destroy(&worker->wake);
	pthread_mutex_destroy(&worker->lock);
	free(worker);
	return NULL;
}

static int submit(struct worker *worker, struct worker_job *job, int waiting_max)
{
	int r = 0;

	pthread_mutex_lock(&worker->lock);
	if (worker->stop) { /* a done() callback may submit a job during worker_free() */
		r = -ESHUTDOWN;
	} else if (worker->waiting >= waiting_max) {
		r = -EBUSY;
	} else {
		list_append(&worker->queue, job);
		worker->waiting++;
		pthread_cond_signal(&worker->wake);
	}
	pthread_mutex_unlock(&worker->lock);
	return r;
}

int worker_submit(struct worker *worker, struct worker_job *job)
{
	return submit(worker, job, WAITING_MAX);
}

int worker_submit_query(struct worker *worker, struct worker_job *job)
{
	return submit(worker, job, QUERIES_MAX);
}
