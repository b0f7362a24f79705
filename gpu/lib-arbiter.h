/* SPDX-License-Identifier: MIT */
/*
 * The connection of the backend lib to gover-arbiter: starts the arbiter if none serves the socket,
 * and reads all tenants at once. After a lost connection, the next call connects again. An arbiter
 * is started at most once a second. Times are CLOCK_MONOTONIC and given by the caller.
 */
#ifndef GPU_LIB_ARBITER_H
#define GPU_LIB_ARBITER_H

#include <stdbool.h>

#include "base/err.h"
#include "base/id.h"
#include "compute/channel/control-client.h"
#include "gpu/io-sweep.h"

/* the tenant 0, the vGPUs, and some tenants of other programs */
#define LIB_TENANTS_MAX (GPU_IO_LISTED_MAX + 1)

struct lib_arbiter {
	/* set by the caller before the first call */
	char socket[GPU_SOCKET_MAX];
	/* name of the device, and discipline of an arbiter that is started */
	char name[ID_MAX], discipline[16];
	bool starts; /* false: never start an arbiter */

	struct compute_control control;
	uint64_t now_ns;   /* latest time that a caller has given */
	uint64_t start_ns; /* no arbiter is started before this time */
	uint64_t retry_ns; /* a stopped arbiter is not asked again before this time */

	/* The last listing. Settings of tenants may have changed since. */
	struct compute_device device;
	struct compute_tenant tenants[LIB_TENANTS_MAX];
	unsigned int n_tenants;
	uint64_t listing; /* number of listings so far; 0: none */
	bool stale;	  /* a request has changed a tenant since the listing */
};

/* Writes the path of the control socket of @socket. -ENAMETOOLONG: a socket cannot have it. */
int lib_arbiter_control_path(const char *socket, char ret_path[GPU_SOCKET_MAX]);

/*
 * Reads all tenants. Connects and starts the arbiter if necessary. Returns 0, or a negative errno
 * with a message that names the socket; the last listing is then lost.
 */
int lib_arbiter_list(struct lib_arbiter *arbiter, uint64_t now_ns, struct err *reterr);

/*
 * The following functions send one request on the open connection. They return 0, a negative errno
 * of compute_control_call() after which the connection is closed, or the negative errno in the
 * reply (control.h).
 */
/* Adds a tenant with the id and settings of @tenant, and also to the last listing. */
int lib_arbiter_add(struct lib_arbiter *arbiter, const struct compute_tenant *tenant);
int lib_arbiter_remove(struct lib_arbiter *arbiter, uint32_t index);
/* @verb: COMPUTE_SET_CAP (percent) or COMPUTE_SET_MEMORY (bytes). */
int lib_arbiter_set(struct lib_arbiter *arbiter, enum compute_verb verb, uint32_t index,
		    uint64_t value);
/* Sets @arbiter->discipline. */
int lib_arbiter_set_discipline(struct lib_arbiter *arbiter);

/* True if the last call has lost the connection, and not only been refused by the arbiter. */
bool lib_arbiter_lost(const struct lib_arbiter *arbiter);

/* Returns the tenant with @id in the last listing, or NULL. @index: its expected index. */
const struct compute_tenant *lib_arbiter_find(const struct lib_arbiter *arbiter, const char *id,
					      uint32_t index);

void lib_arbiter_close(struct lib_arbiter *arbiter);

#endif
