/* SPDX-License-Identifier: MIT */
/* gover-fleet/migrate/mover.h after a restart: the migration of an earlier process is followed. */
#include "tests/unit/gover-fleet/migrate/mover-fixture.h"
#include "tests/unit/unit.h"

#define AN_HOUR_MS 3600000

/* Sets a behaviour in which gover-d knows a migration that was requested @ago_ms ago. */
static void set_open(int64_t ago_ms, const char *more)
{
	char since[CLOCK_TEXT_MAX], behaviour[1024];

	clock_format(clock_now().wall_ms - ago_ms, since);
	snprintf(behaviour, sizeof(behaviour),
		 "{'open': {'vgpu': '" FAKE_SERVER
		 "', 'gpu': 'gpu0', 'to': null, 'since': '%s'}%s}",
		 since, more);
	fake_set(behaviour);
}

/* Returns a migration of the server as a member of "past", created so long ago. */
static const char *past(int id, const char *status, int64_t created_ago_ms, int64_t changed_ago_ms)
{
	static char text[512];
	char created[CLOCK_TEXT_MAX], changed[CLOCK_TEXT_MAX];

	clock_format(clock_now().wall_ms - created_ago_ms, created);
	clock_format(clock_now().wall_ms - changed_ago_ms, changed);
	snprintf(text, sizeof(text),
		 "{'id': %d, 'instance_uuid': '" FAKE_SERVER "', 'source_compute': 'host1', "
		 "'dest_compute': 'host2', 'status': '%s', 'created_at': '%s', 'updated_at': '%s'}",
		 id, status, created, changed);
	return text;
}

/* Returns a member of the last report to gover-d. */
static json_int_t last_number(const char *key)
{
	json_t *log = fake_log();
	json_t *body = json_object_get(json_array_get(log, json_array_size(log) - 1), "body");
	json_int_t value = json_integer_value(json_object_get(body, key));

	json_decref(log);
	return value;
}

FIXTURE(set_up, tear_down)

FIXTURE_ONCE(fake_start, fake_stop)

TEST(test_the_migration_of_an_earlier_process_is_followed)
{
	char more[1024];

	snprintf(more, sizeof(more), ", 'past': [%s]", past(7, "running", 4000, 1000));
	set_open(5000, more);
	start();
	until_logged("<5>" FAKE_SERVER ": an earlier gover-fleet has asked for its migration");
	for (int i = 0; i < 20; i++)
		wait_a_little();
	assert_string_equal(status().running, FAKE_SERVER);
	assert_int_equal(status().requested, 1);
	assert_int_equal(fake_count("POST", "/action"), 0);
	snprintf(more, sizeof(more), "{'past': [%s]}", past(7, "completed", 4000, 0));
	fake_set(more);
	until_reported("completed");
	assert_true(last_number("duration_ms") >= 5000);
	assert_string_equal(status().last.to, "host2");
	assert_true(status().last.moved);
	assert_int_equal(status().completed, 1);
	/* a migration of this process follows the limits as usual */
	until_logged("it was migrated away lately and is back");
}

TEST(test_its_end_without_a_process_is_reported_with_the_time_of_nova)
{
	static const struct {
		const char *status, *reported;
	} rows[] = {{"completed", "completed"}, {"failed", "failed"}};
	char more[1024];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (i > 0)
			set_up();
		snprintf(more, sizeof(more), ", 'past': [%s]",
			 past(7, rows[i].status, AN_HOUR_MS - 1000, AN_HOUR_MS - 60000));
		set_open(AN_HOUR_MS, more);
		start();
		until_reported(rows[i].reported);
		/* whole seconds */
		assert_in_range(last_number("duration_ms"), 58000, 62000);
		assert_int_equal(fake_count("POST", "/action"), 0);
		if (i + 1 < ARRAY_SIZE(rows))
			tear_down();
	}
}

