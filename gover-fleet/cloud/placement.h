/* SPDX-License-Identifier: MIT */
/*
 * The documents of OpenStack Placement (microversion 1.36): requests as JSON, and replies parsed
 * strictly and with limits. Pure.
 *
 * Parsers return 0, or -EPROTO if the document has another form or is too large; the message names
 * the rejected member. Encoders return a new reference.
 */
#ifndef GOVER_FLEET_CLOUD_PLACEMENT_H
#define GOVER_FLEET_CLOUD_PLACEMENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id.h"
#include "gover-fleet/cloud/keystone.h"
#include "gover-fleet/model/hold.h"
#include "gover-fleet/model/mapping.h"

/* Sizes of texts with their NUL, as Placement limits them. */
#define PLACEMENT_UUID_MAX 37
#define PLACEMENT_NAME_MAX 201 /* name of a provider */
#define PLACEMENT_WORD_MAX 256 /* name of a class or of a trait */

#define PLACEMENT_GPUS_MAX    32
#define PLACEMENT_CLASSES_MAX 32
#define PLACEMENT_TRAITS_MAX  64
#define PLACEMENT_TOTAL_MAX   INT32_MAX

/* The provider of a GPU. */
struct placement_gpu {
	char uuid[PLACEMENT_UUID_MAX];
	char gpu[ID_MAX];   /* the part of the name behind HOST_gover_ */
	int64_t generation; /* Placement increments it at each change, allocations included */
};

/* The providers of GPUs below the provider of a compute node. */
struct placement_tree {
	bool has_root; /* the provider of the compute node exists */
	struct placement_gpu gpus[PLACEMENT_GPUS_MAX];
	size_t n_gpus;
};

struct placement_inventory {
	char name[PLACEMENT_WORD_MAX]; /* class */
	int total, reserved;
	/* true: other members differ from those of placement_encode_inventories() */
	bool other;
};

struct placement_inventories {
	int64_t generation;
	struct placement_inventory classes[PLACEMENT_CLASSES_MAX];
	size_t n_classes;
};

struct placement_traits {
	int64_t generation;
	char names[PLACEMENT_TRAITS_MAX][PLACEMENT_WORD_MAX];
	size_t n_names;
};

struct placement_usage {
	char name[PLACEMENT_WORD_MAX]; /* class */
	int used;		       /* allocated units */
};

struct placement_usages {
	int64_t generation;
	struct placement_usage classes[PLACEMENT_CLASSES_MAX];
	size_t n_classes;
};

/* Writes the name of the provider of a GPU. Returns -ENAMETOOLONG if Placement would reject it. */
int placement_name(const char *host, const char *gpu, char ret_name[PLACEMENT_NAME_MAX]);

/*
 * Parses the reply to GET /resource_providers?name=HOST. Returns -ENOENT if no provider without a
 * parent has this name.
 */
int placement_parse_root(const json_t *json, const char *host, char ret_uuid[PLACEMENT_UUID_MAX],
			 struct err *reterr);

/*
 * Parses the reply to GET /resource_providers?in_tree=ROOT. Ignores providers that do not belong
 * to gover: another parent than @root, or another name than HOST_gover_GPU.
 */
int placement_parse_tree(const json_t *json, const char *host, const char *root,
			 struct placement_tree *ret_tree, struct err *reterr);

/* Parses the reply to POST /resource_providers. */
int placement_parse_created(const json_t *json, struct placement_gpu *ret_gpu, struct err *reterr);

/* Parses the reply to PUT /resource_providers/UUID/inventories/NAME. */
int placement_parse_inventory(const json_t *json, const char *name,
			      struct placement_inventory *ret_inventory, int64_t *ret_generation,
			      struct err *reterr);

/* Parses a reply to GET or PUT /resource_providers/UUID/{inventories, traits, usages}. */
int placement_parse_inventories(const json_t *json, struct placement_inventories *ret_inventories,
				struct err *reterr);
int placement_parse_traits(const json_t *json, struct placement_traits *ret_traits,
			   struct err *reterr);
int placement_parse_usages(const json_t *json, struct placement_usages *ret_usages,
			   struct err *reterr);

/* Returns the text of the first error in a reply, which belongs to @json; "" if there is none. */
const char *placement_error_detail(const json_t *json);

/*
 * The bodies of POST /resource_providers and of PUT .../inventories/NAME, .../inventories and
 * .../traits. @generation: of the last read; the write is refused if it is not the present one.
 */
json_t *placement_encode_provider(const char *name, const char *uuid, const char *parent);
json_t *placement_encode_inventory(const struct placement_inventory *inventory, int64_t generation);
json_t *placement_encode_inventories(const struct placement_inventories *inventories,
				     int64_t generation);
json_t *placement_encode_traits(const struct placement_traits *traits, int64_t generation);

/* Returns the index of a class or a trait, or -1. */
int placement_find_inventory(const struct placement_inventories *inventories, const char *name);
int placement_find_usage(const struct placement_usages *usages, const char *name);

/* What a provider contains, all read at one generation. */
struct seen {
	struct placement_inventories inventories;
	struct placement_traits traits;
	struct placement_usages usages;
};

/* The content that a provider must get. The generations are not set. */
struct difference {
	struct placement_inventories inventories;
	struct placement_traits traits;
	bool write_inventories, write_traits;
	/*
	 * True: write the traits before the inventories. The write that stops sales comes first, so
	 * that no slot is schedulable in between.
	 */
	bool traits_first;
};

/*
 * Computes the difference. @wanted NULL: the GPU is not wanted, and no slot of it may be sold. A
 * class that is not wanted is removed, or reserved as a whole while it has allocations. Traits of
 * others are kept. Returns 0, or -E2BIG if there are too many classes or traits, or a total above
 * PLACEMENT_TOTAL_MAX.
 */
int difference_compute(const struct wanted_gpu *wanted, const struct seen *seen,
		       struct difference *ret_difference);

/*
 * Returns the index of the only class in @difference->inventories that differs from @seen, or -1:
 * several classes differ, or one was added or removed.
 */
int difference_only_class(const struct difference *difference, const struct seen *seen);

/* Like difference_compute(), but keeps the traits, and sets each total to the allocated units. */
void difference_withdraw(const struct seen *seen, struct difference *ret_difference);

/* --- the allocations of slots: of a server on this host, and of all on a GPU --- */

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
