/* SPDX-License-Identifier: MIT */
/* gover-fleet/migrate/nova.h: the facts in answers of Nova and Placement, and answers that
 * contain none. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-fleet/migrate/nova.h"
#include "gover-fleet/model/mapping.h"
#include "tests/unit/quoted-json.h"
#include "tests/unit/unit.h"

TEST(test_the_phase_of_each_status)
{
	static const struct {
		const char *status;
		enum nova_phase phase;
	} rows[] = {
		{"accepted", NOVA_WAITING},	  {"queued", NOVA_WAITING},
		{"preparing", NOVA_WAITING},	  {"running", NOVA_RUNNING},
		{"post-migrating", NOVA_RUNNING}, {"completed", NOVA_COMPLETED},
		{"failed", NOVA_FAILED},	  {"error", NOVA_FAILED},
		{"cancelled", NOVA_FAILED},	  {"of a later version", NOVA_WAITING},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct nova_migration m;
		json_t *json = json_pack("{s:[{s:i, s:s, s:s}]}", "migrations", "id", 1,
					 "instance_uuid", "x", "status", rows[i].status);

		assert_true(nova_read_migration(json, 0, &m));
		if (m.phase != rows[i].phase)
			fail_msg("%s", rows[i].status);
		json_decref(json);
	}
}

TEST(test_resources_are_summed_over_providers_and_sorted)
{
	static const struct {
		const char *answer, *resources; /* NULL: not usable */
	} rows[] = {
		{"{'allocations': {'p': {'resources': {'VCPU': 2, 'MEMORY_MB': 96}},"
		 " 'q': {'resources': {'CUSTOM_GOVER_SLOT_A': 1}}}}",
		 "resources=MEMORY_MB:96,VCPU:2&resources1=CUSTOM_GOVER_SLOT_A:1"},
		{"{'allocations': {'p': {'resources': {'VCPU': 2}},"
		 " 'q': {'resources': {'CUSTOM_GOVER_SLOT_A': 1, 'VCPU': 3}}}}",
		 "resources=VCPU:5&resources1=CUSTOM_GOVER_SLOT_A:1"},
		{"{'allocations': {'q': {'resources': {'CUSTOM_GOVER_SLOT_A': 1,"
		 " 'CUSTOM_GOVER_SLOT': 1}}}}",
		 "resources1=CUSTOM_GOVER_SLOT:1,CUSTOM_GOVER_SLOT_A:1"},
		{"{'allocations': {'q': {'resources': {'CUSTOM_GOVER_SLOT': 1}}}}", NULL},
		{"{'allocations': {'p': {'resources': {'VCPU': 2}}}}", NULL},
		{"{'allocations': {'p': {'resources': {'CUSTOM_GOVER_SLOT_A': 0}}}}", NULL},
		{"{'allocations': {'p': {'resources': {'CUSTOM_GOVER_SLOT_A': -1}}}}", NULL},
		{"{'allocations': {'p': {'resources': {'CUSTOM_GOVER_SLOT_A': 'x'}}}}", NULL},
		{"{'allocations': {'p': {'resources': {'CUSTOM_GOVER_SLOT_A&x=1': 1}}}}", NULL},
		{"{'allocations': {'p': {'resources': {'': 1, 'CUSTOM_GOVER_SLOT_A': 1}}}}", NULL},
		{"{'allocations': {'p': 5}}", NULL},
		{"{'allocations': []}", NULL},
		{"{}", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *json = quoted_json(rows[i].answer);
		char text[NOVA_RESOURCES_MAX] = "unchanged";
		bool read = nova_read_resources(json, text);

		json_decref(json);
		if (read != (rows[i].resources != NULL) ||
		    strcmp(text, read ? rows[i].resources : "unchanged") != 0)
			fail_msg("%s: %d '%s'", rows[i].answer, read, text);
	}
}

TEST(test_too_many_or_too_long_classes_are_not_cut)
{
	char text[NOVA_RESOURCES_MAX], class[200];
	json_t *resources = json_object(), *json;

	json = json_pack("{s:{s:{s:o}}}", "allocations", "p", "resources", resources);
	for (int i = 0; i < 17; i++) {
		snprintf(class, sizeof(class), WANTED_CLASS_PREFIX "%d", i);
		assert_int_equal(json_object_set_new(resources, class, json_integer(1)), 0);
	}
	assert_false(nova_read_resources(json, text)); /* more than 16 classes */
	for (int i = 2; i < 17; i++) {
		snprintf(class, sizeof(class), WANTED_CLASS_PREFIX "%d", i);
		assert_int_equal(json_object_del(resources, class), 0);
	}
	assert_true(nova_read_resources(json, text));
	memset(class, 'A', sizeof(class) - 1);
	class[sizeof(class) - 1] = '\0';
	assert_int_equal(json_object_set_new(resources, class, json_integer(1)), 0);
	assert_true(nova_read_resources(json, text));
	class[0] = 'B';
	assert_int_equal(json_object_set_new(resources, class, json_integer(1)), 0);
	assert_false(nova_read_resources(json, text));
	json_decref(json);
}

