/* SPDX-License-Identifier: MIT */
/* gover-fleet/migrate/mover.h with stand-ins for Nova and gover-d: migrations, their limits, and
 * what is logged and reported. */
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "gover-fleet/migrate/mover.h"
#include "tests/unit/gover-fleet/migrate/fake-cloud.h"
#include "tests/unit/unit.h"

#define DEADLINE_NS (30 * NS_PER_S) /* long enough for a machine under load */

static struct keystone *keystone;
static struct mover *mover;
static struct mover_config config;
static struct state_vgpu vgpus[2];
static struct state_alert alerts[2];
static size_t n_alerts;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char logged[16384];
static int n_changes;

static void take_log(void *userdata, int priority, const char *vgpu, const char *text)
{
	(void)userdata;
	pthread_mutex_lock(&lock);
	text_append(logged, sizeof(logged), "<%d>%s: %s\n", priority, vgpu, text);
	pthread_mutex_unlock(&lock);
}

static void take_change(void *userdata)
{
	(void)userdata;
	pthread_mutex_lock(&lock);
	n_changes++;
	pthread_mutex_unlock(&lock);
}

static int count_logged(const char *text)
{
	int n = 0;

	pthread_mutex_lock(&lock);
	for (const char *at = strstr(logged, text); at; at = strstr(at + 1, text))
		n++;
	pthread_mutex_unlock(&lock);
	return n;
}

static int set_up(void)
{
	fake_set("{}");
	logged[0] = '\0';
	n_changes = 0;
	keystone = fake_new_keystone(2000);
	config = (struct mover_config){
		.by = MOVER_NOVA, .host = "host1", .gover_socket = fake_socket, .to_uri = ""};
	mover_config_default(&config);
	config.poll_ms = 20;
	config.limits.holdoff_s = 0;
	vgpus[0] = (struct state_vgpu){.id = FAKE_SERVER,
				       .gpu = "gpu0",
				       .vm = FAKE_SERVER,
				       .initial_cap_pct = 50,
				       .sold = true,
				       .broken = true};
	vgpus[1] = (struct state_vgpu){
		.id = "b", .gpu = "gpu0", .vm = FAKE_OTHER, .initial_cap_pct = 60, .sold = true};
	alerts[0] =
		(struct state_alert){.name = "severe_overload", .gpu = "gpu0", .vgpu = FAKE_SERVER};
	n_alerts = 1;
	return 0;
}

static int tear_down(void)
{
	mover = mover_free(mover);
	keystone = keystone_free(keystone);
	return 0;
}

/* Gives a copy of the vGPUs and alerts to the mover, which keeps it while a test changes them. */
static void update_as(enum mover_cloud cloud)
{
	struct host_state *state = calloc(1, sizeof(*state));

	assert_non_null(state);
	atomic_init(&state->references, 1);
	state->vgpus = malloc(sizeof(vgpus));
	state->alerts = malloc(sizeof(alerts));
	assert_true(state->vgpus && state->alerts);
	memcpy(state->vgpus, vgpus, sizeof(vgpus));
	memcpy(state->alerts, alerts, sizeof(alerts));
	state->n_vgpus = ARRAY_SIZE(vgpus);
	state->n_alerts = n_alerts;
	mover_update(mover, state, cloud);
	host_state_unref(state);
}

static void update(void)
{
	update_as(MOVER_CLOUD_KNOWS);
}

static void use_libvirt(const char *uri)
{
	config.by = MOVER_LIBVIRT;
	config.libvirt_uri = uri;
	config.to_uri = "qemu+ssh://host2/system";
}

static void start_idle(void)
{
	const struct mover_events events = {.log = take_log, .changed = take_change};
	struct err err;

	if (mover_new(&config, keystone, &events, &mover, &err) < 0)
		fail_msg("%s", err.msg);
}

static void start(void)
{
	start_idle();
	update();
}

static void wait_a_little(void)
{
	const struct timespec pause = {.tv_nsec = 5000000};

	nanosleep(&pause, NULL);
}

/* Waits long enough for several decisions of the mover. */
static void wait_for_decisions(void)
{
	for (int i = 0; i < 20; i++)
		wait_a_little();
}

