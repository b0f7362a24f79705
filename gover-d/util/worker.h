/* SPDX-License-Identifier: MIT */
/*
 * One thread for what may wait on a disk (history queries, writing the contracts file), so that the
 * loop never does. A job's run() is called in the thread, its done() in the loop afterwards, in the
 * order they were given.
 */
#ifndef GOVER_D_UTIL_WORKER_H
#define GOVER_D_UTIL_WORKER_H

#include <systemd/sd-event.h>

struct worker_job {
	void (*run)(struct worker_job *job);  /* worker thread; touches nothing but the job */
	void (*done)(struct worker_job *job); /* loop; owns the job from here and frees it */
	struct worker_job *next;	      /* worker.queue or worker.finished */
};

struct worker;
int worker_new(sd_event *event, struct worker **ret_worker);
/* Finishes what is queued, calls done() for it, ends the thread. NULL is fine; returns NULL. */
struct worker *worker_free(struct worker *worker);
/* -EBUSY: 256 jobs wait; the job stays the caller's. */
int worker_submit(struct worker *worker, struct worker_job *job);
/* The same of what may be refused for the sake of the others: 64 are enough. */
int worker_submit_query(struct worker *worker, struct worker_job *job);

#endif