TEST(test_an_earlier_migration_of_the_server_is_another_one)
{
	char more[1024];

	config.start_timeout_s = 1;
	snprintf(more, sizeof(more), ", 'past': [%s]",
		 past(7, "completed", AN_HOUR_MS, AN_HOUR_MS - 5000));
	set_open(1000, more);
	start();
	until_reported("failed");
	assert_int_equal(count_logged("Nova has not begun the migration in time"), 1);
}

TEST(test_nova_may_be_away_after_the_restart)
{
	char more[1024];

	set_open(1000, ", 'errors': {'/os-migrations': 503}");
	start();
	until_logged("an earlier gover-fleet");
	for (int i = 0; i < 20; i++)
		wait_a_little();
	assert_string_equal(reported(), "");
	snprintf(more, sizeof(more), "{'past': [%s]}", past(1, "completed", 500, 0));
	fake_set(more);
	until_reported("completed");
}

TEST(test_a_server_that_nova_does_not_know)
{
	strcpy(vgpus[0].vm, FAKE_OTHER);
	set_open(1000, "");
	start();
	until_reported("failed");
	assert_int_equal(count_logged("the server was removed"), 1);
}

TEST(test_without_the_role_it_has_failed)
{
	set_open(1000, ", 'errors': {'/os-migrations': 403}");
	start();
	until_reported("failed");
	assert_int_equal(count_logged("cannot be followed"), 1);
}

/* Nothing may be migrated before gover-d has answered. */
TEST(test_gover_d_is_asked_first)
{
	fake_set("{'open': 'none'}");
	start();
	until_reported("requested completed");
	assert_int_equal(fake_count("GET", "/v1/fleet"), 1);
	assert_int_equal(count_logged("an earlier gover-fleet"), 0);
}

TEST(test_by_advice_nothing_is_followed)
{
	config.by = MOVER_ADVICE;
	set_open(1000, "");
	start();
	until_logged("should leave this host");
	assert_int_equal(fake_count("GET", "/"), 0);
}

TEST(test_the_destination_is_reported_once_it_is_known)
{
	json_t *log, *entry;
	int n = 0;
	size_t i;

	fake_set("{'course': ['running', 'running', 'running', 'completed']}");
	start();
	until_reported("requested completed");
	log = fake_log();
	json_array_foreach (log, i, entry) {
		json_t *body = json_object_get(entry, "body");
		const char *is = json_string_value(json_object_get(body, "state"));
		const char *to = json_string_value(json_object_get(body, "to"));

		n += is && to && strcmp(is, "requested") == 0 && strcmp(to, "host2") == 0;
	}
	json_decref(log);
	assert_int_equal(n, 1);
}

TEST(test_a_destination_that_gover_d_knows_is_not_reported_again)
{
	char since[CLOCK_TEXT_MAX], behaviour[1024];

	clock_format(clock_now().wall_ms - 2000, since);
	snprintf(behaviour, sizeof(behaviour),
		 "{'open': {'vgpu': '" FAKE_SERVER
		 "', 'to': 'host2', 'since': '%s'}, 'past': [%s]}",
		 since, past(7, "running", 1500, 1000));
	fake_set(behaviour);
	start();
	until_logged("an earlier gover-fleet");
	for (int i = 0; i < 6000 && fake_count("GET", "/os-migrations") < 3; i++)
		wait_a_little();
	assert_string_equal(status().to, "host2");
	assert_string_equal(reported(), "");
}

TEST(test_by_libvirt_the_place_of_the_machine_is_the_result)
{
	static const struct {
		const char *vm, *reported;
	} rows[] = {
		{"test", "failed"},	     /* a machine of libvirt's test driver */
		{"no-such-vm", "completed"}, /* it has left */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (i > 0)
			set_up();
		config.by = MOVER_LIBVIRT;
		n_alerts = 0;
		config.libvirt_uri = "test:///default";
		config.to_uri = "qemu+ssh://host2/system";
		strcpy(vgpus[0].vm, rows[i].vm);
		set_open(5000, "");
		start();
		until_reported(rows[i].reported);
		assert_true(last_number("duration_ms") >= 5000);
		if (i + 1 < ARRAY_SIZE(rows))
			tear_down();
	}
}
