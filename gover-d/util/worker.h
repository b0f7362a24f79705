/* SPDX-License-Identifier: MIT */
/*
 * A thread for jobs that may block on a disk (history queries, writes of the contracts file), so
 * that the event loop never does. run() is called in the thread, then done() in the loop; jobs run
 * one at a time in the order of submission.
 */
#ifndef GOVER_D_UTIL_WORKER_H
#define GOVER_D_UTIL_WORKER_H

#include <systemd/sd-event.h>

struct worker_job {
	void (*run)(struct worker_job *job);  /* in the thread; accesses only the job */
	void (*done)(struct worker_job *job); /* in the loop; frees the job */
	struct worker_job *next;	      /* worker.queue or worker.finished */
};

struct worker;
int worker_new(sd_event *event, struct worker **ret_worker);
/* Finishes all queued jobs, including done(), and ends the thread. NULL is fine; returns NULL. */
struct worker *worker_free(struct worker *worker);
/* -EBUSY: 256 jobs are waiting; the caller keeps the job. */
int worker_submit(struct worker *worker, struct worker_job *job);
/* The same with a limit of 64, for queries, so that writes are not refused because of them. */
int worker_submit_query(struct worker *worker, struct worker_job *job);

#endif
