/* SPDX-License-Identifier: MIT */
/* Every text and number of a reply is checked, because the reply comes from the network. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gover-fleet/cloud/placement.h"

#define NAME_INFIX "_gover_"

static int wrong(struct err *reterr, const char *what)
{
	return err_fail(reterr, EPROTO, "reply of Placement: %s: missing or not valid", what);
}

/* --- parts of a reply --- */

static bool take_uuid(const json_t *json, char ret_uuid[PLACEMENT_UUID_MAX])
{
	const char *text = json_string_value(json);

	if (!text || json_string_length(json) != PLACEMENT_UUID_MAX - 1)
		return false;
	for (size_t i = 0; i < PLACEMENT_UUID_MAX - 1; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? text[i] != '-' : !strchr("0123456789abcdefABCDEF", text[i]))
			return false;
	}
	memcpy(ret_uuid, text, PLACEMENT_UUID_MAX);
	return true;
}

/* The name of a class or of a trait: A-Z, 0-9 and _. */
static bool word_valid(const char *text)
{
	size_t n = text ? strlen(text) : 0;

	return n > 0 && n < PLACEMENT_WORD_MAX &&
	       strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == n;
}

static bool take_word(const char *text, char ret_word[PLACEMENT_WORD_MAX])
{
	if (!word_valid(text))
		return false;
	strcpy(ret_word, text);
	return true;
}

static bool take_number(const json_t *json, int64_t min, int64_t max, int64_t *ret_number)
{
	json_int_t value = json_integer_value(json);

	if (!json_is_integer(json) || value < min || value > max)
		return false;
	*ret_number = value;
	return true;
}

static bool take_count(const json_t *json, int *ret_count)
{
	int64_t number;

	if (!take_number(json, 0, PLACEMENT_TOTAL_MAX, &number))
		return false;
	*ret_count = (int)number;
	return true;
}

static bool take_generation(const json_t *json, const char *member, int64_t *ret_generation)
{
	return take_number(json_object_get(json, member), 0, INT64_MAX, ret_generation);
}

/* --- providers --- */

int placement_name(const char *host, const char *gpu, char ret_name[PLACEMENT_NAME_MAX])
{
	int n = snprintf(ret_name, PLACEMENT_NAME_MAX, "%s" NAME_INFIX "%s", host, gpu);

	return n >= PLACEMENT_NAME_MAX ? -ENAMETOOLONG : 0;
}

/* Returns the GPU in the name HOST_gover_GPU, or NULL. */
static const char *gpu_of_name(const char *name, const char *host)
{
	size_t n = strlen(host);

	if (!name || strncmp(name, host, n) != 0 ||
	    strncmp(name + n, NAME_INFIX, strlen(NAME_INFIX)) != 0)
		return NULL;
	return name + n + strlen(NAME_INFIX);
}

int placement_parse_root(const json_t *json, const char *host, char ret_uuid[PLACEMENT_UUID_MAX],
			 struct err *reterr)
{
	const json_t *list = json_object_get(json, "resource_providers"), *one;
	size_t i;

	if (!json_is_array(list))
		return wrong(reterr, "resource_providers");
	json_array_foreach (list, i, one) {
		const char *name = json_string_value(json_object_get(one, "name"));

		if (!name || strcmp(name, host) != 0 ||
		    !json_is_null(json_object_get(one, "parent_provider_uuid")))
			continue;
		if (!take_uuid(json_object_get(one, "uuid"), ret_uuid))
			return wrong(reterr, "uuid");
		return 0;
	}
	return err_fail(reterr, ENOENT, "Placement has no resource provider of compute node %s",
			host);
}

static int parse_gpu(const json_t *one, const char *gpu, struct placement_tree *tree,
		     struct err *reterr)
{
	struct placement_gpu *ret = &tree->gpus[tree->n_gpus];

	if (tree->n_gpus == PLACEMENT_GPUS_MAX)
		return err_fail(reterr, EPROTO,
				"reply of Placement: more than %d providers of gover",
				PLACEMENT_GPUS_MAX);
	if (id_copy(ret->gpu, gpu) < 0)
		return wrong(reterr, "name");
	if (!take_uuid(json_object_get(one, "uuid"), ret->uuid))
		return wrong(reterr, "uuid");
	if (!take_generation(one, "generation", &ret->generation))
		return wrong(reterr, "generation");
	tree->n_gpus++;
	return 0;
}

int placement_parse_tree(const json_t *json, const char *host, const char *root,
			 struct placement_tree *ret_tree, struct err *reterr)
{
	const json_t *list = json_object_get(json, "resource_providers"), *one;
	struct placement_tree tree = {0};
	int r = 0;
	size_t i;

