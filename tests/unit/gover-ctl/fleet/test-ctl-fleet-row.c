/* SPDX-License-Identifier: MIT */
/* gover-ctl/fleet/row.h: the sums of a row, and its cells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "gover-ctl/field.h"
#include "gover-ctl/fleet/row.h"
#include "tests/unit/quoted-json.h"

static const struct fleet_host gpu1 = {.name = "gpu1", .address = "http://gpu1:9788"};

static const char host_text[] =
	"{'version': '0.1.0',"
	" 'gpus': [{'name': 'gpu0', 'sum_initial_cap_pct': 160, 'load_pct': 90},"
	"          {'name': 'gpu1', 'sum_initial_cap_pct': 40, 'load_pct': null}],"
	" 'vgpus': [{'id': 'a', 'gpu': 'gpu0', 'found': false, 'promise': 'broken',"
	"            'labels': {'fleet': 'libvirt'}, 'flavor': 'half'},"
	"           {'id': 'b', 'gpu': 'gpu1', 'found': false, 'promise': 'kept',"
	"            'labels': {'fleet': 'libvirt'}, 'flavor': 'default'},"
	"           {'id': 'c', 'gpu': 'gpu0', 'found': false, 'promise': 'broken',"
	"            'labels': {}, 'flavor': 'half'}],"
	" 'offers': [{'id': 1, 'gpu': 'gpu1', 'state': 'open', 'flavor': 'half'},"
	"            {'id': 2, 'gpu': 'gpu0', 'state': 'probation', 'flavor': 'half'},"
	"            {'id': 3, 'gpu': 'gpu0', 'state': 'open'}],"
	" 'alerts': [{'id': 1, 'name': 'a', 'severity': 'critical'},"
	"            {'id': 2, 'name': 'b', 'severity': 'warning'},"
	"            {'id': 3, 'name': 'c', 'severity': 'warning'},"
	"            {'id': 4, 'name': 'd', 'severity': 'info'}]}";
static const char policy_text[] = "{'name': 'qos', 'params': {'flavor': 'default', 'ttl_s': 60}}";

static void cell_of(const char *head, const json_t *row, char text[WRITER_CELL_MAX])
{
	struct writer writer = {0};

	for (size_t i = 0; i < table_fleet.n_columns; i++)
		if (strcmp(table_fleet.columns[i].head, head) == 0) {
			writer_format_cell(&writer, &table_fleet.columns[i], row, text);
			return;
		}
	fail_msg("no column %s", head);
}

static void expect_cell(const json_t *row, const char *head, const char *expected)
{
	char text[WRITER_CELL_MAX];

	cell_of(head, row, text);
	if (strcmp(text, expected) != 0)
		fail_msg("%s: '%s', expected '%s'", head, text, expected);
}

static void test_a_row_sums_over_the_host(void **state)
{
	json_t *host = quoted_json(host_text), *policy = quoted_json(policy_text);
	json_t *fleet = quoted_json("{'state': 'unreachable', 'problem': 'Placement: no answer'}");
	const struct row_replies replies = {.host = host, .policy = policy, .fleet = fleet};
	json_t *row = row_make(&gpu1, &replies);

	(void)state;
	assert_non_null(row);
	expect_cell(row, "HOST", "gpu1");
	expect_cell(row, "GPUS", "2");
	expect_cell(row, "VGPUS", "3");
	expect_cell(row, "SOLD%", "100"); /* the mean of both GPUs */
	expect_cell(row, "USED%", "90");  /* the mean of the known ones */
	expect_cell(row, "BROKEN", "2");
	expect_cell(row, "OFFERS", "2");
	expect_cell(row, "POLICY", "qos");
	expect_cell(row, "ALERTS", "1 critical, 2 warning");
	expect_cell(row, "FLEET", "unreachable");
	expect_cell(row, "SLOTS", "-");
	expect_cell(row, "NOTE", "Placement: no answer");
	assert_true(field_true(row, "answered"));
	json_decref(row);
	json_decref(host);
	json_decref(policy);
	json_decref(fleet);
}

