/* SPDX-License-Identifier: MIT */
/* A table from the event of the last part to that of the first part. */
#include <stdbool.h>
#include <stdlib.h>

#include "compute/cl/record.h"
#include "compute/cl/slice-event.h"

struct timed {
	struct record record;
	cl_event first;
};

static struct record_table events = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static unsigned int n_events; /* the table is not searched while it is empty */

static bool is_empty(void)
{
	return __atomic_load_n(&n_events, __ATOMIC_ACQUIRE) == 0;
}

void slice_event_add(cl_event last, cl_event first)
{
	struct timed *timed = malloc(sizeof(*timed));

	if (!timed) {
		(void)target.clReleaseEvent(first);
		return;
	}
	timed->first = first;
	cl_record_add(&events, &timed->record, last);
	(void)__atomic_add_fetch(&n_events, 1, __ATOMIC_RELEASE);
}

cl_event slice_event_timed(cl_event event, cl_profiling_info name)
{
	const struct timed *timed;

	if (is_empty() || name == CL_PROFILING_COMMAND_END || name == CL_PROFILING_COMMAND_COMPLETE)
		return event;
	timed = (const struct timed *)cl_record_find(&events, event);
	return timed ? timed->first : event;
}

static cl_int CL_API_CALL retain(cl_event event)
{
	cl_int result = target.clRetainEvent(event);

	if (result == CL_SUCCESS && !is_empty())
		cl_record_retain(&events, event);
	return result;
}

static cl_int CL_API_CALL release(cl_event event)
{
	struct timed *timed = is_empty() ? NULL : (struct timed *)cl_record_release(&events, event);

	if (timed) {
		(void)__atomic_sub_fetch(&n_events, 1, __ATOMIC_RELEASE);
		(void)target.clReleaseEvent(timed->first);
		free(timed);
	}
	return target.clReleaseEvent(event);
}

void slice_event_install(cl_icd_dispatch *table)
{
	INSTALL(table, clRetainEvent, retain);
	INSTALL(table, clReleaseEvent, release);
}
