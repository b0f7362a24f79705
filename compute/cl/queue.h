/* SPDX-License-Identifier: MIT */
/*
 * The layer's records of command queues. They are in a table of fixed size and are reused, never
 * freed, because a completion callback may refer to the record of a released queue.
 */
#ifndef COMPUTE_CL_QUEUE_H
#define COMPUTE_CL_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "compute/cl/target.h"
#include "compute/tenant/batch.h"

#define QUEUES_MAX	     1024
#define QUEUE_PROPERTIES_MAX 16

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
struct queue *queue_find(cl_command_queue handle);

/* Returns how many queues keep @event as their newest. */
unsigned int queue_references_to(cl_event event);

/* Forgets all roots that are not in @living. */
void queue_keep_roots(uint64_t living);

/* Calls @visit for each queue that the program has not released. */
void queue_for_each(void (*visit)(struct queue *queue));

#endif