static void until_logged(const char *text)
{
	uint64_t deadline_ns = clock_now().mono_ns + DEADLINE_NS;

	while (count_logged(text) == 0 && clock_now().mono_ns < deadline_ns)
		wait_a_little();
	if (count_logged(text) == 0)
		fail_msg("not logged: '%s' in\n%s", text, logged);
}

/* Returns the states that were reported to gover-d, such as "requested completed". */
static const char *reported(void)
{
	static char text[256];
	json_t *log = fake_log(), *entry;
	const char *last = "";
	size_t i;

	text[0] = '\0';
	json_array_foreach (log, i, entry) {
		const char *path = json_string_value(json_object_get(entry, "path"));
		json_t *body = json_object_get(entry, "body");
		const char *now = json_string_value(json_object_get(body, "state"));

		/* A repeated request only adds the destination. */
		if (strcmp(path, "/v1/vgpus/" FAKE_SERVER "/migration") != 0 ||
		    (strcmp(now, "requested") == 0 && strcmp(last, now) == 0))
			continue;
		text_append(text, sizeof(text), "%s%s", text[0] ? " " : "", now);
		last = now;
	}
	json_decref(log);
	return text;
}

/* Waits until so many reports have arrived at gover-d. */
static void until_reported(const char *states)
{
	uint64_t deadline_ns = clock_now().mono_ns + DEADLINE_NS;

	while (strcmp(reported(), states) != 0 && clock_now().mono_ns < deadline_ns)
		wait_a_little();
	assert_string_equal(reported(), states);
}

/* Returns a member of the last report to gover-d. The caller frees it. */
static json_t *last_report(const char *key)
{
	json_t *log = fake_log();
	json_t *body = json_object_get(json_array_get(log, json_array_size(log) - 1), "body");
	json_t *value = json_incref(json_object_get(body, key));

	json_decref(log);
	return value;
}

static json_int_t last_number(const char *key)
{
	json_t *value = last_report(key);
	json_int_t number = json_integer_value(value);

	json_decref(value);
	return number;
}

static const char *last_text(const char *key)
{
	static char text[1024];
	json_t *value = last_report(key);

	snprintf(text, sizeof(text), "%s", json_is_null(value) ? "null" : json_string_value(value));
	json_decref(value);
	return text;
}

static struct mover_status status(void)
{
	struct mover_status s;

	mover_status(mover, &s);
	return s;
}

static void until_counted(const char *method, const char *path, int n)
{
	uint64_t deadline_ns = clock_now().mono_ns + DEADLINE_NS;

	while (fake_count(method, path) < n && clock_now().mono_ns < deadline_ns)
		wait_a_little();
	assert_int_equal(fake_count(method, path), n);
}

FIXTURE(set_up, tear_down)

FIXTURE_ONCE(fake_start, fake_stop)

TEST(test_an_overload_becomes_a_migration)
{
	start();
	until_reported("requested completed");
	assert_int_equal(status().requested, 1);
	assert_int_equal(status().completed, 1);
	assert_int_equal(status().failed, 0);
	assert_string_equal(status().running, "");
	assert_int_equal(count_logged("<6>" FAKE_SERVER ": the migration runs "), 1);
	assert_int_equal(count_logged("<5>" FAKE_SERVER ": migrated to host2 in "), 1);
	assert_string_equal(last_text("to"), "host2");
	assert_string_equal(last_text("reason"), "null");
	assert_true(last_number("duration_ms") > 0);
	assert_true(n_changes >= 2);
}

TEST(test_while_the_cloud_learns_of_the_overload_only_checks_are_made)
{
	start_idle();
	update_as(MOVER_CLOUD_LEARNS);
	until_counted("GET", "/allocation_candidates", 1);
	wait_a_little();
	assert_int_equal(fake_count("POST", "/servers"), 0);
	assert_string_equal(reported(), "");
	update();
	until_reported("requested completed");
	assert_int_equal(fake_count("POST", "/servers"), 1);
	assert_int_equal(fake_count("GET", "/allocation_candidates"), 1);
}

TEST(test_a_cloud_without_an_answer_is_not_checked)
{
	start_idle();
	update_as(MOVER_CLOUD_UNAWARE);
	wait_for_decisions();
	assert_int_equal(fake_count("GET", "/allocation_candidates"), 0);
	assert_int_equal(fake_count("GET", "/servers"), 0);
	assert_int_equal(fake_count("POST", "/servers"), 0);
}

