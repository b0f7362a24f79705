/* SPDX-License-Identifier: MIT */
/*
 * A submission on its way through the layer. A hook calls submit_begin(), which waits until the
 * program has a turn, then the target, then submit_end(). Without an arbiter both do nothing.
 */
#ifndef COMPUTE_CL_SUBMIT_H
#define COMPUTE_CL_SUBMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "compute/cl/target.h"
#include "compute/tenant/batch.h"
#include "compute/tenant/gate.h"

/* Kinds of submissions that are no kernel, as objects of estimate_find(). */
enum submit_kind {
	SUBMIT_READ = 1,
	SUBMIT_WRITE,
	SUBMIT_COPY,
	SUBMIT_FILL,
	SUBMIT_MAP,
	SUBMIT_UNMAP,
	SUBMIT_MIGRATE,
	SUBMIT_SHARE,  /* acquire and release of objects of other APIs */
	SUBMIT_NATIVE, /* a function of the program */
};

#define QUEUE_PROPERTIES_MAX 16

/*
 * The layer's record of a command queue. The records are in a table of fixed size and are reused,
 * never freed, because a completion callback may refer to the record of a released queue.
 */
struct queue {
	cl_command_queue handle; /* NULL: never used; QUEUE_GONE: the queue was released */
	uint32_t references;	 /* of the program */
	bool out_of_order;
	bool measured; /* the target measures times, perhaps only for the layer */
	bool profiled; /* the program has asked for times */
	/* the properties with which the program has created the queue, ended by 0 */
	unsigned int n_properties; /* 0: not known */
	cl_queue_properties properties[QUEUE_PROPERTIES_MAX];
	struct batch_mark *mark; /* of its device */

	/* Under the lock, which is held for a few hundred nanoseconds. */
	bool locked;
	struct batch batch;   /* submissions since the last batch */
	cl_event newest;      /* of the newest submission in @batch; owned; NULL: none */
	unsigned int tracked; /* batches in flight */
	uint64_t roots;	      /* user events on which every further submission depends */
};

/* Returns the record, or NULL if the queue is unknown. Takes no lock. */
struct queue *submit_find_queue(cl_command_queue handle);

struct submission {
	struct queue *queue; /* NULL: the submission is not controlled */
	cl_command_queue handle;
	struct batch_item item;
	uint64_t roots;
	cl_event own;	 /* the layer's, if the program asked for none */
	cl_event *event; /* what the target must get */
};

/* The estimate of a kind is shared by all programs and kernels: see batch.h. */
static inline const void *submit_object(enum submit_kind kind)
{
	return (const void *)(uintptr_t)kind;
}

/* Returns the volume of a region of three dimensions, which the program may have left out. */
static inline uint64_t submit_volume(const size_t *region)
{
	return region ? (uint64_t)region[0] * region[1] * region[2] : 0;
}

/*
 * Waits until the program has a turn. @object, @size: see estimate_find(). @event: of the program,
 * may be NULL. Then the target must be called with @ret_submission->event, and its result be passed
 * to submit_end().
 */
void submit_begin(struct submission *ret_submission, cl_command_queue queue, const void *object,
		  uint64_t size, bool is_unit, cl_uint n, const cl_event *list, cl_event *event);

/*
 * The same for a part of a launch. @guess_ns: its device time if it was never measured; 0: not
 * known.
 */
void submit_begin_part(struct submission *ret_submission, cl_command_queue queue,
		       struct estimate *estimate, uint64_t guess_ns, bool is_unit, cl_uint n,
		       const cl_event *list, cl_event *event);

/* Returns true if a command with this wait list depends on the program: it waits for
 * a user event that is not set, or for a command that does. */
bool submit_depends(cl_command_queue queue, cl_uint n, const cl_event *list);

/* See gate_passes(). Written once. */
extern struct gate_passes submit_passes;

/* Returns true if a submission passes without submit_begin(). */
static inline bool submit_passes_freely(void)
{
	uint32_t left = __atomic_load_n(submit_passes.left, __ATOMIC_RELAXED);

	if (left <= 1 || __atomic_load_n(submit_passes.controlled, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(submit_passes.left, left - 1, __ATOMIC_RELAXED);
	return true;
}

/* Returns @result. */
cl_int submit_end(struct submission *submission, cl_int result);

/* Called while a thread waits: starts all submitted work, and ends the completed batches. */
void submit_tend(void);

#endif
