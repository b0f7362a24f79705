/* SPDX-License-Identifier: MIT */
/* An allocation names the UUID of its provider; only the name of the provider names the GPU. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gover-fleet/cloud/allocation.h"

static int add_slot(struct allocation *allocation, const char *provider, const char *class_name,
		    struct err *reterr)
{
	struct allocation_slot *slot = &allocation->slots[allocation->n_slots];

	if (allocation->n_slots == ALLOCATION_SLOTS_MAX)
		return err_fail(reterr, EPROTO, "Placement: too many slots of a server (limit %d)",
				ALLOCATION_SLOTS_MAX);
	if (!id_valid(provider) || strlen(provider) >= sizeof(slot->provider) ||
	    strlen(class_name) >= sizeof(slot->class_name))
		return err_fail(reterr, EPROTO,
				"Placement: allocations: invalid provider or class");
	strcpy(slot->provider, provider);
	strcpy(slot->class_name, class_name);
	allocation->n_slots++;
	return 0;
}

static int add_provider(struct allocation *allocation, const char *provider, json_t *resources,
			struct err *reterr)
{
	int r = 0;

	if (!json_is_object(resources))
		return err_fail(reterr, EPROTO, "Placement: resources: missing or not an object");
	for (void *at = json_object_iter(resources); r == 0 && at;
	     at = json_object_iter_next(resources, at))
		if (wanted_is_slot(json_object_iter_key(at)))
			r = add_slot(allocation, provider, json_object_iter_key(at), reterr);
	return r;
}

int allocation_parse(const json_t *json, struct allocation *ret_allocation, struct err *reterr)
{
	json_t *providers = json_object_get(json, "allocations");
	int r = 0;

	ret_allocation->n_slots = 0;
	if (!json_is_object(providers))
		return err_fail(reterr, EPROTO, "Placement: allocations: missing or not an object");
	for (void *at = json_object_iter(providers); r == 0 && at;
	     at = json_object_iter_next(providers, at))
		r = add_provider(ret_allocation, json_object_iter_key(at),
				 json_object_get(json_object_iter_value(at), "resources"), reterr);
	return r;
}

int allocation_parse_gpu(const json_t *json, const char *host, char ret_gpu[ID_MAX],
			 struct err *reterr)
{
	const char *name = json_string_value(json_object_get(json, "name"));
	char prefix[PLACEMENT_NAME_MAX];

	if (!name)
		return err_fail(reterr, EPROTO, "Placement: name: missing or not a text");
	if (placement_name(host, "", prefix) < 0 || strncmp(name, prefix, strlen(prefix)) != 0 ||
	    !id_valid(name + strlen(prefix)))
		return 1;
	strcpy(ret_gpu, name + strlen(prefix));
	return 0;
}

static int find_gpu(struct service *placement, const char *host, const char *provider,
		    char ret_gpu[ID_MAX], struct err *reterr)
{
	CLEANUP_REPLY struct reply reply = {0};
	char path[PLACEMENT_UUID_MAX + 32];
	int r;

	snprintf(path, sizeof(path), "/resource_providers/%s", provider);
	r = service_get(placement, path, &reply, reterr);
	return r < 0 ? r : allocation_parse_gpu(reply.json, host, ret_gpu, reterr);
}

int allocation_find(struct service *placement, const char *host, const char *server,
		    char ret_class[WANTED_CLASS_MAX], char ret_gpu[ID_MAX], struct err *reterr)
{
	CLEANUP_REPLY struct reply reply = {0};
	struct allocation allocation;
	char path[ID_MAX + 32];
	int r;

	if (!id_valid(server))
		return err_fail(reterr, EINVAL, "server '%.60s': not a valid UUID", server);
	snprintf(path, sizeof(path), "/allocations/%s", server);
	r = service_get(placement, path, &reply, reterr);
	if (r == 0)
		r = allocation_parse(reply.json, &allocation, reterr);
	if (r < 0)
		return r;
	r = 1;
	for (size_t i = 0; r == 1 && i < allocation.n_slots; i++) {
		const struct allocation_slot *slot = &allocation.slots[i];

		r = find_gpu(placement, host, slot->provider, ret_gpu, reterr);
		if (r == 0)
			memcpy(ret_class, slot->class_name, WANTED_CLASS_MAX);
	}
	return r;
}

/* --- consumers of a GPU --- */

static int add_consumer(struct allocation_consumers *consumers, const char *uuid, json_t *resources,
			struct err *reterr)
{
	const char *name;
	json_t *amount;

	if (!json_is_object(resources))
		return err_fail(reterr, EPROTO, "Placement: resources: missing or not an object");
	json_object_foreach (resources, name, amount) {
		struct hold_consumer *consumer = &consumers->list[consumers->n];

		if (!wanted_is_slot(name))
			continue;
		if (consumers->n == ALLOCATION_CONSUMERS_MAX)
			return err_fail(reterr, EPROTO,
					"Placement: too many consumers of a GPU (limit %d)",
					ALLOCATION_CONSUMERS_MAX);
		if (!id_valid(uuid) || strlen(uuid) >= sizeof(consumer->uuid) ||
		    strlen(name) >= sizeof(consumer->slot))
			return err_fail(reterr, EPROTO,
					"Placement: allocations: invalid consumer or class");
		strcpy(consumer->uuid, uuid);
		strcpy(consumer->slot, name);
		consumers->n++;
	}
	return 0;
}

static int compare_consumers(const void *a, const void *b)
{
	const struct hold_consumer *first = a, *second = b;

	return strcmp(first->uuid, second->uuid);
}

int allocation_parse_consumers(const json_t *json, struct allocation_consumers *ret_consumers,
			       struct err *reterr)
{
	json_t *all = json_object_get(json, "allocations"), *one;
	const char *uuid;
	int r = 0;

	ret_consumers->n = 0;
	if (!json_is_object(all))
		return err_fail(reterr, EPROTO, "Placement: allocations: missing or not an object");
	json_object_foreach (all, uuid, one) {
		r = add_consumer(ret_consumers, uuid, json_object_get(one, "resources"), reterr);
		if (r < 0)
			return r;
	}
	qsort(ret_consumers->list, ret_consumers->n, sizeof(ret_consumers->list[0]),
	      compare_consumers);
	return 0;
}

int allocation_read_consumers(struct service *placement, const char *uuid,
			      struct allocation_consumers *ret_consumers, struct err *reterr)
{
	CLEANUP_REPLY struct reply reply = {0};
	char path[PLACEMENT_UUID_MAX + 64];
	int r;

	snprintf(path, sizeof(path), "/resource_providers/%s/allocations", uuid);
	r = service_get(placement, path, &reply, reterr);
	return r < 0 ? r : allocation_parse_consumers(reply.json, ret_consumers, reterr);
}
