/* SPDX-License-Identifier: MIT */
/*
 * A thread for jobs that may block on a disk, such as history queries and writes of the contracts
 * file. So the event loop never blocks. For each job, run() is called in the thread, then done() in
 * the event loop. Jobs run one at a time in the order of submission.
 */
#ifndef GOVER_D_UTIL_WORKER_H
#define GOVER_D_UTIL_WORKER_H

#include <systemd/sd-event.h>

struct worker_job {
	void (*run)(struct worker_job *job);  /* runs in the thread; must access only the job */
	void (*done)(struct worker_job *job); /* runs in the event loop; frees the job */
	struct worker_job *next;	      /* next in worker.queue or worker.finished */
};

struct worker;
int worker_new(sd_event *event, struct worker **ret_worker);
/*
 * Finishes all queued jobs, including their done(), and ends the thread. @worker may be NULL.
 * Returns NULL.
 */
struct worker *worker_free(struct worker *worker);
/* Queues a job. -EBUSY: 256 jobs are waiting; the caller still owns the job. */
int worker_submit(struct worker *worker, struct worker_job *job);
/*
 * Queues a query. -EBUSY: 64 jobs are waiting. The limit is lower than the limit for other jobs, so
 * that queries cannot fill the queue and block writes.
 */
int worker_submit_query(struct worker *worker, struct worker_job *job);

#endif
