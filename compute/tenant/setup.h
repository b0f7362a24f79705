/* SPDX-License-Identifier: MIT */
/* The settings of the compute layer in this program, read once from the environment. */
#ifndef COMPUTE_TENANT_SETUP_H
#define COMPUTE_TENANT_SETUP_H

#include <stdbool.h>
#include <sys/un.h>

struct tenant_setup {
	bool off; /* the layer does nothing */
	bool debug;
	bool slice;		  /* long launches of kernels are cut into parts */
	unsigned int slice_parts; /* parts of every launch; 0: see compute/cl/slice.h */
	struct sockaddr_un arbiter;
};

#define TENANT_SLICE_PARTS_MAX 10000

/*
 * Reads GOVER_CL (unix:PATH or off; unset: unix:COMPUTE_DEFAULT_SOCKET), GOVER_CL_DEBUG (1: print
 * debug lines) and GOVER_CL_SLICE (0: cut no launch; 2 to TENANT_SLICE_PARTS_MAX: cut every launch
 * into about this many parts; any other value is like 0). Any other value of GOVER_CL turns the
 * layer off, as does a setuid, setgid or otherwise privileged program.
 */
void tenant_setup_read(struct tenant_setup *ret_setup);

#endif
