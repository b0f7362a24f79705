/* SPDX-License-Identifier: MIT */
/* gover-fleet/migrate/nova.h: the facts in answers of Nova and Placement, and, with a simulated
 * cloud, the checks before a migration, the request for it, and the reports of its course. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-fleet/migrate/nova.h"
#include "gover-fleet/model/mapping.h"
#include "tests/unit/gover-fleet/migrate/fake-cloud.h"
#include "tests/unit/quoted-json.h"
#include "tests/unit/unit.h"

#define TIMEOUT_MS 1000 /* of a request in tests that do not wait for it */

/* 2027-01-15T08:00:00Z */
static const struct instant now = {.mono_ns = 1, .wall_ms = 1800000000000};
static struct keystone *keystone;
static struct nova *nova;
static struct nova_asked asked;
static struct err err;

static int set_up(void)
{
	keystone = fake_new_keystone(TIMEOUT_MS);
	assert_int_equal(nova_new("host1", 900, keystone, &nova, NULL), 0);
	fake_set("{}");
	return 0;
}

static int tear_down(void)
{
	nova = nova_free(nova);
	keystone = keystone_free(keystone);
	return 0;
}

FIXTURE(set_up, tear_down)

static int ask(void)
{
	memset(&asked, 0, sizeof(asked));
	err.msg[0] = '\0';
	return nova_ask(nova, FAKE_SERVER, now, &asked, &err);
}

FIXTURE_ONCE(fake_start, fake_stop)

