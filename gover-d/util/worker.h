/* SPDX-License-Identifier: MIT */
/*
 * Threads for jobs that may block on a disk, so that the event loop never blocks. For each job,
 * run() is called in a thread, then done() in the event loop. With one thread, jobs run in the
 * order of submission.
 *
 * Each job belongs to a client. The jobs of one client start in the order of submission. Clients
 * with waiting jobs take turns, so that a client with many jobs does not delay the other clients.
 */
#ifndef GOVER_D_UTIL_WORKER_H
#define GOVER_D_UTIL_WORKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#define WORKER_THREADS_MAX 4

struct worker_job {
	void (*run)(struct worker_job *job);  /* runs in a thread; must access only the job */
	void (*done)(struct worker_job *job); /* runs in the event loop; frees the job */
	const char *client;		      /* owned by the job; NULL: no particular client */
	uint64_t turn;			      /* used by the worker */
	struct worker_job *next;	      /* next in worker.queue or worker.finished */
};

struct worker_limits {
	const char *name; /* name of the threads, at most 15 characters */
	int threads;	  /* 1..WORKER_THREADS_MAX */
	int waiting_max;  /* of all clients together */
	int client_max;	  /* waiting jobs of one client */
};

struct worker;
int worker_new(sd_event *event, const struct worker_limits *limits, struct worker **ret_worker);
/*
 * Finishes all queued jobs, including their done(), and ends the threads. @worker may be NULL.
 * Returns NULL.
 */
struct worker *worker_free(struct worker *worker);
/*
 * Returns a flag that becomes true when worker_free() begins. A job whose result is then worthless
 * should end soon after. The flag is valid in run() of each job.
 */
const atomic_bool *worker_stopping(const struct worker *worker);

/*
 * Queues a job. -EBUSY: waiting_max jobs are waiting. -EDQUOT: client_max jobs of this client are
 * waiting. -ESHUTDOWN: worker_free() has begun. After an error the caller still owns the job.
 */
int worker_submit(struct worker *worker, struct worker_job *job);

#endif
