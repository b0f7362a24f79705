/* SPDX-License-Identifier: MIT */
/*
 * The positive control of the source fdinfo. A GPU without a client is idle only if a client would
 * have been seen. That is shown by the DRM file that the control itself opens once, or, where it
 * may not open one, by a driver and a kernel that are known to publish the use of clients.
 */
#ifndef MONITOR_TRUTH_CONTROL_H
#define MONITOR_TRUTH_CONTROL_H

#include <sys/types.h>

#include "base/err.h"
#include "monitor/truth/device.h"

#define CONTROL_NODES_MAX 8

/* State of the control; control_init() initialises it. */
struct control {
	char sysfs[128];
	char device[FDINFO_NAME_MAX]; /* as in struct truth_config */
	char path[PATH_MAX];	      /* of the device in sysfs; "": not found */
	char driver[FDINFO_NAME_MAX]; /* "": none */
	dev_t nodes[CONTROL_NODES_MAX];
	int n_nodes;
	char render[FDINFO_NAME_MAX]; /* name of its render node; "": none */
	enum control_result {
		CONTROL_OPEN, /* not tested yet, or the render node cannot be opened */
		CONTROL_PASSED,
		CONTROL_FAILED,
	} result;
	unsigned wait; /* samples until the next test */
};

void control_init(struct control *control, const char *sysfs, const char *device);
/* Looks for the device and its driver again. Called once per sample. */
void control_refresh(struct control *control);
/* Returns false with a message if the driver counts nothing at present. */
bool control_counts(const struct control *control, struct err *ret_problem);
/*
 * Returns false with a message if it is not shown that a client of the device would be seen. @proc:
 * descriptor of the proc file system.
 */
bool control_publishes(struct control *control, int proc, struct err *ret_problem);
/* A client of the device was seen. This holds until its driver changes. */
void control_pass(struct control *control);
/* Returns 1 if @node is a DRM node of the device, 0 if it is another file, -1 if that is unknown.
 */
int control_owns(const struct control *control, dev_t node);
/* True if the text of a client shows that its driver publishes the use of clients. */
bool control_has_times(const struct fdinfo *info);
/* True if @driver of the kernel @release is known to publish the use of clients. */
bool control_knows(const char *driver, const char *release);

#endif