/* The server uses the GPU g1 and the cores of root r1. Both hosts use the same disks. */
TEST(test_a_candidate_counts_if_it_uses_no_provider_of_this_host)
{
#define CANDIDATE(gpu, root)                                                 \
	"{'allocations': {'" gpu "': {'resources': {'CUSTOM_GOVER_SLOT_A': " \
	"1}}, '" root "': {'resources': {'VCPU': 1}}, 'd': {'resources': {'DISK_GB': 1}}}}"
	static const struct {
		const char *requests;
		bool elsewhere;
	} rows[] = {
		{"[" CANDIDATE("g2", "r2") "]", true},
		{"[" CANDIDATE("g1", "r1") ", " CANDIDATE("g2", "r2") "]", true},
		{"[" CANDIDATE("g1", "r1") "]", false},
		{"[" CANDIDATE("g9", "r1") "]", false}, /* another GPU of this host */
		{"[{'allocations': {'r2': {'resources': {'VCPU': 1}}}}]", false},
		{"[]", false},
		{"[1, {}, {'allocations': []}, {'allocations': {'g2': 5}}]", false},
		{"{}", false},
	};
	json_t *used =
		quoted_json("{'allocations': {'g1': {'resources': {'CUSTOM_GOVER_SLOT_A': 1}},"
			    " 'r1': {'resources': {'VCPU': 1}},"
			    " 'd': {'resources': {'DISK_GB': 1}}}}");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *requests = quoted_json(rows[i].requests);
		json_t *json = json_pack("{s:o}", "allocation_requests", requests);

		if (nova_has_candidate_elsewhere(json, used) != rows[i].elsewhere)
			fail_msg("%s", rows[i].requests);
		json_decref(json);
	}
	json_decref(used);
}

TEST(test_the_time_of_the_last_change)
{
	static const struct {
		const char *members;
		int64_t changed_ms;
	} rows[] = {
		{"'updated_at': '2027-01-15T08:00:00.000000', 'created_at': '2020-01-01T00:00:00'",
		 1800000000000},
		{"'updated_at': null, 'created_at': '2027-01-15T08:00:00.000000'", 1800000000000},
		{"'updated_at': 'soon'", 0},
		{"'x': 1", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct nova_migration m;
		char text[256];
		json_t *json;

		snprintf(text, sizeof(text),
			 "{'migrations': [{'id': 1, 'instance_uuid': 'x', 'status': 'y', %s}]}",
			 rows[i].members);
		json = quoted_json(text);
		assert_true(nova_read_migration(json, 0, &m));
		assert_true(m.changed_ms == rows[i].changed_ms && !m.live);
		json_decref(json);
	}
}

TEST(test_the_messages_of_errors)
{
	static const struct {
		const char *answer, *text;
	} rows[] = {
		{"{'forbidden': {'code': 403, 'message': 'Policy does not allow'}}",
		 "Policy does not allow"},
		{"{'errors': [{'status': 409, 'detail': 'two\\nlines'}]}", "two lines"},
		{"{'forbidden': {'message': 'f\u00fcr'}}", "f??r"},
		{"{'forbidden': 'no'}", ""},
		{"[]", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *json = quoted_json(rows[i].answer);
		char text[NOVA_TEXT_MAX];

		nova_read_problem(json, text);
		assert_string_equal(text, rows[i].text);
		json_decref(json);
	}
}

TEST(test_an_answer_that_is_no_json_has_no_message)
{
	char text[NOVA_TEXT_MAX];

	nova_read_problem(NULL, text);
	assert_string_equal(text, "");
}

TEST(test_a_server_without_members_is_unknown)
{
	struct nova_server server;
	json_t *json = quoted_json("{'server': {'status': 7, 'fault': null}}");

	nova_read_server(json, &server);
	assert_string_equal(server.status, "");
	assert_string_equal(server.fault, "");
	json_decref(json);
}
