/* SPDX-License-Identifier: MIT */
/*
 * The threads take jobs from a queue and append finished jobs to a second list. An eventfd wakes
 * the event loop, which calls done() of each finished job.
 *
 * The queue is sorted by turns. The first waiting job of a client gets the next turn, and each
 * further job the turn after that of the job before it. So each turn contains at most one job of
 * each client.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/thread.h"
#include "base/xalloc.h"
#include "gover-d/util/worker.h"

struct job_list {
	struct worker_job *first, **last; /* linked by worker_job.next */
};

struct worker {
	struct worker_limits limits;
	sd_event_source *source;
	int fd; /* eventfd; readable when the list of finished jobs is not empty */
	pthread_t threads[WORKER_THREADS_MAX];
	int n_threads;	  /* number of started threads */
	atomic_bool stop; /* written while @lock is held */
	/* @lock guards the following members. */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct job_list queue, finished;
	int waiting;   /* number of jobs in @queue */
	uint64_t turn; /* turn of the job that was started last */
};

static void list_init(struct job_list *list)
{
	list->first = NULL;
	list->last = &list->first;
}

static void list_insert(struct job_list *list, struct worker_job **at, struct worker_job *job)
{
	job->next = *at;
	*at = job;
	if (!job->next)
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

static bool is_same_client(const struct worker_job *a, const struct worker_job *b)
{
	if (!a->client || !b->client)
		return a->client == b->client;
	return strcmp(a->client, b->client) == 0;
}

/* Adds a job at its turn. Returns -EBUSY or -EDQUOT if too many jobs are waiting. */
static int enqueue(struct worker *worker, struct worker_job *job)
{
	struct worker_job **at = &worker->queue.first;
	int waiting = 0;

	if (worker->waiting >= worker->limits.waiting_max)
		return -EBUSY;
	job->turn = worker->turn + 1;
	for (const struct worker_job *other = *at; other; other = other->next) {
		if (!is_same_client(job, other))
			continue;
		job->turn = other->turn + 1;
		waiting++;
	}
	if (waiting >= worker->limits.client_max)
		return -EDQUOT;
	while (*at && (*at)->turn <= job->turn)
		at = &(*at)->next;
	list_insert(&worker->queue, at, job);
	worker->waiting++;
	return 0;
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
		worker->turn = job->turn;
		pthread_mutex_unlock(&worker->lock);
		job->run(job);
		pthread_mutex_lock(&worker->lock);
		list_insert(&worker->finished, worker->finished.last, job);
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

static int start_threads(struct worker *worker)
{
	int r = 0;

	while (r >= 0 && worker->n_threads < worker->limits.threads) {
		r = thread_start(&worker->threads[worker->n_threads], run_thread, worker,
				 worker->limits.name);
		worker->n_threads += r >= 0;
	}
	return r;
}

int worker_new(sd_event *event, const struct worker_limits *limits, struct worker **ret_worker)
{
	struct worker *worker;
	int r;

	worker = xcalloc(1, sizeof(*worker));
	worker->limits = *limits;
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
		r = start_threads(worker);
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
	pthread_cond_broadcast(&worker->wake);
	pthread_mutex_unlock(&worker->lock);
	for (int i = 0; i < worker->n_threads; i++)
		(void)pthread_join(worker->threads[i], NULL);
	finish_jobs(worker);
	sd_event_source_disable_unref(worker->source);
	if (worker->fd >= 0)
		(void)close(worker->fd);
	pthread_cond_destroy(&worker->wake);
	pthread_mutex_destroy(&worker->lock);
	free(worker);
	return NULL;
}

const atomic_bool *worker_stopping(const struct worker *worker)
{
	return &worker->stop;
}

int worker_submit(struct worker *worker, struct worker_job *job)
{
	int r;

	pthread_mutex_lock(&worker->lock);
	/* a done() callback may submit a job during worker_free() */
	r = worker->stop ? -ESHUTDOWN : enqueue(worker, job);
	if (r == 0)
		pthread_cond_signal(&worker->wake);
	pthread_mutex_unlock(&worker->lock);
	return r;
}
