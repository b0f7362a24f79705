/* SPDX-License-Identifier: MIT */
/*
 * Batches in flight. The last submission of a batch gets a completion callback. The event of the
 * newest submission of an unfinished batch is kept: if nothing else of the queue is in flight, the
 * callback is attached to it, so that the end of all work is noticed without an additional command
 * in the queue.
 *
 * PoCL calls no callback for a command that ends with an error. flight_sweep() therefore reads the
 * status. A batch ends once, in the callback or in a sweep.
 */
#ifndef COMPUTE_CL_FLIGHT_H
#define COMPUTE_CL_FLIGHT_H

#include <stdint.h>

#include "compute/cl/queue.h"
#include "compute/cl/target.h"

#define FLIGHTS_MAX 4096

struct flight;

/*
 * Adds a submission to its queue. Takes the reference to @event. Returns the batch that ends with
 * the submission, for flight_track(), or NULL.
 */
struct flight *flight_add(struct queue *queue, const struct batch_item *item, cl_event event);

/* Waits for the completion of a batch in the background. */
void flight_track(struct flight *flight);

/* Ends the batches that have completed, of @queue or, if it is NULL, of all queues. */
void flight_sweep(const struct queue *queue);

/* Returns how many references to @event batches hold. */
unsigned int flight_references_to(cl_event event);

#endif
