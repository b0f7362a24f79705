/* SPDX-License-Identifier: MIT */
/* An allocation names the UUID of its provider; only the name of the provider names the GPU. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gover-fleet/cloud/allocation.h"

static int add_slots(struct allocations *all, size_t max, const char *uuid, json_t *resources,
		     struct err *reterr)
{
	const char *name;
	json_t *amount;

	if (!json_is_object(resources))
		return err_fail(reterr, EPROTO, "Placement: resources: missing or not an object");
	json_object_foreach (resources, name, amount) {
		struct hold_consumer *slot = &all->list[all->n];

		if (!wanted_is_slot(name))
			continue;
		if (all->n == max)
			return err_fail(reterr, EPROTO, "Placement: too many slots (limit %zu)",
					max);
		if (!id_valid(uuid) || strlen(uuid) >= sizeof(slot->uuid) ||
		    strlen(name) >= sizeof(slot->slot))
			return err_fail(
				reterr, EPROTO,
				"Placement: allocations: invalid provider, consumer or class");
		strcpy(slot->uuid, uuid);
		strcpy(slot->slot, name);
		all->n++;
	}
	return 0;
}

static int compare_slots(const void *a, const void *b)
{
	const struct hold_consumer *first = a, *second = b;

	return strcmp(first->uuid, second->uuid);
}

int allocation_parse(const json_t *json, size_t max, struct allocations *ret_allocations,
		     struct err *reterr)
{
	json_t *all = json_object_get(json, "allocations"), *one;
	const char *uuid;

	ret_allocations->n = 0;
	if (!json_is_object(all))
		return err_fail(reterr, EPROTO, "Placement: allocations: missing or not an object");
	json_object_foreach (all, uuid, one) {
		int r = add_slots(ret_allocations, max, uuid, json_object_get(one, "resources"),
				  reterr);

		if (r < 0)
			return r;
	}
	qsort(ret_allocations->list, ret_allocations->n, sizeof(ret_allocations->list[0]),
	      compare_slots);
	return 0;
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

static int read_allocations(struct service *placement, const char *path, size_t max,
			    struct allocations *ret_allocations, struct err *reterr)
{
	CLEANUP_REPLY struct reply reply = {0};
	int r = service_get(placement, path, &reply, reterr);

	return r < 0 ? r : allocation_parse(reply.json, max, ret_allocations, reterr);
}

int allocation_find(struct service *placement, const char *host, const char *server,
		    char ret_class[WANTED_CLASS_MAX], char ret_gpu[ID_MAX], struct err *reterr)
{
	struct allocations allocations;
	char path[ID_MAX + 32];
	int r;

	if (!id_valid(server))
		return err_fail(reterr, EINVAL, "server '%.60s': not a valid UUID", server);
	snprintf(path, sizeof(path), "/allocations/%s", server);
	r = read_allocations(placement, path, ALLOCATIONS_SERVER_MAX, &allocations, reterr);
	if (r < 0)
		return r;
	r = 1;
	for (size_t i = 0; r == 1 && i < allocations.n; i++) {
		const struct hold_consumer *slot = &allocations.list[i];

		r = find_gpu(placement, host, slot->uuid, ret_gpu, reterr);
		if (r == 0)
			memcpy(ret_class, slot->slot, WANTED_CLASS_MAX);
	}
	return r;
}

int allocation_read_consumers(struct service *placement, const char *uuid,
			      struct allocations *ret_consumers, struct err *reterr)
{
	char path[PLACEMENT_UUID_MAX + 64];

	snprintf(path, sizeof(path), "/resource_providers/%s/allocations", uuid);
	return read_allocations(placement, path, ALLOCATIONS_MAX, ret_consumers, reterr);
}