TEST(test_the_same_vgpu_is_not_migrated_again)
{
	start();
	until_reported("requested completed");
	update();
	until_logged("it was migrated away lately and is back");
	assert_int_equal(fake_count("POST", "/action"), 1);
}

TEST(test_the_next_migration_waits_for_the_end_of_this_one)
{
	fake_set("{'course': ['running', 'running', 'running', 'running', 'completed']}");
	alerts[1] = (struct state_alert){
		.name = "promise_broken", .gpu = "gpu0", .vgpu = "b", .cause = "gpu_overcommitted"};
	vgpus[1].broken = true;
	n_alerts = 2;
	start();
	until_logged("the migration runs");
	assert_string_equal(status().running, FAKE_SERVER);
	update();
	until_reported("requested completed");
	/* The stand-in has no such server. */
	until_logged("b: should leave this host");
	assert_int_equal(fake_count("POST", "/action"), 1);
}

TEST(test_without_the_role_migrations_are_advised_from_then_on)
{
	fake_set("{'errors': {'/servers': 403}}");
	start();
	until_logged("should leave this host");
	assert_true(status().forbidden);
	for (int i = 0; i < 20; i++) {
		update();
		wait_a_little();
	}
	assert_int_equal(count_logged("the cloud does not permit migrations"), 1);
	assert_int_equal(fake_count("POST", "/action"), 1);
	assert_string_equal(reported(), "");
	assert_int_equal(status().requested, 0);
	until_logged("run `openstack --os-compute-api-version 2.30 server migrate "
		     "--live-migration " FAKE_SERVER "`");
}