	if (!json_is_array(list))
		return wrong(reterr, "resource_providers");
	json_array_foreach (list, i, one) {
		const char *uuid = json_string_value(json_object_get(one, "uuid"));
		const char *parent =
			json_string_value(json_object_get(one, "parent_provider_uuid"));
		const char *gpu =
			gpu_of_name(json_string_value(json_object_get(one, "name")), host);

		if (!uuid)
			return wrong(reterr, "uuid");
		if (strcmp(uuid, root) == 0)
			tree.has_root = true;
		if (gpu && parent && strcmp(parent, root) == 0)
			r = parse_gpu(one, gpu, &tree, reterr);
		if (r < 0)
			return r;
	}
	*ret_tree = tree;
	return 0;
}

int placement_parse_created(const json_t *json, struct placement_gpu *ret_gpu, struct err *reterr)
{
	struct placement_gpu gpu = *ret_gpu;

	if (!take_uuid(json_object_get(json, "uuid"), gpu.uuid))
		return wrong(reterr, "uuid");
	if (!take_generation(json, "generation", &gpu.generation))
		return wrong(reterr, "generation");
	*ret_gpu = gpu;
	return 0;
}

/* --- the content of a provider --- */

static bool is_one(const json_t *json, const char *member)
{
	return json_number_value(json_object_get(json, member)) == 1;
}

static bool parse_inventory(const char *name, const json_t *json,
			    struct placement_inventory *ret_inventory)
{
	if (!json_is_object(json) || !take_word(name, ret_inventory->name) ||
	    !take_count(json_object_get(json, "total"), &ret_inventory->total) ||
	    !take_count(json_object_get(json, "reserved"), &ret_inventory->reserved))
		return false;
	ret_inventory->other = !is_one(json, "min_unit") || !is_one(json, "max_unit") ||
			       !is_one(json, "step_size") || !is_one(json, "allocation_ratio");
	return true;
}

int placement_parse_inventory(const json_t *json, const char *name,
			      struct placement_inventory *ret_inventory, int64_t *ret_generation,
			      struct err *reterr)
{
	struct placement_inventory inventory;
	int64_t generation;

	if (!parse_inventory(name, json, &inventory))
		return wrong(reterr, "inventory");
	if (!take_generation(json, "resource_provider_generation", &generation))
		return wrong(reterr, "resource_provider_generation");
	*ret_inventory = inventory;
	*ret_generation = generation;
	return 0;
}

int placement_parse_inventories(const json_t *json, struct placement_inventories *ret_inventories,
				struct err *reterr)
{
	json_t *all = json_object_get(json, "inventories"), *one;
	struct placement_inventories inventories = {0};
	const char *name;

	if (!json_is_object(all) || json_object_size(all) > PLACEMENT_CLASSES_MAX)
		return wrong(reterr, "inventories");
	if (!take_generation(json, "resource_provider_generation", &inventories.generation))
		return wrong(reterr, "resource_provider_generation");
	json_object_foreach (all, name, one) {
		if (!parse_inventory(name, one, &inventories.classes[inventories.n_classes++]))
			return wrong(reterr, "inventories");
	}
	*ret_inventories = inventories;
	return 0;
}

int placement_parse_traits(const json_t *json, struct placement_traits *ret_traits,
			   struct err *reterr)
{
	const json_t *all = json_object_get(json, "traits"), *one;
	int64_t generation;
	size_t i;

	if (!json_is_array(all) || json_array_size(all) > PLACEMENT_TRAITS_MAX)
		return wrong(reterr, "traits");
	if (!take_generation(json, "resource_provider_generation", &generation))
		return wrong(reterr, "resource_provider_generation");
	json_array_foreach (all, i, one) {
		if (!word_valid(json_string_value(one)))
			return wrong(reterr, "traits");
	}
	*ret_traits = (struct placement_traits){.generation = generation};
	json_array_foreach (all, i, one) {
		strcpy(ret_traits->names[ret_traits->n_names++], json_string_value(one));
	}
	return 0;
}

int placement_parse_usages(const json_t *json, struct placement_usages *ret_usages,
			   struct err *reterr)
{
	json_t *all = json_object_get(json, "usages"), *one;
	struct placement_usages usages = {0};
	const char *name;

	if (!json_is_object(all) || json_object_size(all) > PLACEMENT_CLASSES_MAX)
		return wrong(reterr, "usages");
	if (!take_generation(json, "resource_provider_generation", &usages.generation))
		return wrong(reterr, "resource_provider_generation");
	json_object_foreach (all, name, one) {
		struct placement_usage *usage = &usages.classes[usages.n_classes++];

		if (!take_word(name, usage->name) || !take_count(one, &usage->used))
			return wrong(reterr, "usages");
	}
	*ret_usages = usages;
	return 0;
}

/* --- errors --- */

const char *placement_error_detail(const json_t *json)
{
	const json_t *error = json_array_get(json_object_get(json, "errors"), 0);
	const char *text = json_string_value(json_object_get(error, "detail"));

	return text ? text : "";
}

