/* SPDX-License-Identifier: MIT */
/* The table of contract fields, and the functions that use the table. */
#include <errno.h>
#include <string.h>

#include "gover-d/model/contract.h"
#include "tests/unit/unit.h"

static const struct contract_field *find(const char *name)
{
	const struct contract_field *field;

	for (size_t i = 0; (field = contract_field_at(i)); i++)
		if (strcmp(field->name, name) == 0)
			return field;
	fail_msg("no field %s", name);
	return NULL;
}

TEST(rows_are_consistent)
{
	const struct contract_field *a, *b;

	for (size_t i = 0; (a = contract_field_at(i)); i++) {
		bool option = a->uses & CONTRACT_IN_CTL;

		assert_int_equal(a->bit, 1U << i);
		assert_true(a->since >= 1 && a->since <= contract_file_version());
		assert_int_equal(option, a->option != NULL);
		assert_int_equal(option, a->help != NULL);
		assert_int_equal(option && a->kind != JSON_DECODE_SWITCH, a->arg != NULL);
		for (size_t j = 0; j < i; j++) {
			b = contract_field_at(j);
			assert_string_not_equal(a->name, b->name);
			if (option && b->option)
				assert_string_not_equal(a->option, b->option);
		}
	}
	assert_null(contract_field_at(CONTRACT_N_ROWS));
}

static struct contract full(void)
{
	return (struct contract){
		.id = "a",
		.gpu = "gpu0",
		.vm = "vm-a",
		.cid = 9,
		.labels = json_pack("{s:s}", "tier", "gold"),
		.terms = {.initial_cap_pct = 50,
			  .min_cap_pct = 10,
			  .target_fps = 59.94,
			  .weight = 1.0 / 3,
			  .burst = true},
		.target_rate = 12.5,
		.memory_mib = 512,
		.fps_limit = 120,
		.flavor = "half",
		.held = true,
		.held_cap_pct = 40,
		.created_ms = 1763664596123,
		.offer = 17,
	};
}

/* Decodes a file object of the present version. */
static int decode(json_t *object, struct contract *ret_contract, unsigned int *ret_clamped)
{
	struct err err;

	return contract_decode_file(object, contract_file_version(), ret_contract, ret_clamped,
				    &err);
}

TEST(a_file_object_decodes_to_the_contract_it_was_encoded_from)
{
	struct contract contract = full(), again = {.id = ""};
	json_t *object = contract_encode(&contract, CONTRACT_IN_FILE);
	json_t *other;
	unsigned int clamped;

	assert_int_equal(decode(object, &again, &clamped), 0);
	assert_int_equal(clamped, 0);
	other = contract_encode(&again, CONTRACT_IN_FILE);
	assert_true(json_equal(object, other));
	json_decref(other);
	json_decref(object);
	contract_fini(&contract);
	contract_fini(&again);
}

/* A file has such numbers if it was edited by hand or written by an earlier release. */
TEST(numbers_beyond_the_bounds_are_limited_when_a_file_is_read)
{
	struct contract contract = full(), again = {.id = ""};
	unsigned int clamped;
	json_t *object;

	contract.terms.target_fps = contract.fps_limit = 1e6;
	contract.terms.weight = 1e-6;
	object = contract_encode(&contract, CONTRACT_IN_FILE);
	assert_int_equal(decode(object, &again, &clamped), 0);
	assert_int_equal(clamped, CONTRACT_TARGET_FPS | CONTRACT_FPS_LIMIT | CONTRACT_WEIGHT);
	assert_true(again.terms.target_fps == find("target_fps")->max);
	assert_true(again.fps_limit == find("fps_limit")->max);
	assert_true(again.terms.weight == find("weight")->min);
	json_object_set_new(object, "fps_limit", json_real(2e6));
	assert_int_equal(decode(object, &again, &clamped), -EINVAL);
	json_decref(object);
	contract_fini(&contract);
	contract_fini(&again);
}

TEST(only_the_chosen_fields_are_applied)
{
	const struct contract_field *field;
	struct contract values = full();

	for (size_t i = 0; (field = contract_field_at(i)); i++) {
		static const struct contract untouched;
		struct contract contract;
		json_t *got, *expected;

		memcpy(&contract, &untouched, sizeof(contract));
		contract_apply(&contract, field->bit, &values);
		got = contract_encode_field(&contract, field);
		expected = contract_encode_field(&values, field);
		assert_true(json_equal(got, expected));
		json_decref(expected);
		json_decref(got);
		contract_apply(&contract, field->bit, &untouched);
		assert_memory_equal(&contract, &untouched, sizeof(contract));
	}
	contract_fini(&values);
}

TEST(names_are_listed_in_the_order_of_the_table)
{
	char text[64], small[8];

	contract_list_names(CONTRACT_WEIGHT | CONTRACT_VM, text, sizeof(text));
	assert_string_equal(text, "vm, weight");
	contract_list_names(CONTRACT_WEIGHT | CONTRACT_VM, small, sizeof(small));
	assert_string_equal(small, "vm, wei");
	contract_list_names(0, text, sizeof(text));
	assert_string_equal(text, "");
}

TEST(a_label_is_found_by_its_name)
{
	struct contract contract = full(), bare = {.labels = NULL};

	assert_string_equal(contract_label(&contract, "tier"), "gold");
	assert_string_equal(contract_label(&contract, CONTRACT_PROJECT), "");
	assert_string_equal(contract_label(&bare, "tier"), "");
	contract_fini(&contract);
}