TEST_WITH(test_each_refusal_is_logged_once_and_nothing_is_reported, NULL, tear_down)
{
	static const struct {
		const char *behaviour, *text;
	} rows[] = {
		{"{'ask_status': 409}", "HTTP status 409: the reason of Nova"},
		{"{'ask_status': 400}", "HTTP status 400: the reason of Nova"},
		{"{'errors': {'/allocation_candidates': 503}}", "HTTP status 503"},
		{"{'candidates': []}", "no other host"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		set_up();
		fake_set(rows[i].behaviour);
		start();
		until_logged(rows[i].text);
		for (int k = 0; k < 5; k++) {
			update();
			wait_a_little();
		}
		assert_int_equal(count_logged(rows[i].text), 1);
		assert_int_equal(count_logged("should leave this host"), 1);
		assert_false(status().forbidden);
		assert_string_equal(reported(), "");
		tear_down();
	}
}

TEST(test_a_refused_migration_is_asked_for_again)
{
	config.limits.ask_s = 1;
	fake_set("{'candidates': []}");
	start();
	until_logged("no other host");
	fake_set("{}");
	until_reported("requested completed");
}

TEST_WITH(test_failures_are_reported_with_their_reason, NULL, tear_down)
{
	static const struct {
		const char *behaviour, *text;
	} rows[] = {
		{"{'course': ['running', 'failed']}",
		 "Nova ended the migration with status failed"},
		{"{'course': ['running', 'cancelled']}",
		 "Nova ended the migration with status cancelled"},
		{"{'begins': false, 'status_after': 'ERROR'}",
		 "Nova set the server to ERROR: No valid host was found. None at all."},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		set_up();
		fake_set(rows[i].behaviour);
		start();
		until_reported("requested failed");
		assert_string_equal(last_text("reason"), rows[i].text);
		assert_int_equal(status().failed, 1);
		assert_int_equal(count_logged("<3>" FAKE_SERVER ": the migration failed after "),
				 1);
		tear_down();
	}
}

TEST(test_a_migration_that_nova_never_begins_has_failed)
{
	config.start_timeout_s = 1;
	fake_set("{'begins': false}");
	start();
	until_reported("requested failed");
	assert_int_equal(count_logged("Nova has not begun the migration in time"), 1);
	assert_int_equal(fake_count("DELETE", "/"), 0);
}

TEST(test_a_request_without_answer_is_followed)
{
	fake_set("{'ask_status': 504}");
	config.start_timeout_s = 1;
	start();
	until_logged("Nova may or may not have accepted the migration");
	until_reported("requested failed");
}

TEST(test_an_endless_migration_is_aborted)
{
	config.run_timeout_s = 1;
	fake_set("{'course': ['running']}");
	start();
	until_reported("requested failed");
	assert_int_equal(fake_count("DELETE", "/migrations/1"), 1);
	assert_int_equal(count_logged("longer than 1 s: asking Nova to abort it"), 1);
	assert_int_equal(count_logged("with status cancelled"), 1);
}

TEST(test_a_migration_that_never_runs_is_aborted)
{
	config.start_timeout_s = 1;
	fake_set("{'course': ['preparing']}");
	start();
	until_reported("requested failed");
	assert_int_equal(fake_count("DELETE", "/migrations/1"), 1);
}

TEST(test_an_abort_without_effect_ends_too)
{
	config.run_timeout_s = config.abort_timeout_s = 1;
	fake_set("{'course': ['running'], 'abortable': false}");
	start();
	until_reported("requested failed");
	assert_int_equal(count_logged("the abort of the migration has not ended in time"), 1);
}

TEST(test_nova_may_be_away_during_a_migration)
{
	fake_set("{'course': ['running']}");
	start();
	until_logged("the migration runs");
	/* The stand-in forgets its migration, as an API that is down. */
	fake_set("{'errors': {'/os-migrations': 503}}");
	wait_for_decisions();
	assert_string_equal(status().running, FAKE_SERVER);
	fake_set("{'past': [{'id': 1, 'instance_uuid': '" FAKE_SERVER
		 "', 'dest_compute': 'host2', 'status': 'completed'}]}");
	until_reported("completed");
}

TEST(test_the_end_of_the_process_does_not_wait_for_the_migration)
{
	uint64_t begun_ns;

	fake_set("{'course': ['running']}");
	config.poll_ms = 60000;
	start();
	until_reported("requested");
	begun_ns = clock_now().mono_ns;
	mover = mover_free(mover);
	assert_true(clock_now().mono_ns - begun_ns < DEADLINE_NS);
	assert_int_equal(fake_count("DELETE", "/"), 0);
	assert_string_equal(reported(), "requested");
}

TEST(test_by_advice_nothing_is_asked)
{
	config.by = MOVER_ADVICE;
	start();
	until_logged("<4>" FAKE_SERVER
		     ": should leave this host: alert severe_overload of GPU gpu0 names it; run "
		     "`openstack ");
	assert_int_equal(fake_count("GET", "/"), 0);
	for (int i = 0; i < 5; i++) {
		update();
		wait_a_little();
	}
	assert_int_equal(count_logged("should leave this host"), 1);
	/* A new overload is a new message. */
	for (int i = 0; i < 3000 && count_logged("should leave this host") < 2; i++) {
		n_alerts = 0;
		update();
		wait_a_little();
		n_alerts = 1;
		update();
		wait_a_little();
	}
	assert_true(count_logged("should leave this host") >= 2);
}

TEST(test_without_openstack_the_command_is_that_of_libvirt)
{
	const struct mover_events events = {.log = take_log};

	config.by = MOVER_ADVICE;
	config.to_uri = "qemu+ssh://host2/system";
	assert_int_equal(mover_new(&config, NULL, &events, &mover, NULL), 0);
	update();
	until_logged("run `virsh migrate --live --p2p " FAKE_SERVER " qemu+ssh://host2/system`");
}

TEST(test_by_none_nothing_happens)
{
	config.by = MOVER_NONE;
	start();
	wait_for_decisions();
	assert_string_equal(logged, "");
	assert_int_equal(n_changes, 0);
}

/* gover-d may have ended the contract of a migrated machine before the report. */
TEST(test_a_vgpu_that_gover_d_has_not_any_more_is_no_problem)
{
	fake_set("{'gover_status': 404}");
	start();
	until_reported("requested completed");
	assert_int_equal(count_logged("cannot be reported"), 0);
}

TEST(test_a_report_that_gover_d_refuses_is_logged)
{
	fake_set("{'gover_status': 503}");
	start();
	until_reported("requested completed");
	until_logged("the migration cannot be reported to gover-d (completed): the reason of "
		     "gover-d");
}

TEST(test_a_libvirt_that_does_not_answer)
{
	use_libvirt("qemu:///system?socket=/none/such/socket");
	start();
	until_reported("requested failed");
	assert_int_equal(count_logged("libvirt at qemu:///system?socket=/none/such/socket"), 1);
}

TEST(test_what_libvirt_refuses_has_failed)
{
	use_libvirt("test:///default");
	strcpy(vgpus[0].vm, "no-such-vm");
	start();
	until_reported("requested failed");
	assert_int_equal(count_logged("libvirt has no machine no-such-vm"), 1);
	mover = mover_free(mover);
	/* The driver "test" of libvirt knows the machine, but cannot migrate. */
	fake_set("{}");
	strcpy(vgpus[0].vm, "test");
	start();
	until_reported("requested failed");
	assert_int_equal(count_logged("libvirt did not migrate test to qemu+ssh://host2/system"),
			 1);
}

/* gover-d accepts 255 characters. */
TEST(test_a_long_reason_is_cut)
{
	char behaviour[1024] = "{'course': ['error'], 'status_after': 'ERROR', 'fault': '";
	const char *reason;

	for (int i = 0; i < 200; i++)
		strcat(behaviour, "\u00e4");
	strcat(behaviour, "'}");
	fake_set(behaviour);
	start();
	until_reported("requested failed");
	reason = last_text("reason");
	assert_non_null(strstr(reason, "Nova set the server to ERROR: ????"));
	assert_true(strlen(reason) <= 255);
}

TEST(test_what_a_configuration_needs)
{
	const struct mover_events events = {.log = take_log};
	struct err err;

	assert_int_equal(mover_new(&config, NULL, &events, &mover, &err), -EINVAL);
	assert_string_equal(err.msg, "by = nova: needs a section [cloud]");
	config.by = MOVER_LIBVIRT;
	assert_int_equal(mover_new(&config, NULL, &events, &mover, &err), -EINVAL);
	assert_string_equal(err.msg, "by = libvirt: needs to_uri");
	mover = NULL;
}

TEST(test_the_values_of_by)
{
	enum mover_by by = MOVER_NONE;

	assert_true(mover_find_by("libvirt", &by));
	assert_int_equal(by, MOVER_LIBVIRT);
	assert_true(mover_find_by("nova", &by) && by == MOVER_NOVA);
	assert_true(mover_find_by("advice", &by) && by == MOVER_ADVICE);
	assert_true(mover_find_by("none", &by) && by == MOVER_NONE);
	assert_false(mover_find_by("Nova", &by));
}

/* --- restarts --- */

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

TEST(test_the_migration_of_an_earlier_process_is_followed)
{
	char more[1024];

	snprintf(more, sizeof(more), ", 'past': [%s]", past(7, "running", 4000, 1000));
	set_open(5000, more);
	start();
	until_logged("<5>" FAKE_SERVER ": an earlier gover-fleet has asked for its migration");
	wait_for_decisions();
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

TEST_WITH(test_its_end_without_a_process_is_reported_with_the_time_of_nova, NULL, tear_down)
{
	static const struct {
		const char *status, *reported;
	} rows[] = {{"completed", "completed"}, {"failed", "failed"}};
	char more[1024];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		set_up();
		snprintf(more, sizeof(more), ", 'past': [%s]",
			 past(7, rows[i].status, AN_HOUR_MS - 1000, AN_HOUR_MS - 60000));
		set_open(AN_HOUR_MS, more);
		start();
		until_reported(rows[i].reported);
		/* whole seconds */
		assert_in_range(last_number("duration_ms"), 58000, 62000);
		assert_int_equal(fake_count("POST", "/action"), 0);
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
	wait_for_decisions();
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

TEST_WITH(test_by_libvirt_the_place_of_the_machine_is_the_result, NULL, tear_down)
{
	static const struct {
		const char *vm, *reported;
	} rows[] = {
		{"test", "failed"},	     /* a machine of libvirt's test driver */
		{"no-such-vm", "completed"}, /* it has left */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		set_up();
		use_libvirt("test:///default");
		n_alerts = 0;
		strcpy(vgpus[0].vm, rows[i].vm);
		set_open(5000, "");
		start();
		until_reported(rows[i].reported);
		assert_true(last_number("duration_ms") >= 5000);
		tear_down();
	}
}
