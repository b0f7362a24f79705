/* SPDX-License-Identifier: MIT */
/* Lists: order, selection by labels, and formats. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-ctl/shared/tables.h"
#include "tests/unit/unit.h"

static const char body[] =
	"{\"vgpus\":[{\"id\":\"b10\",\"gpu\":\"g0\",\"util_pct\":5.5,\"held\":true,"
	"\"created_at\":\"2026-11-20T18:00:00.000Z\",\"labels\":{\"tenant\":\"blue\",\"row\":"
	"\"7\"}},"
	"{\"id\":\"b2\",\"gpu\":\"g1\",\"util_pct\":null,\"held\":false,\"broken\":true,"
	"\"created_at\":\"2026-11-20T19:00:00.000Z\",\"labels\":{\"tenant\":\"red\"}},"
	"{\"id\":\"a\",\"gpu\":\"g0\",\"util_pct\":100,\"target_fps\":60,\"fps\":60,"
	"\"created_at\":\"2026-11-20T17:00:00.000Z\",\"labels\":{}}]}";

/* Prints the list with these options. The caller frees the text. */
static char *list(const char *sort, const char *selector, bool json, bool names)
{
	struct args args = {0};
	struct listing listing;
	struct reply reply = {0};
	struct writer writer;
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	args.values[OPTION_LIST_SORT] = sort;
	args.values[OPTION_SELECTOR] = selector;
	reply.text = strdup(body);
	reply.length = strlen(body);
	reply.json = json_loads(body, 0, NULL);
	assert_non_null(reply.json);
	writer_init(&writer, out, json);
	writer.names = names;
	assert_int_equal(listing_open(&listing, &args, &table_vgpus), CTL_DONE);
	assert_int_equal(listing_print(&listing, &writer, &reply), CTL_DONE);
	fclose(out);
	reply_fini(&reply);
	return text;
}

TEST(rows_are_sorted_by_column_or_field)
{
	static const struct {
		const char *sort, *names;
	} rows[] = {
		{NULL, "b10\nb2\na\n"},	      {"vgpu", "a\nb2\nb10\n"},
		{"-VGPU", "b10\nb2\na\n"},    {"used", "b10\na\nb2\n"},
		{"USED%", "b10\na\nb2\n"},    {"-used", "a\nb10\nb2\n"},
		{"util_pct", "b10\na\nb2\n"}, {"gpu", "b10\na\nb2\n"},
		{"-gpu", "b2\nb10\na\n"},     {"age", "b2\nb10\na\n"},
		{"-age", "a\nb10\nb2\n"},     {"created_at", "a\nb10\nb2\n"},
		{"promise", "b2\nb10\na\n"},  {"note", "b10\nb2\na\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP_FREE char *text = list(rows[i].sort, NULL, false, true);

		if (strcmp(text, rows[i].names) != 0)
			fail_msg("--sort %s: %s", rows[i].sort, text);
	}
}

TEST(labels_select_rows)
{
	static const struct {
		const char *selector, *names;
	} rows[] = {
		{"tenant=blue", "b10\n"},
		{"tenant==blue", "b10\n"},
		{"tenant!=blue", "b2\na\n"},
		{"tenant", "b10\nb2\n"},
		{"!tenant", "a\n"},
		{"tenant,!row", "b2\n"},
		{"tenant=blue,row=7", "b10\n"},
		{"tenant=blue,row=8", ""},
		{"tenant!=blue,tenant!=red", "a\n"},
		{"row=", ""},
		{"tenant==~blue", ""}, /* a value may contain every character but the comma */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP_FREE char *text = list(NULL, rows[i].selector, false, true);

		if (strcmp(text, rows[i].names) != 0)
			fail_msg("--selector %s: %s", rows[i].selector, text);
	}
}

TEST(bad_options_are_rejected_before_the_request)
{
	static const struct {
		const char *sort, *selector;
	} rows[] = {
		{"size", NULL},
		{"", NULL},
		{"-", NULL},
		{NULL, "a,"},
		{NULL, ",a"},
		{NULL, "a,,b"},
		{NULL, "=b"},
		{NULL, "!"},
		{NULL, "!=b"},
		{NULL, "!a=b"},
		{NULL, "tenant in (blue,red)"},
		{NULL, "tenant notin (blue)"},
		{NULL, "tenant exists"},
		{NULL, "row>6"},
		{NULL, "tenant=~blue|red"},
		{NULL, "tenant!~blue"},
		{NULL, "tenant = blue"},
		{NULL, "tenant=blue, row=7"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct args args = {0};
		struct listing listing;

		args.values[OPTION_LIST_SORT] = rows[i].sort;
		args.values[OPTION_SELECTOR] = rows[i].selector;
		assert_int_equal(listing_open(&listing, &args, &table_vgpus), CTL_USAGE);
	}
}

TEST(json_is_unchanged_unless_rows_are_chosen)
{
	CLEANUP_FREE char *all = list(NULL, NULL, true, false);
	CLEANUP_FREE char *some = list("-vgpu", "tenant", true, false);
	json_t *json = json_loads(some, 0, NULL);
	const json_t *rows = json_object_get(json, "vgpus");

	assert_memory_equal(all, body, strlen(body));
	assert_string_equal(all + strlen(body), "\n");
	assert_int_equal(json_array_size(rows), 2);
	assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 0), "id")),
			    "b10");
	json_decref(json);
}
