/* SPDX-License-Identifier: MIT */
/*
 * A total is never computed from the usage while gover-d answers: an allocation in flight already
 * uses an open offer, and would be counted twice. The reserved part of the common class depends on
 * allocations only.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gover-fleet/cloud/difference.h"

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
