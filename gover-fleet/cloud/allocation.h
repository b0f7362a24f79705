/* SPDX-License-Identifier: MIT */
/* The allocations of slots in Placement: of a server on this host, and of all on a GPU. */
#ifndef GOVER_FLEET_CLOUD_ALLOCATION_H
#define GOVER_FLEET_CLOUD_ALLOCATION_H

#include "gover-fleet/cloud/keystone.h"
#include "gover-fleet/cloud/placement.h"
#include "gover-fleet/model/hold.h"
#include "gover-fleet/model/wanted.h"

#define ALLOCATIONS_MAX	       256
#define ALLOCATIONS_SERVER_MAX 4 /* slots of a server, each of which costs a request */

/*
 * Slots, ordered by UUID: those of a server, each with the UUID of its provider, or those of a
 * provider, each with the UUID of its consumer.
 */
struct allocations {
	struct hold_consumer list[ALLOCATIONS_MAX];
	size_t n;
};

/*
 * Parses the reply to GET /allocations/SERVER or to GET /resource_providers/UUID/allocations. Other
 * classes than those of gover are ignored. @max: limit of slots, at most ALLOCATIONS_MAX. Returns 0
 * or -EPROTO with a message.
 */
int allocation_parse(const json_t *json, size_t max, struct allocations *ret_allocations,
		     struct err *reterr);

/*
 * Parses the reply to GET /resource_providers/UUID. Returns 0 and the GPU, 1 if the provider does
 * not belong to gover on @host, or -EPROTO with a message.
 */
int allocation_parse_gpu(const json_t *json, const char *host, char ret_gpu[ID_MAX],
			 struct err *reterr);

/*
 * Asks Placement, with one request for the server and one for each of its slots.
 * Returns 0, 1 if the server has no slot on @host, or a negative errno of service_request().
 */
int allocation_find(struct service *placement, const char *host, const char *server,
		    char ret_class[WANTED_CLASS_MAX], char ret_gpu[ID_MAX], struct err *reterr);

/*
 * Reads the consumers of the provider @uuid, with one request. Returns 0 or a negative errno of
 * service_request().
 */
int allocation_read_consumers(struct service *placement, const char *uuid,
			      struct allocations *ret_consumers, struct err *reterr);

#endif