/* --- requests --- */

json_t *placement_encode_provider(const char *name, const char *uuid, const char *parent)
{
	return json_pack("{s:s, s:s, s:s}", "name", name, "uuid", uuid, "parent_provider_uuid",
			 parent);
}

/* A server takes one slot: max_unit refuses a flavor that asks for more. */
static json_t *encode_members(const struct placement_inventory *inventory)
{
	return json_pack("{s:i, s:i, s:i, s:i, s:i, s:f}", "total", inventory->total, "reserved",
			 inventory->reserved, "min_unit", 1, "max_unit", 1, "step_size", 1,
			 "allocation_ratio", 1.0);
}

json_t *placement_encode_inventory(const struct placement_inventory *inventory, int64_t generation)
{
	json_t *one = encode_members(inventory);

	(void)json_object_set_new(one, "resource_provider_generation", json_integer(generation));
	return one;
}

json_t *placement_encode_inventories(const struct placement_inventories *inventories,
				     int64_t generation)
{
	json_t *all = json_object();

	for (size_t i = 0; i < inventories->n_classes; i++)
		(void)json_object_set_new(all, inventories->classes[i].name,
					  encode_members(&inventories->classes[i]));
	return json_pack("{s:I, s:o}", "resource_provider_generation", (json_int_t)generation,
			 "inventories", all);
}

json_t *placement_encode_traits(const struct placement_traits *traits, int64_t generation)
{
	json_t *all = json_array();

	for (size_t i = 0; i < traits->n_names; i++)
		(void)json_array_append_new(all, json_string(traits->names[i]));
	return json_pack("{s:I, s:o}", "resource_provider_generation", (json_int_t)generation,
			 "traits", all);
}

/* --- search --- */

int placement_find_inventory(const struct placement_inventories *inventories, const char *name)
{
	for (size_t i = 0; i < inventories->n_classes; i++)
		if (strcmp(inventories->classes[i].name, name) == 0)
			return (int)i;
	return -1;
}

int placement_find_usage(const struct placement_usages *usages, const char *name)
{
	for (size_t i = 0; i < usages->n_classes; i++)
		if (strcmp(usages->classes[i].name, name) == 0)
			return (int)i;
	return -1;
}

static int placement_find_trait(const struct placement_traits *traits, const char *name)
{
	for (size_t i = 0; i < traits->n_names; i++)
		if (strcmp(traits->names[i], name) == 0)
			return (int)i;
	return -1;
}

static int add_class(struct placement_inventories *inventories, const char *name, int64_t total)
{
	struct placement_inventory *inventory;

	if (inventories->n_classes == PLACEMENT_CLASSES_MAX || total > PLACEMENT_TOTAL_MAX)
		return -E2BIG;
	inventory = &inventories->classes[inventories->n_classes++];
	memset(inventory, 0, sizeof(*inventory));
	snprintf(inventory->name, sizeof(inventory->name), "%s", name);
	/* Placement accepts no total of 0 */
	inventory->total = total > 0 ? (int)total : 1;
	inventory->reserved = total > 0 ? 0 : 1;
	return 0;
}

/* Returns the number of allocations of a flavour that have no unit of the common class. */
static int64_t count_without_common(const struct placement_usages *usages)
{
	int64_t n = 0;

	for (size_t i = 0; i < usages->n_classes; i++) {
		if (wanted_is_slot(usages->classes[i].name))
			n += usages->classes[i].used;
		else if (wanted_is_common(usages->classes[i].name))
			n -= usages->classes[i].used;
	}
	return n;
}

/*
 * Servers of flavors that do not ask for the common class take offers, too: reserves a unit of the
 * common class for each.
 */
static void reserve_common(const struct seen *seen, struct placement_inventories *inventories)
{
	int i = placement_find_inventory(inventories, WANTED_CLASS_COMMON);
	int64_t n = count_without_common(&seen->usages);
	struct placement_inventory *common;

	if (i < 0 || n <= 0)
		return;
	common = &inventories->classes[i];
	common->reserved = n < common->total ? (int)n : common->total;
}

static bool inventory_equal(const struct placement_inventory *a,
			    const struct placement_inventory *b)
{
	return a->total == b->total && a->reserved == b->reserved && a->other == b->other;
}

/* Counts the classes of @a that differ from @b. Returns -1 if a class is in one of them only. */
static int count_changes(const struct placement_inventories *a,
			 const struct placement_inventories *b, int *ret_last)
{
	int n = 0;

	if (a->n_classes != b->n_classes)
		return -1;
	for (size_t i = 0; i < a->n_classes; i++) {
		int j = placement_find_inventory(b, a->classes[i].name);

		if (j < 0)
			return -1;
		if (inventory_equal(&a->classes[i], &b->classes[j]))
			continue;
		*ret_last = (int)i;
		n++;
	}
	return n;
}

