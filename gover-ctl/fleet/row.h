/* SPDX-License-Identifier: MIT */
/* One host as a row of `fleet status`, from the replies of its gover-d and of Placement. Pure. */
#ifndef GOVER_CTL_FLEET_ROW_H
#define GOVER_CTL_FLEET_ROW_H

#include <jansson.h>

#include "gover-ctl/fleet/hosts.h"
#include "gover-ctl/verb/tables.h"

/* The replies of a host. NULL members: no such reply. */
struct row_replies {
	const json_t *host, *policy, *fleet;
	const json_t *published; /* list of {"class", "total", "used"}, summed over the GPUs */
	const char *problem;	 /* why the host, or Placement, did not reply; NULL: it did */
};

/* Returns the row as a new object. NULL: out of memory. */
json_t *row_make(const struct fleet_host *host, const struct row_replies *replies);

/* Adds the inventories and usages of one provider to the list row_replies.published. */
int row_add_provider(json_t *published, const json_t *inventories, const json_t *usages);

#endif
