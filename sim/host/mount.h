/* SPDX-License-Identifier: MIT */
/* gover-sim mount: mounts the simulated sysfs tree as a file system in user space. */
#ifndef SIM_HOST_MOUNT_H
#define SIM_HOST_MOUNT_H

#include <stdbool.h>

#include "base/err.h"
#include "sim/host/tree.h"

struct mount_options {
	const char *dir;
	enum tree_host host;
	int gpus, vgpus;
	double speed; /* simulated seconds per real second */
	bool allow_other;
};

/*
 * Mounts the tree and serves it until SIGTERM, SIGINT, SIGHUP or an umount. Then unmounts the tree.
 * -errno with a message.
 */
int mount_run(const struct mount_options *options, struct err *reterr);

#endif
