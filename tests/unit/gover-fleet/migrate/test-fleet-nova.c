/* SPDX-License-Identifier: MIT */
/* gover-fleet/migrate/nova.h with a stand-in for Nova: what is checked before a migration, what is
 * asked for, and how its course is read. */
#include <errno.h>

#include "base/cleanup.h"
#include "gover-fleet/migrate/nova.h"
#include "tests/unit/gover-fleet/migrate/fake-cloud.h"
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