static void test_a_host_without_an_answer_has_its_reason(void **state)
{
	const struct row_replies replies = {.problem = "no answer within 5 s"};
	json_t *row = row_make(&gpu1, &replies);

	(void)state;
	assert_false(field_true(row, "answered"));
	expect_cell(row, "HOST", "gpu1");
	expect_cell(row, "GPUS", "-");
	expect_cell(row, "BROKEN", "-");
	expect_cell(row, "ALERTS", "-");
	expect_cell(row, "FLEET", "-");
	expect_cell(row, "NOTE", "no answer within 5 s");
	json_decref(row);
}

static void test_a_host_without_gpus_has_no_means(void **state)
{
	json_t *host = quoted_json("{'gpus': [], 'vgpus': [], 'offers': [], 'alerts': []}");
	const struct row_replies replies = {.host = host};
	json_t *row = row_make(&gpu1, &replies);

	(void)state;
	expect_cell(row, "GPUS", "0");
	expect_cell(row, "SOLD%", "-");
	expect_cell(row, "USED%", "-");
	expect_cell(row, "ALERTS", "-");
	expect_cell(row, "POLICY", "-");
	json_decref(row);
	json_decref(host);
}

/* The slots are those of contracts that gover-fleet made, and of open offers. */
static void test_slots_are_compared_with_placement(void **state)
{
	static const struct {
		const char *inventories, *cell;
	} rows[] = {
		/* 2 of HALF and 2 of DEFAULT are wanted. */
		{"{'inventories': {'CUSTOM_GOVER_SLOT_HALF': {'total': 2, 'reserved': 0},"
		 " 'CUSTOM_GOVER_SLOT_DEFAULT': {'total': 2, 'reserved': 0}}}",
		 "1/4"},
		{"{'inventories': {'CUSTOM_GOVER_SLOT_HALF': {'total': 2, 'reserved': 0},"
		 " 'CUSTOM_GOVER_SLOT_DEFAULT': {'total': 1, 'reserved': 1}, 'VCPU': {'total': "
		 "4}}}",
		 "1/2, wants 4"},
		/* The same sum, but of the wrong classes. */
		{"{'inventories': {'CUSTOM_GOVER_SLOT_HALF': {'total': 4, 'reserved': 0}}}",
		 "1/4, wants 4"},
		/* Placement has the host, but nothing of gover-fleet. */
		{"{'inventories': {}}", "0/0, wants 4"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *host = quoted_json(host_text), *policy = quoted_json(policy_text);
		json_t *published = json_array();
		json_t *inventories = quoted_json(rows[i].inventories);
		json_t *usages = quoted_json("{'usages': {'CUSTOM_GOVER_SLOT_HALF': 1}}");
		const struct row_replies replies = {
			.host = host, .policy = policy, .published = published};
		json_t *row;

		assert_int_equal(row_add_provider(published, inventories, usages), 0);
		row = row_make(&gpu1, &replies);
		expect_cell(row, "SLOTS", rows[i].cell);
		json_decref(row);
		json_decref(host);
		json_decref(policy);
		json_decref(published);
		json_decref(inventories);
		json_decref(usages);
	}
}

static void test_the_providers_of_several_gpus_are_summed(void **state)
{
	json_t *published = json_array();
	json_t *inventories = quoted_json(
		"{'inventories': {'CUSTOM_GOVER_SLOT_A': {'total': 2, 'reserved': 0}}}");
	json_t *usages = quoted_json("{'usages': {'CUSTOM_GOVER_SLOT_A': 1}}");
	const json_t *slot;

	(void)state;
	assert_int_equal(row_add_provider(published, inventories, usages), 0);
	assert_int_equal(row_add_provider(published, inventories, usages), 0);
	slot = json_array_get(published, 0);
	assert_int_equal(json_array_size(published), 1);
	assert_string_equal(field_text(slot, "class"), "CUSTOM_GOVER_SLOT_A");
	assert_true(field_number(slot, "total") == 4 && field_number(slot, "used") == 2);
	json_decref(published);
	json_decref(inventories);
	json_decref(usages);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_row_sums_over_the_host),
		cmocka_unit_test(test_a_host_without_an_answer_has_its_reason),
		cmocka_unit_test(test_a_host_without_gpus_has_no_means),
		cmocka_unit_test(test_slots_are_compared_with_placement),
		cmocka_unit_test(test_the_providers_of_several_gpus_are_summed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
