/* SPDX-License-Identifier: MIT */
/*
 * Events of sliced launches. The event of the last part completes when all parts have completed,
 * and the program gets it. Its times begin with those of the first part.
 */
#ifndef COMPUTE_CL_SLICE_EVENT_H
#define COMPUTE_CL_SLICE_EVENT_H

#include "compute/cl/target.h"

/* The program has got the event @last. Takes the reference to @first. */
void slice_event_add(cl_event last, cl_event first);

/*
 * Returns the event that has the time @name of the launch of @event: @event itself, or that of its
 * first part. The program may use @event, so both exist.
 */
cl_event slice_event_timed(cl_event event, cl_profiling_info name);

void slice_event_install(cl_icd_dispatch *table);

#endif
