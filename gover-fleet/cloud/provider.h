/* SPDX-License-Identifier: MIT */
/*
 * One provider of a GPU in Placement: read, create, write, delete. Each write contains the
 * generation of the last read, so that Placement refuses it if anything has changed in between.
 *
 * Functions return 0, one of the codes below, or a negative errno of service_request(); -EPROTO
 * also if Placement refuses a document for another reason. @reterr has the message of each.
 */
#ifndef GOVER_FLEET_CLOUD_PROVIDER_H
#define GOVER_FLEET_CLOUD_PROVIDER_H

#include "gover-fleet/cloud/difference.h"
#include "gover-fleet/cloud/service.h"

#define PROVIDER_CHANGED   1 /* the provider was changed: read it again and decide anew */
#define PROVIDER_GONE	   2 /* the provider was removed, or another one has its name */
#define PROVIDER_NO_PARENT 3 /* the provider of the compute node no longer exists */

struct provider {
	struct placement_gpu id;
	bool known; /* @seen is the content at the generation id.generation */
	struct seen seen;
};

/* Reads the content. Returns PROVIDER_CHANGED if it changed between two requests. */
int provider_read(struct service *service, struct provider *provider, struct err *reterr);

/*
 * Creates the provider of @gpu below the provider @root of compute node @host. *ret_provider is
 * known and empty.
 */
int provider_create(struct service *service, const char *host, const char *root, const char *gpu,
		    struct provider *ret_provider, struct err *reterr);

/* Creates a custom trait. Succeeds if it exists. */
int provider_create_trait(struct service *service, const char *name, struct err *reterr);

/*
 * Writes the parts that differ, and creates classes and traits that Placement does not know.
 * Increments *writes for each part that was written. @provider must be known; it has the new
 * content of each part that was written. After -ECONNRESET it may be old, as after
 * PROVIDER_CHANGED.
 */
int provider_write(struct service *service, struct provider *provider,
		   const struct difference *difference, int *writes, struct err *reterr);

/* Deletes the provider. Succeeds if it does not exist. PROVIDER_CHANGED: it has allocations. */
int provider_delete(struct service *service, const struct provider *provider, struct err *reterr);

#endif
