/* SPDX-License-Identifier: MIT */
/* Contract options: fields of requests, and differences from a vGPU. */
#include <string.h>

#include "base/cleanup.h"
#include "gover-ctl/shared/contract-args.h"
#include "tests/unit/unit.h"

/* Returns arguments that contain these options of `run`. */
static struct args make_args(const char *cap, const char *target, const char *gpu,
			     const char *label)
{
	struct args args = {0};

	args.values[OPTION_RUN_CAP] = cap;
	args.values[OPTION_TARGET_FPS] = target;
	args.values[OPTION_GPU] = gpu;
	if (label)
		args.labels[args.n_labels++] = label;
	return args;
}

TEST(options_that_differ_from_the_contract_are_listed)
{
	static const struct {
		const char *cap, *target, *gpu, *label;
		int n;
		const char *message;
	} rows[] = {
		{NULL, NULL, NULL, NULL, 0, ""},
		{"50", "60", "gpu0", "tenant=x", 0, ""},
		{"50", "60.0", NULL, NULL, 0, ""},
		{"40", NULL, NULL, NULL, 1, "--cap is 50, not 40"},
		{NULL, "30", NULL, NULL, 1, "--target-fps is 60, not 30"},
		{NULL, NULL, "gpu1", NULL, 1, "--gpu is gpu0, not gpu1"},
		{NULL, NULL, NULL, "tenant=y", 1, "label tenant is x, not y"},
		{NULL, NULL, NULL, "new=y", 1, "label new is not set, not y"},
		{"40", "30", NULL, NULL, 2, "--cap is 50, not 40; --target-fps is 60, not 30"},
	};
	json_t *vgpu = json_loads("{\"id\": \"a\", \"gpu\": \"gpu0\", \"initial_cap_pct\": 50, "
				  "\"target_fps\": 60, \"labels\": {\"tenant\": \"x\"}}",
				  0, NULL);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct args args =
			make_args(rows[i].cap, rows[i].target, rows[i].gpu, rows[i].label);
		char text[256];

		assert_int_equal(contract_args_list_differences(&args, vgpu, text, sizeof(text)),
				 rows[i].n);
		assert_string_equal(text, rows[i].message);
	}
	json_decref(vgpu);
}

/* target_fps is null on a GPU that counts units of work. */
TEST(a_field_that_is_null_is_not_set)
{
	struct args args = make_args(NULL, "30", NULL, NULL);
	json_t *vgpu = json_loads("{\"target_fps\": null}", 0, NULL);
	char text[256];

	assert_int_equal(contract_args_list_differences(&args, vgpu, text, sizeof(text)), 1);
	assert_string_equal(text, "--target-fps is not set, not 30");
	json_decref(vgpu);
}

TEST(a_long_list_of_differences_is_cut_at_its_limit)
{
	struct args args = make_args("40", "30", "gpu1", "new=y");
	json_t *vgpu = json_object();
	char text[40];

	assert_int_equal(contract_args_list_differences(&args, vgpu, text, sizeof(text)), 4);
	assert_int_equal(strlen(text), sizeof(text) - 1);
	json_decref(vgpu);
}

TEST(only_given_options_are_sent)
{
	struct args args = make_args("40", "59.5", NULL, NULL);
	json_t *body = contract_args_make_body(&args);
	CLEANUP_FREE char *text = json_dumps(body, JSON_COMPACT);

	assert_string_equal(text, "{\"initial_cap_pct\":40,\"target_fps\":59.5}");
	json_decref(body);
}

TEST(labels_are_merged_with_existing_ones)
{
	struct args args = {.labels = {"a=1", "b=", "c=x=y", "none="}, .n_labels = 4};
	json_t *labels = json_pack("{s:s, s:s, s:s}", "a", "0", "b", "0", "d", "0");
	CLEANUP_FREE char *text = NULL;

	contract_args_merge_labels(&args, labels);
	text = json_dumps(labels, JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(text, "{\"a\":\"1\",\"c\":\"x=y\",\"d\":\"0\"}");
	json_decref(labels);
}
