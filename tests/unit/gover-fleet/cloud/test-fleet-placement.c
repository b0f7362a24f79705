/* SPDX-License-Identifier: MIT */
/* Documents of Placement: each reply with a wrong member is rejected, and requests have all
 * members. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-fleet/cloud/placement.h"
#include "tests/unit/quoted-json.h"
#include "tests/unit/unit.h"

static struct err err;

#define ROOT  "11111111-1111-4111-8111-111111111111"
#define CHILD "22222222-2222-4222-8222-222222222222"
#define OTHER "33333333-3333-4333-8333-333333333333"

#define PROVIDER(name, uuid, generation, parent)                         \
	"{'name': " name ", 'uuid': " uuid ", 'generation': " generation \
	", 'parent_provider_uuid': " parent "}"
#define LIST(...) "{'resource_providers': [" __VA_ARGS__ "]}"
#define Q(text)	  "'" text "'"

TEST(the_root_is_the_provider_without_a_parent)
{
	static const struct {
		const char *text;
		int result;
	} rows[] = {
		{LIST(PROVIDER(Q("h1"), Q(ROOT), "3", "null")), 0},
		{LIST(PROVIDER(Q("h2"), Q(OTHER), "3", "null") "," PROVIDER(Q("h1"), Q(ROOT), "3",
									    "null")),
		 0},
		{LIST(), -ENOENT},
		{LIST(PROVIDER(Q("h1"), Q(ROOT), "3", Q(OTHER))), -ENOENT},
		{LIST(PROVIDER(Q("h10"), Q(ROOT), "3", "null")), -ENOENT},
		{LIST("1, null, {}"), -ENOENT},
		{LIST(PROVIDER(Q("h1"), "3", "3", "null")), -EPROTO},
		{LIST(PROVIDER(Q("h1"), Q("11111111-1111-4111-8111-11111111111g"), "3", "null")),
		 -EPROTO},
		{LIST(PROVIDER(Q("h1"), Q("11111111x1111-4111-8111-111111111111"), "3", "null")),
		 -EPROTO},
		{"{'resource_providers': {}}", -EPROTO},
		{"{}", -EPROTO},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *json = quoted_json(rows[i].text);
		char uuid[PLACEMENT_UUID_MAX] = "none";
		int r = placement_parse_root(json, "h1", uuid, &err);

		if (r != rows[i].result || strcmp(uuid, r == 0 ? ROOT : "none") != 0)
			fail_msg("row %zu: %d, %s", i, r, uuid);
		json_decref(json);
	}
}

TEST(the_tree_has_the_providers_of_gover_below_the_root)
{
	json_t *json =
		quoted_json(LIST(PROVIDER(Q("h1"), Q(ROOT), "9", "null") ","		     /**/
				 PROVIDER(Q("h1_gover_gpu0"), Q(CHILD), "7", Q(ROOT)) ","    /**/
				 PROVIDER(Q("h1_pci_0000"), Q(OTHER), "8", Q(ROOT)) ","	     /**/
				 PROVIDER(Q("h1_gover_deeper"), Q(OTHER), "8", Q(CHILD)) "," /**/
				 PROVIDER(Q("h2_gover_gpu0"), Q(OTHER), "8", Q(ROOT))));
	struct placement_tree tree;

	assert_int_equal(placement_parse_tree(json, "h1", ROOT, &tree, &err), 0);
	assert_true(tree.has_root);
	assert_int_equal(tree.n_gpus, 1);
	assert_string_equal(tree.gpus[0].gpu, "gpu0");
	assert_string_equal(tree.gpus[0].uuid, CHILD);
	assert_int_equal(tree.gpus[0].generation, 7);
	json_decref(json);

	json = quoted_json(LIST());
	assert_int_equal(placement_parse_tree(json, "h1", ROOT, &tree, &err), 0);
	assert_false(tree.has_root);
	assert_int_equal(tree.n_gpus, 0);
	json_decref(json);
}

TEST(a_wrong_tree_is_rejected)
{
	static const char *const rows[] = {
		"{}",
		"[]",
		LIST("{}"),
		LIST(PROVIDER(Q("h1_gover_"), Q(CHILD), "7", Q(ROOT))),
		LIST(PROVIDER(Q("h1_gover_a/b"), Q(CHILD), "7", Q(ROOT))),
		LIST(PROVIDER(Q("h1_gover_a"), Q("short"), "7", Q(ROOT))),
		LIST(PROVIDER(Q("h1_gover_a"), Q(CHILD), "-1", Q(ROOT))),
		LIST(PROVIDER(Q("h1_gover_a"), Q(CHILD), "1.0", Q(ROOT))),
		LIST(PROVIDER(Q("h1_gover_a"), Q(CHILD), "null", Q(ROOT))),
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *json = quoted_json(rows[i]);
		struct placement_tree tree = {.n_gpus = 99};

		if (placement_parse_tree(json, "h1", ROOT, &tree, &err) != -EPROTO ||
		    tree.n_gpus != 99)
			fail_msg("row %zu was accepted", i);
		json_decref(json);
	}
}

