/* SPDX-License-Identifier: MIT */
/* Sends the requests to all hosts at the same time, so that a host without an answer delays no
 * other. */
#ifndef GOVER_CTL_FLEET_GATHER_H
#define GOVER_CTL_FLEET_GATHER_H

#include <jansson.h>

#include "gover-ctl/ctl.h"
#include "gover-ctl/fleet/hosts.h"

struct gather_options {
	struct ctl_files files;	     /* for hosts */
	long limit_ms;		     /* for all requests to one host */
	const char *placement;	     /* URL; NULL: Placement is not asked */
	const char *placement_token; /* a valid token */
};

/*
 * Returns an object with the list "hosts" of rows (row.h), in the order of @hosts, and the number
 * of hosts with a problem. NULL: out of memory, or no thread could be started.
 */
json_t *gather_rows(const struct fleet_hosts *hosts, const struct gather_options *options,
		    size_t *ret_problems);

#endif
