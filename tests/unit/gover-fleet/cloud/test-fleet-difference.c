/* SPDX-License-Identifier: MIT */
/* The difference between a wanted GPU and its provider, and the pause after failures. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "gover-fleet/cloud/placement.h"
#include "gover-fleet/cloud/publisher.h"
#include "tests/unit/unit.h"

#define A   "CUSTOM_GOVER_SLOT_25"
#define B   "CUSTOM_GOVER_SLOT_50"
#define ALL "CUSTOM_GOVER_SLOT"

/* Writes inventories as "NAME total-reserved ...". */
static void describe(const struct difference *difference, char ret_text[512])
{
	ret_text[0] = '\0';
	for (size_t i = 0; i < difference->inventories.n_classes; i++)
		text_append(ret_text, 512, "%s%s %d-%d", i ? ", " : "",
			    difference->inventories.classes[i].name,
			    difference->inventories.classes[i].total,
			    difference->inventories.classes[i].reserved);
}

static const struct {
	struct wanted_gpu wanted;
	bool gone; /* the GPU is not wanted */
	struct seen seen;
	const char *inventories;
	bool write;
} totals[] = {
	/* a new provider */
	{{.classes = {{A, 1, 2, 0}}, .n_classes = 1},
	 false,
	 {.inventories = {.n_classes = 0}},
	 A " 3-0",
	 true},
	/* equal */
	{{.classes = {{A, 1, 2, 0}}, .n_classes = 1},
	 false,
	 {.inventories = {.classes = {{A, 3, 0, false}}, .n_classes = 1}},
	 A " 3-0",
	 false},
	/* equal in another order */
	{{.classes = {{A, 1, 2, 0}, {B, 0, 1, 0}}, .n_classes = 2},
	 false,
	 {.inventories = {.classes = {{B, 1, 0, false}, {A, 3, 0, false}}, .n_classes = 2}},
	 A " 3-0, " B " 1-0",
	 false},
	/* another ratio, as an operator may have set it */
	{{.classes = {{A, 1, 2, 0}}, .n_classes = 1},
	 false,
	 {.inventories = {.classes = {{A, 3, 0, true}}, .n_classes = 1}},
	 A " 3-0",
	 true},
	/* Placement refuses a total of 0 */
	{{.classes = {{A, 0, 0, 0}}, .n_classes = 1},
	 false,
	 {.inventories = {.classes = {{A, 3, 0, false}}, .n_classes = 1}},
	 A " 1-1",
	 true},
	/* an allocation does not change the total */
	{{.classes = {{A, 0, 2, 0}}, .n_classes = 1},
	 false,
	 {.inventories = {.classes = {{A, 2, 0, false}}, .n_classes = 1},
	  .usages = {.classes = {{A, 1}}, .n_classes = 1}},
	 A " 2-0",
	 false},
	/* fewer slots than allocations: allowed, and no further slot is sold */
	{{.classes = {{A, 1, 0, 0}}, .n_classes = 1},
	 false,
	 {.inventories = {.classes = {{A, 3, 0, false}}, .n_classes = 1},
	  .usages = {.classes = {{A, 2}}, .n_classes = 1}},
	 A " 1-0",
	 true},
	/* a class that is not wanted is removed ... */
	{{.classes = {{A, 1, 0, 0}}, .n_classes = 1},
	 false,
	 {.inventories = {.classes = {{A, 1, 0, false}, {B, 1, 0, false}}, .n_classes = 2},
	  .usages = {.classes = {{A, 1}, {B, 0}}, .n_classes = 2}},
	 A " 1-0",
	 true},
	/* ... or reserved while it has allocations */
	{{.classes = {{A, 1, 0, 0}}, .n_classes = 1},
	 false,
	 {.inventories = {.classes = {{A, 1, 0, false}, {B, 3, 0, false}}, .n_classes = 2},
	  .usages = {.classes = {{A, 1}, {B, 2}}, .n_classes = 2}},
	 A " 1-0, " B " 1-1",
	 true},
	/* servers of flavors with the common class */
	{{.classes = {{ALL, 2, 1, 0}, {A, 1, 1, 0}, {B, 1, 1, 0}}, .n_classes = 3},
	 false,
	 {.inventories = {.n_classes = 0},
	  .usages = {.classes = {{ALL, 2}, {A, 1}, {B, 1}}, .n_classes = 3}},
	 ALL " 3-0, " A " 2-0, " B " 2-0",
	 true},
	/* a server of a flavor without it takes an offer, too ... */
	{{.classes = {{ALL, 2, 1, 0}, {A, 1, 1, 0}, {B, 1, 1, 0}}, .n_classes = 3},
	 false,
	 {.inventories = {.classes = {{ALL, 3, 1, false}, {A, 2, 0, false}, {B, 2, 0, false}},
			  .n_classes = 3},
	  .usages = {.classes = {{ALL, 1}, {A, 1}, {B, 1}}, .n_classes = 3}},
	 ALL " 3-1, " A " 2-0, " B " 2-0",
	 false},
	/* ... and two from one offer are a leak */
	{{.classes = {{ALL, 0, 1, 0}, {A, 0, 1, 0}, {B, 0, 1, 0}}, .n_classes = 3},
	 false,
	 {.inventories = {.n_classes = 0}, .usages = {.classes = {{A, 1}, {B, 1}}, .n_classes = 2}},
	 ALL " 1-1, " A " 1-0, " B " 1-0",
	 true},
	{{.n_classes = 0},
	 true,
	 {.inventories = {.classes = {{A, 1, 1, false}}, .n_classes = 1},
	  .usages = {.classes = {{A, 1}}, .n_classes = 1}},
	 A " 1-1",
	 false},
};

