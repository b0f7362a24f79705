/* SPDX-License-Identifier: MIT */
/* gover-sim mount: the simulated sysfs tree as a file system in user space. */
#ifndef SIM_HOST_MOUNT_H
#define SIM_HOST_MOUNT_H

#include <stdbool.h>

#include "base/err.h"

struct mount_options {
	const char *dir;
	int gpus, vgpus;
	double speed; /* simulated seconds per second of real time */
	bool allow_other;
};

/*
 * Mounts the tree, serves until SIGTERM, SIGINT, SIGHUP or an umount, and unmounts the tree. -errno
 * with a message.
 */
int mount_run(const struct mount_options *options, struct err *reterr);

#endif
