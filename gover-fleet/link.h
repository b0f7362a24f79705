/* SPDX-License-Identifier: MIT */
/*
 * The connection to the cloud of the configuration: none, or OpenStack. Used by one thread: each
 * thread has its own token and connections, so that no thread waits for another.
 */
#ifndef GOVER_FLEET_LINK_H
#define GOVER_FLEET_LINK_H

#include "gover-fleet/claim/claim.h"
#include "gover-fleet/cloud/allocation.h"
#include "gover-fleet/config/fleet-config.h"
#include "gover-fleet/host/fleet-report.h"

struct link;

/*
 * Without a cloud, *@ret_link is NULL, which all functions below accept. @limit_ms: of one request.
 * No connection is made yet.
 */
int link_new(const struct fleet_config *config, int limit_ms, struct link **ret_link,
	     struct err *reterr);
struct link *link_free(struct link *link); /* returns NULL */

/*
 * Makes the cloud equal to @wanted, and sets the state, the address, the problem and the leaks of
 * @report. Returns the time in ms after which the caller tries again at the latest.
 */
int link_publish(struct link *link, const struct wanted *wanted, struct report *report);

/*
 * Returns the number of allocations of the class @slot on @gpu that the last link_publish() has
 * seen; 0 if it failed.
 */
int link_used(const struct link *link, const char *gpu, const char *slot);

/*
 * Reads the consumers of the allocations on @gpu, a GPU that link_used() knows. Returns 0, or a
 * negative errno with a message.
 */
int link_consumers(struct link *link, const char *gpu, struct allocation_consumers *ret_consumers,
		   struct err *reterr);

/*
 * Withdraws all offers without knowing the contracts: each class keeps what is allocated. Returns
 * 0, or -EIO with a message.
 */
int link_withdraw(struct link *link, struct err *reterr);

/* Returns the keystone of @link for another client of the cloud; NULL without a cloud. */
struct keystone *link_keystone(struct link *link);

/* The source of allocations for claims; it uses @link. */
struct claim_source link_source(struct link *link);

#endif
