/* SPDX-License-Identifier: MIT */
/*
 * The connection to the cloud of the configuration: none, or OpenStack. Used by one thread: each
 * thread has its own token and connections, so that no thread waits for another.
 */
#ifndef GOVER_FLEET_CLOUD_H
#define GOVER_FLEET_CLOUD_H

#include "gover-fleet/cloud/placement.h"
#include "gover-fleet/config/fleet-config.h"
#include "gover-fleet/host/follower.h"

struct cloud;

/*
 * Without a cloud, *@ret_cloud is NULL, which all functions below accept. @limit_ms: of one
 * request. No connection is made yet.
 */
int cloud_new(const struct fleet_config *config, int limit_ms, struct cloud **ret_cloud,
	      struct err *reterr);
struct cloud *cloud_free(struct cloud *cloud); /* returns NULL */

/*
 * Makes the cloud equal to @wanted, and sets the state, the address, the problem and the leaks of
 * @report. Returns the time in ms after which the caller tries again at the latest.
 */
int cloud_publish(struct cloud *cloud, const struct wanted *wanted, struct report *report);

/*
 * Returns the number of allocations of the class @slot on @gpu that the last cloud_publish() has
 * seen; 0 if it failed.
 */
int cloud_used(const struct cloud *cloud, const char *gpu, const char *slot);

/*
 * Reads the consumers of the allocations on @gpu, a GPU that cloud_used() knows. Returns 0, or a
 * negative errno with a message.
 */
int cloud_consumers(struct cloud *cloud, const char *gpu, struct allocations *ret_consumers,
		    struct err *reterr);

/*
 * Withdraws all offers without knowing the contracts: each class keeps its allocations. Returns 0,
 * or -EIO with a message.
 */
int cloud_withdraw(struct cloud *cloud, struct err *reterr);

/* Returns the keystone of @cloud for another client of the cloud; NULL without a cloud. */
struct keystone *cloud_keystone(struct cloud *cloud);

/* Returns the connection to Placement, which @cloud owns; NULL without a cloud. */
struct service *cloud_placement(struct cloud *cloud);

#endif
