/* SPDX-License-Identifier: MIT */
/* User events, which the application completes. Commands that wait for them are submitted then. */
#include "tests/double/api.h"
#include "tests/double/engine.h"
#include "tests/double/event.h"

cl_event double_clCreateUserEvent(cl_context context, cl_int *ret_code)
{
	cl_event event;

	if (!object_is(context, OBJECT_CONTEXT))
		return result(NULL, CL_INVALID_CONTEXT, ret_code);
	event = event_new(context, NULL, CL_COMMAND_USER);
	return result(event, event ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY, ret_code);
}

cl_int double_clSetUserEventStatus(cl_event event, cl_int status)
{
	cl_int code = CL_SUCCESS;

	if (!object_is(event, OBJECT_EVENT) || event->queue)
		return CL_INVALID_EVENT;
	if (status > CL_COMPLETE)
		return CL_INVALID_VALUE;
	pthread_mutex_lock(&event_lock);
	if (event->status <= CL_COMPLETE)
		code = CL_INVALID_OPERATION;
	else
		engine_complete(event, status);
	pthread_mutex_unlock(&event_lock);
	return code;
}
