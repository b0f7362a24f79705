/* SPDX-License-Identifier: MIT */
/* The connection to the cloud of the configuration: none, or OpenStack. */
#ifndef GOVER_FLEET_LINK_H
#define GOVER_FLEET_LINK_H

#include "gover-fleet/claim/claim.h"
#include "gover-fleet/config/fleet-config.h"
#include "gover-fleet/host/fleet-report.h"

struct link; /* used by one thread */

/* Without a cloud, *@ret_link is NULL, which all functions below accept. */
int link_new(const struct fleet_config *config, struct link **ret_link, struct err *reterr);
struct link *link_free(struct link *link); /* returns NULL */

/*
 * Makes the cloud equal to @wanted, and sets the state, the problem and the leaks of @report.
 * Returns the seconds after which the caller tries again at the latest.
 */
int link_publish(struct link *link, const struct wanted *wanted, struct report *report);

/* Withdraws all offers, without knowing the contracts: the classes keep what is allocated. */
int link_withdraw(struct link *link, struct err *reterr);

/* The source of allocations for claims; it uses @link. */
struct claim_source link_source(struct link *link);

#endif
