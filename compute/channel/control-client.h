/* SPDX-License-Identifier: MIT */
/* The client side of the control protocol (control.h): one connection, one request at a time. */
#ifndef COMPUTE_CHANNEL_CONTROL_CLIENT_H
#define COMPUTE_CHANNEL_CONTROL_CLIENT_H

#include "compute/channel/control.h"

struct compute_control {
	int fd; /* -1: not connected */
	uint32_t serial;
};

#define COMPUTE_CONTROL_NULL ((struct compute_control){.fd = -1})

/*
 * Connects to the control socket at @path. Does not wait. Returns 0 or a negative errno: -EAGAIN:
 * the arbiter has too many unaccepted connections; -ENAMETOOLONG: @path does not fit.
 */
int compute_control_open(struct compute_control *control, const char *path);

/* Closes the connection, if there is one. */
void compute_control_close(struct compute_control *control);

/*
 * Sends @request, whose serial is set here, and waits for its reply at most @limit_ms. Returns 0
 * and the reply, which may contain an error of the arbiter; or a negative errno: -ENOTCONN,
 * -ETIMEDOUT, -EPROTO (invalid reply), -ECONNRESET (the arbiter has ended). After a negative errno
 * the connection is closed, so that a late reply cannot be taken for the next.
 */
int compute_control_call(struct compute_control *control, struct compute_request *request,
			 int limit_ms, struct compute_reply *ret_reply);

/*
 * Reads all tenants in order of their indices. Stores the first @max of them in @tenants. Returns 0
 * and the number of existing tenants, or the errors of compute_control_call(). -EPROTO: the arbiter
 * reports more than 65,536 tenants. @limit_ms is the
 * limit of each request; there is at most one for every COMPUTE_LIST_MAX tenants.
 */
int compute_control_list(struct compute_control *control, int limit_ms,
			 struct compute_tenant *tenants, unsigned int max,
			 struct compute_device *ret_device, unsigned int *ret_n);

#endif
