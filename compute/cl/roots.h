/* SPDX-License-Identifier: MIT */
/*
 * Finds submissions that depend on the program. A user event is a root until the program sets it. A
 * command that waits for a root, or for a command that does, cannot begin before the program acts.
 * Such a command must not wait in the gate, because the waiting thread may be the one that sets the
 * event.
 *
 * User events, markers and barriers need no device time and never wait in the gate, but they decide
 * which later submissions depend on the program.
 *
 * A set of roots is a bit mask. All user events beyond ROOTS_MAX - 1 share the last bit.
 */
#ifndef COMPUTE_CL_ROOTS_H
#define COMPUTE_CL_ROOTS_H

#include <stdint.h>

#include "compute/cl/target.h"

#define ROOTS_MAX 64

/* The program has set a user event. Commands that waited only for it no longer have a root. */
void roots_remove(cl_event event);

/* Returns the roots of the events in a wait list. Costs one load if there is no root at all. */
uint64_t roots_of(cl_uint n, const cl_event *list);

/* Returns the roots in @roots that still exist. */
uint64_t roots_living(uint64_t roots);

/* Returns how many references to @event the table holds. */
unsigned int roots_references_to(cl_event event);

/* Records that @event belongs to a command with @roots. Retains the event while this is so. */
void roots_derive(cl_event event, uint64_t roots);

#endif