TEST(a_tree_with_too_many_gpus_is_rejected)
{
	for (int n = PLACEMENT_GPUS_MAX; n <= PLACEMENT_GPUS_MAX + 1; n++) {
		json_t *list = json_array(), *json;
		struct placement_tree tree;

		for (int i = 0; i < n; i++) {
			char name[32];

			snprintf(name, sizeof(name), "h1_gover_gpu%d", i);
			json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:s}", "name", name,
							      "uuid", CHILD, "generation", i,
							      "parent_provider_uuid", ROOT));
		}
		json = json_pack("{s:o}", "resource_providers", list);
		assert_int_equal(placement_parse_tree(json, "h1", ROOT, &tree, &err),
				 n <= PLACEMENT_GPUS_MAX ? 0 : -EPROTO);
		json_decref(json);
	}
}

#define INVENTORY(total, reserved, ratio)            \
	"{'total': " total ", 'reserved': " reserved \
	", 'min_unit': 1, 'max_unit': 1, 'step_size': 1, 'allocation_ratio': " ratio "}"
#define INVENTORIES(generation, all) \
	"{'resource_provider_generation': " generation ", 'inventories': " all "}"

TEST(inventories_are_checked)
{
	static const struct {
		const char *text;
		int result;
		bool other;
	} rows[] = {
		{INVENTORIES("5", "{'A': " INVENTORY("3", "0", "1.0") "}"), 0, false},
		{INVENTORIES("5", "{'A': " INVENTORY("3", "0", "1") "}"), 0, false},
		{INVENTORIES("5", "{'A': " INVENTORY("3", "0", "1.5") "}"), 0, true},
		{INVENTORIES("5", "{'A': {'total': 3, 'reserved': 0}}"), 0, true},
		{INVENTORIES("5", "{'A': {'total': 3}}"), -EPROTO, false},
		{INVENTORIES("5", "{'A': " INVENTORY("2147483648", "0", "1.0") "}"), -EPROTO,
		 false},
		{INVENTORIES("5", "{'A': " INVENTORY("3", "-1", "1.0") "}"), -EPROTO, false},
		{INVENTORIES("5", "{'a': " INVENTORY("3", "0", "1.0") "}"), -EPROTO, false},
		{INVENTORIES("5", "{'': " INVENTORY("3", "0", "1.0") "}"), -EPROTO, false},
		{INVENTORIES("5", "{'A': 1}"), -EPROTO, false},
		{INVENTORIES("5", "[]"), -EPROTO, false},
		{INVENTORIES("'5'", "{}"), -EPROTO, false},
		{"{'inventories': {}}", -EPROTO, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *json = quoted_json(rows[i].text);
		struct placement_inventories got = {.generation = -1};
		int r = placement_parse_inventories(json, &got, &err);

		if (r != rows[i].result || got.generation != (r == 0 ? 5 : -1))
			fail_msg("row %zu: %d", i, r);
		if (r == 0 && (got.n_classes != 1 || strcmp(got.classes[0].name, "A") != 0 ||
			       got.classes[0].total != 3 || got.classes[0].reserved != 0 ||
			       got.classes[0].other != rows[i].other))
			fail_msg("row %zu: other content", i);
		json_decref(json);
	}
}

TEST(one_inventory_is_checked)
{
#define ONE(generation, total)                                             \
	"{'resource_provider_generation': " generation ", 'total': " total \
	", 'reserved': 0, 'min_unit': 1, 'max_unit': 1, 'step_size': 1, "  \
	"'allocation_ratio': 1.0}"
	static const struct {
		const char *text, *name;
		int result;
	} rows[] = {
		{ONE("5", "3"), "A", 0},	{ONE("5", "3"), "a", -EPROTO},
		{ONE("5", "-3"), "A", -EPROTO}, {ONE("'5'", "3"), "A", -EPROTO},
		{"[]", "A", -EPROTO},		{INVENTORIES("5", "{}"), "A", -EPROTO},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *json = quoted_json(rows[i].text);
		struct placement_inventory got = {.total = -1};
		int64_t generation = -1;
		int r = placement_parse_inventory(json, rows[i].name, &got, &generation, &err);

		if (r != rows[i].result || generation != (r == 0 ? 5 : -1) ||
		    got.total != (r == 0 ? 3 : -1) || got.other)
			fail_msg("row %zu: %d", i, r);
		json_decref(json);
	}
}

TEST(traits_and_usages_are_checked)
{
	static const struct {
		const char *text;
		int traits, usages;
	} rows[] = {
		{"{'resource_provider_generation': 5, 'traits': ['A_1', 'B']}", 0, -EPROTO},
		{"{'resource_provider_generation': 5, 'usages': {'A': 2, 'B': 0}}", -EPROTO, 0},
		{"{'resource_provider_generation': 5, 'traits': ['a']}", -EPROTO, -EPROTO},
		{"{'resource_provider_generation': 5, 'traits': [1]}", -EPROTO, -EPROTO},
		{"{'resource_provider_generation': 5, 'traits': {}}", -EPROTO, -EPROTO},
		{"{'traits': [], 'usages': {}}", -EPROTO, -EPROTO},
		{"{'resource_provider_generation': 5, 'usages': {'A': -1}}", -EPROTO, -EPROTO},
		{"{'resource_provider_generation': 5, 'usages': {'A': 1.5}}", -EPROTO, -EPROTO},
		{"{'resource_provider_generation': 5, 'usages': []}", -EPROTO, -EPROTO},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *json = quoted_json(rows[i].text);
		struct placement_traits traits = {.n_names = 9};
		struct placement_usages usages = {.n_classes = 9};

		if (placement_parse_traits(json, &traits, &err) != rows[i].traits ||
		    placement_parse_usages(json, &usages, &err) != rows[i].usages)
			fail_msg("row %zu: another result", i);
		assert_int_equal(traits.n_names, rows[i].traits == 0 ? 2 : 9);
		assert_int_equal(usages.n_classes, rows[i].usages == 0 ? 2 : 9);
		json_decref(json);
	}
}

TEST(documents_of_more_than_the_limit_are_rejected)
{
	for (int over = 0; over <= 1; over++) {
		json_t *names = json_array(), *used = json_object(), *json;
		struct placement_traits traits;
		struct placement_usages usages;
		char name[16];

		for (int i = 0; i < PLACEMENT_TRAITS_MAX + over; i++) {
			snprintf(name, sizeof(name), "T%d", i);
			json_array_append_new(names, json_string(name));
		}
		for (int i = 0; i < PLACEMENT_CLASSES_MAX + over; i++) {
			snprintf(name, sizeof(name), "C%d", i);
			json_object_set_new(used, name, json_integer(1));
		}
		json = json_pack("{s:i, s:o, s:o}", "resource_provider_generation", 1, "traits",
				 names, "usages", used);
		assert_int_equal(placement_parse_traits(json, &traits, &err), over ? -EPROTO : 0);
		assert_int_equal(placement_parse_usages(json, &usages, &err), over ? -EPROTO : 0);
		json_decref(json);
	}
}

TEST(errors_have_a_text)
{
	static const struct {
		const char *text, *detail;
	} rows[] = {
		{"{'errors': [{'status': 409, 'code': 'placement.concurrent_update', 'detail': "
		 "'generation'}]}",
		 "generation"},
		{"{'errors': []}", ""},
		{"{'errors': [{'detail': 1}]}", ""},
		{"{}", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *json = quoted_json(rows[i].text);

		assert_string_equal(placement_error_detail(json), rows[i].detail);
		json_decref(json);
	}
	assert_string_equal(placement_error_detail(NULL), "");
}

TEST(requests_have_all_members)
{
	static const struct placement_inventories inventories = {
		.n_classes = 1, .classes = {{.name = "CUSTOM_A", .total = 3, .reserved = 1}}};
	static const struct placement_traits traits = {.n_names = 2, .names = {"A", "B"}};
	const struct {
		json_t *json;
		const char *text;
	} rows[] = {
		{placement_encode_provider("h_gover_g", CHILD, ROOT),
		 "{\"name\":\"h_gover_g\",\"parent_provider_uuid\":\"" ROOT "\",\"uuid\":\"" CHILD
		 "\"}"},
		{placement_encode_inventory(&inventories.classes[0], 7),
		 "{\"allocation_ratio\":1.0,\"max_unit\":1,\"min_unit\":1,\"reserved\":1,"
		 "\"resource_provider_generation\":7,\"step_size\":1,\"total\":3}"},
		{placement_encode_inventories(&inventories, 7),
		 "{\"inventories\":{\"CUSTOM_A\":{\"allocation_ratio\":1.0,\"max_unit\":1,"
		 "\"min_unit\":1,\"reserved\":1,\"step_size\":1,\"total\":3}},"
		 "\"resource_provider_generation\":7}"},
		{placement_encode_traits(&traits, 8),
		 "{\"resource_provider_generation\":8,\"traits\":[\"A\",\"B\"]}"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *text = json_dumps(rows[i].json, JSON_COMPACT | JSON_SORT_KEYS);

		assert_string_equal(text, rows[i].text);
		free(text);
		json_decref(rows[i].json);
	}
}

TEST(a_name_has_at_most_200_characters)
{
	char host[PLACEMENT_NAME_MAX], name[PLACEMENT_NAME_MAX];

	memset(host, 'h', sizeof(host));
	host[PLACEMENT_NAME_MAX - 1 - strlen("_gover_g")] = '\0';
	assert_int_equal(placement_name(host, "g", name), 0);
	assert_int_equal(strlen(name), 200);
	assert_int_equal(placement_name(host, "g0", name), -ENAMETOOLONG);
}