TEST(test_nova_is_asked_for_any_host_and_any_kind_of_disk)
{
	json_t *log, *last;
	char *body;

	assert_int_equal(ask(), 0);
	assert_false(asked.unconfirmed);
	assert_string_equal(asked.server, FAKE_SERVER);
	log = fake_log();
	last = json_array_get(log, json_array_size(log) - 1);
	assert_string_equal(json_string_value(json_object_get(last, "path")),
			    "/servers/" FAKE_SERVER "/action");
	body = json_dumps(json_object_get(last, "body"), JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(body,
			    "{\"os-migrateLive\":{\"block_migration\":\"auto\",\"host\":null}}");
	assert_string_equal(json_string_value(json_object_get(last, "version")), "compute 2.59");
	assert_string_equal(json_string_value(json_object_get(last, "token")), "admin");
	free(body);
	json_decref(log);
}

TEST(test_placement_is_asked_for_all_resources_without_overloaded_hosts)
{
	assert_int_equal(ask(), 0);
	assert_int_equal(fake_count("GET",
				    "/allocation_candidates?limit=64&required1=!CUSTOM_GOVER_"
				    "OVERLOADED&resources=MEMORY_MB:96,VCPU:1&resources1="
				    "CUSTOM_GOVER_SLOT_50:1"),
			 1);
	/* Four requests: each delays the migration. */
	assert_int_equal(fake_count("GET", "/"), 3);
	assert_int_equal(fake_count("POST", "/"), 1);
}

TEST(test_checks_in_advance_are_made_once)
{
	struct instant later = now, too_late = now;

	later.mono_ns += NOVA_CHECK_NS;
	too_late.mono_ns += NOVA_CHECK_NS + 1;
	assert_int_equal(nova_check(nova, FAKE_SERVER, now, &err), 0);
	assert_int_equal(fake_count("GET", "/"), 3);
	assert_int_equal(fake_count("POST", "/"), 0);
	assert_int_equal(nova_ask(nova, FAKE_SERVER, later, &asked, &err), 0);
	assert_int_equal(fake_count("GET", "/"), 3);
	assert_int_equal(fake_count("POST", "/"), 1);
	/* they count once */
	assert_int_not_equal(nova_ask(nova, FAKE_SERVER, later, &asked, &err), 0);
	assert_int_equal(fake_count("GET", "/os-migrations"), 2);
	/* old ones do not count */
	fake_set("{}");
	assert_int_equal(nova_check(nova, FAKE_SERVER, now, &err), 0);
	assert_int_equal(nova_ask(nova, FAKE_SERVER, too_late, &asked, &err), 0);
	assert_int_equal(fake_count("GET", "/"), 6);
	/* nor do those of another server, or those that found an obstacle */
	fake_set("{'candidates': []}");
	assert_int_equal(nova_check(nova, FAKE_SERVER, now, &err), NOVA_NO_ROOM);
	assert_int_equal(nova_ask(nova, FAKE_SERVER, now, &asked, &err), NOVA_NO_ROOM);
	fake_set("{}");
	assert_int_equal(nova_check(nova, FAKE_SERVER, now, &err), 0);
	assert_int_equal(nova_ask(nova, FAKE_OTHER, now, &asked, &err), NOVA_UNSUITABLE);
	assert_int_equal(fake_count("POST", "/"), 0);
}

TEST(test_the_reasons_not_to_ask)
{
	static const struct {
		const char *rule, *behaviour;
		int result;
		const char *text;
	} rows[] = {
		{"Placement is down", "{'errors': {'/allocation_candidates': 503}}", NOVA_UNHEALTHY,
		 "HTTP status 503"},
		{"Placement has no data", "{'errors': {'/allocations': 500}}", NOVA_UNHEALTHY,
		 "HTTP status 500"},
		{"Placement hangs", "{'hang_s': {'/allocation_candidates': 3}}", NOVA_UNHEALTHY,
		 "no answer from Placement"},
		{"Nova is down", "{'errors': {'/os-migrations': 503}}", NOVA_UNHEALTHY,
		 "HTTP status 503"},
		{"a role is missing", "{'errors': {'/os-migrations': 403}}", NOVA_FORBIDDEN,
		 "HTTP status 403"},
		{"a role is missing in Placement", "{'errors': {'/allocations': 403}}",
		 NOVA_FORBIDDEN, "HTTP status 403"},
		{"no other host", "{'candidates': []}", NOVA_NO_ROOM,
		 "no other host with resources=MEMORY_MB:96,VCPU:1&resources1=CUSTOM_GOVER_"
		 "SLOT_50:1"},
		{"only this host", "{'candidates': ['own']}", NOVA_NO_ROOM, "no other host"},
		{"no gover class", "{'allocations': {'x': {'VCPU': 1}}}", NOVA_UNSUITABLE,
		 "no allocation of a class"},
		{"no allocation", "{'allocations': {}}", NOVA_UNSUITABLE,
		 "no allocation of a class"},
		{"a migration of another server runs",
		 "{'past': [{'id': 3, 'instance_uuid': '" FAKE_OTHER
		 "', 'source_compute': 'host1', 'status': 'running'}]}",
		 NOVA_BUSY, "migrates server " FAKE_OTHER " from host1 now (status running)"},
		{"a migration waits",
		 "{'past': [{'id': 3, 'instance_uuid': '" FAKE_OTHER "', 'status': 'queued'}]}",
		 NOVA_BUSY, "(status queued)"},
		{"the server came here lately",
		 "{'past': [{'id': 3, 'instance_uuid': '" FAKE_SERVER
		 "', 'source_compute': 'host2', 'dest_compute': 'host1', 'status': 'completed'}]}",
		 NOVA_RECENT, "brought server " FAKE_SERVER " here from host2"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int r;

		fake_set(rows[i].behaviour);
		r = ask();
		if (r != rows[i].result || !strstr(err.msg, rows[i].text))
			fail_msg("%s: %d '%s'", rows[i].rule, r, err.msg);
		if (fake_count("POST", "/action") != 0)
			fail_msg("%s: Nova was asked", rows[i].rule);
	}
}

/* Nova keeps the records of migrations for ever, also of those that ended without a word. */
TEST(test_old_migrations_do_not_matter)
{
	fake_set("{'past': ["
		 "{'id': 3, 'instance_uuid': '" FAKE_OTHER
		 "', 'status': 'running', 'updated_at': '2027-01-15T07:44:59.000000'},"
		 "{'id': 4, 'instance_uuid': '" FAKE_SERVER
		 "', 'dest_compute': 'host1', 'status': 'completed',"
		 " 'updated_at': '2027-01-15T07:44:59.000000'},"
		 "{'id': 5, 'instance_uuid': '" FAKE_SERVER
		 "', 'dest_compute': 'host1', 'status': 'confirmed', 'migration_type': "
		 "'migration'}]}");
	assert_int_equal(ask(), 0);
	assert_int_equal(asked.last_id, 5);
	fake_set("{'past': [{'id': 3, 'instance_uuid': '" FAKE_OTHER
		 "', 'status': 'running', 'created_at': '2027-01-15T07:45:01.000000'}]}");
	assert_int_equal(ask(), NOVA_BUSY);
}

TEST(test_earlier_migrations_of_others_do_not_matter)
{
	fake_set("{'past': ["
		 "{'id': 3, 'instance_uuid': '" FAKE_OTHER
		 "', 'dest_compute': 'host1', 'status': 'completed'},"
		 "{'id': 9, 'instance_uuid': '" FAKE_SERVER
		 "', 'dest_compute': 'host1', 'status': 'failed'},"
		 "{'id': 5, 'instance_uuid': '" FAKE_SERVER
		 "', 'dest_compute': 'host3', 'status': 'completed'},"
		 "{'id': 0}, 7, {'id': 8, 'status': 'running'}]}");
	assert_int_equal(ask(), 0);
	assert_int_equal(asked.last_id, 9);
}

TEST(test_the_refusals_of_nova)
{
	static const struct {
		const char *behaviour;
		int result;
	} rows[] = {
		{"{'ask_status': 403}", NOVA_FORBIDDEN},
		{"{'ask_status': 409}", NOVA_BUSY},
		{"{'ask_status': 400}", NOVA_UNSUITABLE},
		{"{'ask_status': 404}", NOVA_UNSUITABLE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		fake_set(rows[i].behaviour);
		assert_int_equal(ask(), rows[i].result);
		assert_int_equal(fake_count("POST", "/action"), 1);
		if (i > 0)
			assert_non_null(strstr(err.msg, "the reason of Nova"));
	}
}

/* Nova can go on with a request that it has not answered. */
TEST(test_without_an_answer_the_migration_may_have_begun)
{
	static const char *const behaviours[] = {"{'ask_status': 500}", "{'ask_status': 504}",
						 "{'ask_hang_s': 2}"};

	for (size_t i = 0; i < ARRAY_SIZE(behaviours); i++) {
		fake_set(behaviours[i]);
		assert_int_equal(ask(), 0);
		assert_true(asked.unconfirmed);
		assert_int_equal(fake_count("POST", "/action"), 1);
	}
}

TEST(test_the_course_of_a_migration)
{
	static const struct {
		enum nova_phase phase;
		const char *to;
	} looks[] = {
		{NOVA_WAITING, "host2"},
		{NOVA_RUNNING, "host2"},
		{NOVA_COMPLETED, "host2"},
	};

	/* An earlier migration of the server is not taken for this one. */
	fake_set("{'past': [{'id': 5, 'instance_uuid': '" FAKE_SERVER
		 "', 'dest_compute': 'host3', 'status': 'completed'}]}");
	assert_int_equal(ask(), 0);
	assert_int_equal(asked.last_id, 5);
	for (size_t i = 0; i < ARRAY_SIZE(looks); i++) {
		struct nova_progress progress;

		assert_int_equal(nova_look(nova, &asked, &progress, &err), 0);
		assert_int_equal(progress.phase, looks[i].phase);
		assert_int_equal(progress.id, 6);
		assert_string_equal(progress.to, looks[i].to);
	}
}

TEST(test_the_failures_of_a_migration)
{
	static const struct {
		const char *behaviour, *why;
	} rows[] = {
		{"{'course': ['failed']}", "with status failed"},
		{"{'course': ['error']}", "with status error"},
		{"{'course': ['cancelled']}", "with status cancelled"},
		{"{'course': ['error'], 'status_after': 'ERROR'}",
		 "the server to ERROR: No valid host was found. None at all."},
		{"{'begins': false, 'status_after': 'ERROR'}", "the server to ERROR"},
		{"{'course': ['accepted'], 'status_after': 'ERROR'}", "the server to ERROR"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct nova_progress progress;

		fake_set(rows[i].behaviour);
		assert_int_equal(ask(), 0);
		assert_int_equal(nova_look(nova, &asked, &progress, &err), 0);
		if (progress.phase != NOVA_FAILED || !strstr(progress.why, rows[i].why))
			fail_msg("%s: phase %d, '%s'", rows[i].behaviour, progress.phase,
				 progress.why);
	}
}

TEST(test_a_migration_that_nova_has_not_made_yet_waits)
{
	struct nova_progress progress;

	fake_set("{'begins': false}");
	assert_int_equal(ask(), 0);
	assert_int_equal(nova_look(nova, &asked, &progress, &err), 0);
	assert_int_equal(progress.phase, NOVA_WAITING);
	assert_int_equal(progress.id, 0);
}

TEST(test_a_look_that_fails_leaves_the_progress_unknown)
{
	struct nova_progress progress = {.phase = NOVA_RUNNING};
	const struct nova_asked other = {.server = FAKE_SERVER};

	fake_set("{'errors': {'/os-migrations': 500}}");
	assert_int_equal(nova_look(nova, &other, &progress, &err), NOVA_UNHEALTHY);
	assert_int_equal(progress.phase, NOVA_RUNNING);
}

TEST(test_a_server_that_was_removed_has_failed)
{
	struct nova_progress progress;
	const struct nova_asked other = {.server = FAKE_OTHER};

	assert_int_equal(nova_look(nova, &other, &progress, &err), 0);
	assert_int_equal(progress.phase, NOVA_FAILED);
	assert_string_equal(progress.why, "the server was removed");
}

TEST(test_an_abort_names_the_migration)
{
	struct nova_progress progress;

	fake_set("{'course': ['running']}");
	assert_int_equal(ask(), 0);
	assert_int_equal(nova_look(nova, &asked, &progress, &err), 0);
	assert_int_equal(nova_abort(nova, &asked, progress.id, &err), 0);
	assert_int_equal(fake_count("DELETE", "/servers/" FAKE_SERVER "/migrations/1"), 1);
	assert_int_equal(nova_look(nova, &asked, &progress, &err), 0);
	assert_int_equal(progress.phase, NOVA_FAILED);
}

TEST(test_only_a_uuid_is_a_server)
{
	static const char *const rows[] = {
		"",
		"vm-1",
		"aaaaaaaa-0000-4000-8000-00000000000",
		"../../flavors",
		"AAAAAAAA-0000-4000-8000-000000000001",
		"aaaaaaaa-0000-4000-8000-0000000000011",
		"aaaaaaaa00000-4000-8000-000000000001",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(nova_ask(nova, rows[i], now, &asked, &err), NOVA_UNSUITABLE);
	}
	assert_int_equal(fake_count("GET", "/"), 0);
}

TEST(test_the_name_of_the_host_must_fit_into_a_url)
{
	struct nova *other;

	assert_int_equal(nova_new("host1&x", 60, keystone, &other, &err), -EINVAL);
	assert_int_equal(nova_new("", 60, keystone, &other, &err), -EINVAL);
}

/* --- answers, without a cloud --- */

TEST_WITH(test_the_phase_of_each_status, NULL, NULL)
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

TEST_WITH(test_resources_are_summed_over_providers_and_sorted, NULL, NULL)
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

TEST_WITH(test_too_many_or_too_long_classes_are_not_cut, NULL, NULL)
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
TEST_WITH(test_a_candidate_counts_if_it_uses_no_provider_of_this_host, NULL, NULL)
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

TEST_WITH(test_the_time_of_the_last_change, NULL, NULL)
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

TEST_WITH(test_the_messages_of_errors, NULL, NULL)
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

TEST_WITH(test_an_answer_that_is_no_json_has_no_message, NULL, NULL)
{
	char text[NOVA_TEXT_MAX];

	nova_read_problem(NULL, text);
	assert_string_equal(text, "");
}

TEST_WITH(test_a_server_without_members_is_unknown, NULL, NULL)
{
	struct nova_server server;
	json_t *json = quoted_json("{'server': {'status': 7, 'fault': null}}");

	nova_read_server(json, &server);
	assert_string_equal(server.status, "");
	assert_string_equal(server.fault, "");
	json_decref(json);
}