TEST(totals_are_contracts_and_offers)
{
	for (size_t i = 0; i < ARRAY_SIZE(totals); i++) {
		struct difference difference;
		char text[512];
		int r = difference_compute(totals[i].gone ? NULL : &totals[i].wanted,
					   &totals[i].seen, &difference);

		describe(&difference, text);
		if (r != 0 || strcmp(text, totals[i].inventories) != 0 ||
		    difference.write_inventories != totals[i].write)
			fail_msg("row %zu: %d, %s, write %d", i, r, text,
				 difference.write_inventories);
	}
}

TEST(one_changed_class_is_found)
{
	static const struct {
		struct placement_inventories wanted, seen;
		int class;
	} rows[] = {
		{{0, {{A, 1, 0, false}}, 1}, {0, {{A, 2, 0, false}}, 1}, 0},
		{{0, {{A, 1, 1, false}}, 1}, {0, {{A, 1, 0, false}}, 1}, 0},
		{{0, {{A, 1, 0, false}}, 1}, {0, {{A, 1, 0, true}}, 1}, 0},
		{{0, {{A, 1, 0, false}}, 1}, {0, {{A, 1, 0, false}}, 1}, -1},
		/* in another order */
		{{0, {{A, 1, 0, false}, {B, 5, 0, false}}, 2},
		 {0, {{B, 4, 0, false}, {A, 1, 0, false}}, 2},
		 1},
		/* two */
		{{0, {{A, 1, 0, false}, {B, 5, 0, false}}, 2},
		 {0, {{A, 2, 0, false}, {B, 4, 0, false}}, 2},
		 -1},
		/* a class is added, removed or replaced */
		{{0, {{A, 1, 0, false}, {B, 5, 0, false}}, 2}, {0, {{A, 2, 0, false}}, 1}, -1},
		{{0, {{A, 2, 0, false}}, 1}, {0, {{A, 1, 0, false}, {B, 5, 0, false}}, 2}, -1},
		{{0, {{A, 1, 0, false}}, 1}, {0, {{B, 1, 0, false}}, 1}, -1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct difference difference = {.inventories = rows[i].wanted};
		const struct seen seen = {.inventories = rows[i].seen};
		int class = difference_only_class(&difference, &seen);

		if (class != rows[i].class)
			fail_msg("row %zu: %d", i, class);
	}
}

TEST(a_total_above_the_limit_is_rejected)
{
	struct wanted_gpu wanted = {.classes = {{A, INT32_MAX, 0, 0}}, .n_classes = 1};
	const struct seen seen = {.inventories = {.n_classes = 0}};
	struct difference difference;

	assert_int_equal(difference_compute(&wanted, &seen, &difference), 0);
	wanted.classes[0].offers = 1;
	assert_int_equal(difference_compute(&wanted, &seen, &difference), -E2BIG);
	wanted.classes[0].ending = 1;
	assert_int_equal(difference_compute(&wanted, &seen, &difference), 0);
	assert_int_equal(difference.inventories.classes[0].total, INT32_MAX);
}

#define SELLS .inventories = {.classes = {{A, 1, 0, false}}, .n_classes = 1}

TEST(traits_are_those_of_the_gpu_and_of_others)
{
	static const struct {
		struct wanted_gpu wanted;
		struct seen seen;
		const char *traits;
		bool write, first;
	} rows[] = {
		{{.policy = "qos"}, {SELLS}, "CUSTOM_GOVER_POLICY_QOS", true, false},
		{{.policy = "steal-v2"}, {SELLS}, "CUSTOM_GOVER_POLICY_STEAL_V2", true, false},
		{{.overloaded = true}, {SELLS}, "CUSTOM_GOVER_OVERLOADED", true, true},
		{{.draining = true}, {SELLS}, "CUSTOM_GOVER_DRAINING", true, true},
		{{.overloaded = true},
		 {SELLS, .traits = {.names = {"CUSTOM_GOVER_OVERLOADED"}, .n_names = 1}},
		 "CUSTOM_GOVER_OVERLOADED",
		 false,
		 false},
		{{.policy = ""},
		 {SELLS, .traits = {.names = {"CUSTOM_GOVER_OVERLOADED"}, .n_names = 1}},
		 "",
		 true,
		 false},
		{{.policy = "qos"},
		 {SELLS, .traits = {.names = {"CUSTOM_RACK_7", "HW_GPU_API_VULKAN",
					      "CUSTOM_GOVER_POLICY_NONE"},
				    .n_names = 3}},
		 "CUSTOM_GOVER_POLICY_QOS CUSTOM_RACK_7 HW_GPU_API_VULKAN",
		 true,
		 false},
		/* a new provider gets its traits before its slots */
		{{.policy = "qos"},
		 {.inventories = {.n_classes = 0}},
		 "CUSTOM_GOVER_POLICY_QOS",
		 true,
		 true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct difference difference;
		char text[512] = "";
		int r = difference_compute(&rows[i].wanted, &rows[i].seen, &difference);

		for (size_t j = 0; j < difference.traits.n_names; j++)
			text_append(text, sizeof(text), "%s%s", j ? " " : "",
				    difference.traits.names[j]);
		if (r != 0 || strcmp(text, rows[i].traits) != 0 ||
		    difference.write_traits != rows[i].write ||
		    difference.traits_first != rows[i].first)
			fail_msg("row %zu: %d, %s, write %d, first %d", i, r, text,
				 difference.write_traits, difference.traits_first);
	}
}

TEST(too_many_traits_are_rejected)
{
	struct wanted_gpu wanted = {.policy = ""};
	static struct seen seen;
	struct difference difference;

	seen.traits.n_names = PLACEMENT_TRAITS_MAX;
	for (size_t i = 0; i < PLACEMENT_TRAITS_MAX; i++)
		snprintf(seen.traits.names[i], PLACEMENT_WORD_MAX, "CUSTOM_%zu", i);
	assert_int_equal(difference_compute(&wanted, &seen, &difference), 0);
	wanted.draining = true;
	assert_int_equal(difference_compute(&wanted, &seen, &difference), -E2BIG);
}

TEST(a_withdrawal_leaves_the_allocated_slots)
{
	static const struct seen seen = {
		.inventories = {.classes = {{A, 5, 0, false}, {B, 2, 0, false}}, .n_classes = 2},
		.usages = {.classes = {{A, 3}}, .n_classes = 1},
		.traits = {.names = {"CUSTOM_GOVER_POLICY_QOS"}, .n_names = 1},
	};
	struct difference difference;
	char text[512];

	difference_withdraw(&seen, &difference);
	describe(&difference, text);
	assert_string_equal(text, A " 3-0, " B " 1-1");
	assert_true(difference.write_inventories);
	assert_false(difference.write_traits);
}

TEST(the_pause_doubles_up_to_its_limit)
{
	static const struct {
		int failures;
		uint32_t random;
		int pause_ms;
	} rows[] = {
		{0, 7, 0},
		{1, 0, 100},
		{1, 50, 50},
		{1, 51, 100},
		{2, 0, 200},
		{4, 0, 800},
		{5, 0, 1000},
		{5, 500, 500},
		{5, 501, 1000},
		{100, 0, 1000},
		{100, UINT32_MAX, 1000 - UINT32_MAX % 501},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct backoff backoff = {.first_ms = 100, .max_ms = 1000};
		int got;

		for (int j = 0; j < rows[i].failures; j++)
			backoff_fail(&backoff);
		got = backoff_pause_ms(&backoff, rows[i].random);
		if (got != rows[i].pause_ms)
			fail_msg("row %zu: %d ms", i, got);
		backoff_succeed(&backoff);
		assert_int_equal(backoff_pause_ms(&backoff, rows[i].random), 0);
	}
}
