/* SPDX-License-Identifier: MIT */
/*
 * The environment of the device double:
 *	GOVER_DOUBLE		path of the state file; required
 *	GOVER_DOUBLE_MEMORY	size of the device memory in bytes, used when the file is created
 *	GOVER_DOUBLE_LABEL	the tenant of this process; default: its control group
 *	GOVER_DOUBLE_KERNELS	times of kernels: see device/duration.h
 */
#ifndef TESTS_DOUBLE_SETUP_H
#define TESTS_DOUBLE_SETUP_H

#include <stdint.h>

#include "tests/double/device/device.h"

struct setup {
	const char *path;
	uint64_t memory_bytes;
	char label[DEVICE_LABEL];
};

/* Reads the environment. Prints an error on stderr and returns -EINVAL, or -ENOENT without a path.
 */
int setup_read(struct setup *ret_setup);

/* The value of GOVER_DOUBLE_KERNELS, or "". */
const char *setup_kernels(void);

#endif
