/* SPDX-License-Identifier: MIT */
/* The replies of Placement about the allocation of a server. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-fleet/cloud/placement.h"
#include "tests/unit/quoted-json.h"
#include "tests/unit/unit.h"

#define PROVIDER "1eb2ff52-8d2c-4b1c-9d7e-1a5b2b3c4d5e"

static int parse(const char *text, struct allocations *ret_allocation, struct err *reterr)
{
	json_t *json = quoted_json(text);
	int r = allocation_parse(json, ALLOCATIONS_SERVER_MAX, ret_allocation, reterr);

	json_decref(json);
	return r;
}

/* The form of a reply for a server with a slot, as the reference of Placement describes it. */
TEST(slots_of_gover_are_found)
{
	struct allocations allocation;
	struct err err = {""};

	assert_int_equal(
		parse("{'allocations': {'0aaaaaaa-0000-4000-8000-000000000000': {'generation': "
		      "9, 'resources': {'VCPU': 1, 'MEMORY_MB': 128}}, '" PROVIDER "': "
		      "{'generation': 4, 'resources': {'CUSTOM_GOVER_SLOT_50': 1, "
		      "'CUSTOM_GOVER_SLOT': 1}}}, "
		      "'project_id': 'p', 'user_id': 'u', 'consumer_generation': 1}",
		      &allocation, &err),
		0);
	assert_int_equal(allocation.n, 1);
	assert_string_equal(allocation.list[0].uuid, PROVIDER);
	assert_string_equal(allocation.list[0].slot, "CUSTOM_GOVER_SLOT_50");
	assert_int_equal(parse("{'allocations': {}}", &allocation, &err), 0);
	assert_int_equal(allocation.n, 0);
}

TEST(wrong_replies_are_rejected)
{
	static const char *const rows[] = {
		"{}",
		"{'allocations': []}",
		"{'allocations': {'p': {}}}",
		"{'allocations': {'p': {'resources': []}}}",
		"{'allocations': {'../p': {'resources': {'CUSTOM_GOVER_SLOT_1': 1}}}}",
		("{'allocations': {'p': {'resources': {'CUSTOM_GOVER_SLOT_"
		 "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA': 1}}}}"),
		("{'allocations': {'p': {'resources': {'CUSTOM_GOVER_SLOT_1': 1, "
		 "'CUSTOM_GOVER_SLOT_2': 1, 'CUSTOM_GOVER_SLOT_3': 1, 'CUSTOM_GOVER_SLOT_4': 1, "
		 "'CUSTOM_GOVER_SLOT_5': 1}}}}"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct allocations allocation;
		struct err err = {""};

		if (parse(rows[i], &allocation, &err) != -EPROTO || !err.msg[0])
			fail_msg("row %zu is accepted", i);
	}
}

TEST(the_gpu_is_part_of_the_name_of_the_provider)
{
	static const struct {
		const char *text, *gpu;
		int result;
	} rows[] = {
		{"{'name': 'node-1_gover_gpu0'}", "gpu0", 0},
		{"{'name': 'node-2_gover_gpu0'}", "", 1},
		{"{'name': 'node-1'}", "", 1},
		{"{'name': 'node-1_gover_'}", "", 1},
		{"{'name': 'node-1_gover_../x'}", "", 1},
		{"{}", "", -EPROTO},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *json = quoted_json(rows[i].text);
		char gpu[ID_MAX] = "";
		struct err err = {""};

		assert_int_equal(allocation_parse_gpu(json, "node-1", gpu, &err), rows[i].result);
		assert_string_equal(gpu, rows[i].gpu);
		json_decref(json);
	}
}

/* The form of a reply for a GPU with two servers, as the reference of Placement describes it. */
TEST(consumers_of_slots_are_found)
{
	static struct allocations consumers;
	struct err err = {""};

	assert_int_equal(parse("{'allocations': {'b1': {'consumer_generation': 1, 'resources': "
			       "{'CUSTOM_GOVER_SLOT': 1, 'CUSTOM_GOVER_SLOT_HALF': 1}}, 'a1': "
			       "{'resources': {'CUSTOM_GOVER_SLOT_BIG': 1}}, 'c1': {'resources': "
			       "{'VGPU': 1}}}, 'resource_provider_generation': 12}",
			       &consumers, &err),
			 0);
	assert_int_equal(consumers.n, 2);
	assert_string_equal(consumers.list[0].uuid, "a1");
	assert_string_equal(consumers.list[0].slot, "CUSTOM_GOVER_SLOT_BIG");
	assert_string_equal(consumers.list[1].uuid, "b1");
	assert_string_equal(consumers.list[1].slot, "CUSTOM_GOVER_SLOT_HALF");
	assert_int_equal(parse("{'allocations': {}}", &consumers, &err), 0);
	assert_int_equal(consumers.n, 0);
}

TEST(wrong_consumers_are_rejected)
{
	static const char *const rows[] = {
		"{}",
		"{'allocations': []}",
		"{'allocations': {'a': 1}}",
		"{'allocations': {'a': {'resources': []}}}",
		"{'allocations': {'../a': {'resources': {'CUSTOM_GOVER_SLOT_1': 1}}}}",
		"{'allocations': {'" PROVIDER "0': {'resources': {'CUSTOM_GOVER_SLOT_1': 1}}}}",
	};
	static struct allocations consumers;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = {""};

		if (parse(rows[i], &consumers, &err) != -EPROTO || !err.msg[0])
			fail_msg("row %zu is accepted", i);
	}
}
