/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes replies of Placement and Keystone. A rejected reply must leave the result unchanged. The
 * content of a provider that was written must need no further write.
 */
#include "gover-fleet/cloud/keystone.h"
#include "gover-fleet/cloud/placement.h"
#include "tests/fuzz/fuzz.h"

#define FUZZ_HOST "h1"
#define FUZZ_ROOT "11111111-1111-4111-8111-111111111111"

static void check_tree(const json_t *json)
{
	struct placement_tree found = {.n_gpus = 99};
	struct placement_gpu created = {.generation = -1};
	char uuid[PLACEMENT_UUID_MAX] = "none";
	struct err err;

	if (placement_parse_tree(json, FUZZ_HOST, FUZZ_ROOT, &found, &err) < 0)
		FUZZ_CHECK(found.n_gpus == 99);
	else
		for (size_t i = 0; i < found.n_gpus; i++)
			FUZZ_CHECK(id_valid(found.gpus[i].gpu) && found.gpus[i].generation >= 0);
	if (placement_parse_root(json, FUZZ_HOST, uuid, &err) < 0)
		FUZZ_CHECK(strcmp(uuid, "none") == 0);
	else
		FUZZ_CHECK(strlen(uuid) == PLACEMENT_UUID_MAX - 1);
	if (placement_parse_created(json, &created, &err) < 0)
		FUZZ_CHECK(created.generation == -1 && created.uuid[0] == '\0');
	FUZZ_CHECK(placement_error_detail(json));
}

/* Writes the difference to @seen, as Placement would do. */
static void write_difference(const struct difference *difference, struct seen *seen)
{
	json_t *inventories = placement_encode_inventories(&difference->inventories, 1);
	json_t *traits = placement_encode_traits(&difference->traits, 1);
	struct err err;

	FUZZ_CHECK(inventories && traits);
	FUZZ_CHECK(placement_parse_inventories(inventories, &seen->inventories, &err) == 0);
	FUZZ_CHECK(placement_parse_traits(traits, &seen->traits, &err) == 0);
	json_decref(inventories);
	json_decref(traits);
}

static void check_content(const json_t *json)
{
	static const struct wanted_gpu wanted = {
		.name = "gpu0",
		.classes = {{"CUSTOM_GOVER_SLOT_25", 1, 2, 0}, {"CUSTOM_GOVER_SLOT_50", 0, 0, 0}},
		.n_classes = 2,
		.overloaded = true,
		.policy = "qos",
	};
	static struct seen seen;
	static struct difference difference;
	struct err err;

	memset(&seen, 0, sizeof(seen));
	if (placement_parse_inventories(json, &seen.inventories, &err) < 0)
		FUZZ_CHECK(seen.inventories.n_classes == 0);
	if (placement_parse_traits(json, &seen.traits, &err) < 0)
		FUZZ_CHECK(seen.traits.n_names == 0);
	if (placement_parse_usages(json, &seen.usages, &err) < 0)
		FUZZ_CHECK(seen.usages.n_classes == 0);
	difference_withdraw(&seen, &difference);
	if (difference_compute(&wanted, &seen, &difference) < 0)
		return;
	write_difference(&difference, &seen);
	FUZZ_CHECK(difference_compute(&wanted, &seen, &difference) == 0);
	FUZZ_CHECK(!difference.write_inventories && !difference.write_traits);
}

static void check_token(const json_t *json)
{
	struct identity_token token = {.lifetime_s = -1};
	struct err err;

	if (identity_parse_token(json, "", &token, &err) < 0)
		FUZZ_CHECK(token.lifetime_s == -1);
	else
		FUZZ_CHECK(token.lifetime_s > 0);
}

FUZZ(placement)
{
	json_t *json = json_loadb((const char *)data, size, JSON_DECODE_ANY, NULL);

	check_tree(json); /* a reply that is not JSON is NULL */
	check_content(json);
	check_token(json);
	json_decref(json);
	return 0;
}