static bool inventories_equal(const struct placement_inventories *a,
			      const struct placement_inventories *b)
{
	int last;

	return count_changes(a, b, &last) == 0;
}

int difference_only_class(const struct difference *difference, const struct seen *seen)
{
	int last = -1;

	return count_changes(&difference->inventories, &seen->inventories, &last) == 1 ? last : -1;
}

static int compute_inventories(const struct wanted_gpu *wanted, const struct seen *seen,
			       struct placement_inventories *inventories)
{
	int r = 0;

	inventories->n_classes = 0;
	for (size_t i = 0; wanted && i < wanted->n_classes && r == 0; i++) {
		const struct wanted_class *class = &wanted->classes[i];

		r = add_class(inventories, class->name,
			      (int64_t) class->contracts + class->offers - class->ending);
	}
	for (size_t i = 0; i < seen->usages.n_classes && r == 0; i++)
		if (seen->usages.classes[i].used > 0 &&
		    placement_find_inventory(inventories, seen->usages.classes[i].name) < 0)
			r = add_class(inventories, seen->usages.classes[i].name, 0);
	if (r == 0)
		reserve_common(seen, inventories);
	return r;
}

static int add_trait(struct placement_traits *traits, const char *name)
{
	if (traits->n_names == PLACEMENT_TRAITS_MAX)
		return -E2BIG;
	snprintf(traits->names[traits->n_names++], PLACEMENT_WORD_MAX, "%s", name);
	return 0;
}

static int add_policy(struct placement_traits *traits, const char *policy)
{
	char name[sizeof(WANTED_TRAIT_POLICY) + WANTED_POLICY_MAX];
	int r = wanted_word(WANTED_TRAIT_POLICY, policy, name, sizeof(name));

	return r < 0 ? r : add_trait(traits, name);
}

static int compute_traits(const struct wanted_gpu *wanted, const struct seen *seen,
			  struct placement_traits *traits)
{
	int r = 0;

	traits->n_names = 0;
	if (wanted && wanted->overloaded)
		r = add_trait(traits, WANTED_TRAIT_OVERLOADED);
	if (r == 0 && wanted && wanted->draining)
		r = add_trait(traits, WANTED_TRAIT_DRAINING);
	if (r == 0 && wanted && wanted->policy[0])
		r = add_policy(traits, wanted->policy);
	for (size_t i = 0; i < seen->traits.n_names && r == 0; i++)
		if (strncmp(seen->traits.names[i], WANTED_TRAIT_PREFIX,
			    strlen(WANTED_TRAIT_PREFIX)) != 0)
			r = add_trait(traits, seen->traits.names[i]);
	return r;
}

static bool traits_equal(const struct placement_traits *a, const struct placement_traits *b)
{
	if (a->n_names != b->n_names)
		return false;
	for (size_t i = 0; i < a->n_names; i++)
		if (placement_find_trait(b, a->names[i]) < 0)
			return false;
	return true;
}

static bool adds_trait(const struct difference *difference, const struct seen *seen,
		       const char *name)
{
	return placement_find_trait(&difference->traits, name) >= 0 &&
	       placement_find_trait(&seen->traits, name) < 0;
}

int difference_compute(const struct wanted_gpu *wanted, const struct seen *seen,
		       struct difference *ret_difference)
{
	int r = compute_inventories(wanted, seen, &ret_difference->inventories);

	if (r == 0)
		r = compute_traits(wanted, seen, &ret_difference->traits);
	if (r < 0)
		return r;
	ret_difference->write_inventories =
		!inventories_equal(&ret_difference->inventories, &seen->inventories);
	ret_difference->write_traits = !traits_equal(&ret_difference->traits, &seen->traits);
	ret_difference->traits_first = seen->inventories.n_classes == 0 ||
				       adds_trait(ret_difference, seen, WANTED_TRAIT_OVERLOADED) ||
				       adds_trait(ret_difference, seen, WANTED_TRAIT_DRAINING);
	return 0;
}

void difference_withdraw(const struct seen *seen, struct difference *ret_difference)
{
	struct placement_inventories *inventories = &ret_difference->inventories;

	ret_difference->write_traits = ret_difference->traits_first = false;
	inventories->n_classes = 0;
	for (size_t i = 0; i < seen->inventories.n_classes; i++) {
		const char *name = seen->inventories.classes[i].name;
		int j = placement_find_usage(&seen->usages, name);

		/* as many classes as were seen always fit */
		(void)add_class(inventories, name, j < 0 ? 0 : seen->usages.classes[j].used);
	}
	ret_difference->write_inventories = !inventories_equal(inventories, &seen->inventories);
}

/* --- allocations: each names the UUID of its provider; the name of the provider contains the GPU
 * --- */

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
