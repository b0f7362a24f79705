/* SPDX-License-Identifier: MIT */
/* A mover with a fake Nova and a fake gover-d for each test of a program. Records the log of the
 * mover, and waits for its requests and states. */
#ifndef TESTS_UNIT_GOVER_FLEET_MIGRATE_MOVER_FIXTURE_H
#define TESTS_UNIT_GOVER_FLEET_MIGRATE_MOVER_FIXTURE_H

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

static inline void take_log(void *userdata, int priority, const char *vgpu, const char *text)
{
	(void)userdata;
	pthread_mutex_lock(&lock);
	text_append(logged, sizeof(logged), "<%d>%s: %s\n", priority, vgpu, text);
	pthread_mutex_unlock(&lock);
}

static inline void take_change(void *userdata)
{
	(void)userdata;
	pthread_mutex_lock(&lock);
	n_changes++;
	pthread_mutex_unlock(&lock);
}

static inline int count_logged(const char *text)
{
	int n = 0;

	pthread_mutex_lock(&lock);
	for (const char *at = strstr(logged, text); at; at = strstr(at + 1, text))
		n++;
	pthread_mutex_unlock(&lock);
	return n;
}

static inline int set_up(void)
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

static inline int tear_down(void)
{
	mover = mover_free(mover);
	keystone = keystone_free(keystone);
	return 0;
}

/* Gives a copy of the vGPUs and alerts to the mover, which keeps it while a test changes them. */
static inline void update_as(enum mover_cloud cloud)
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

static inline void update(void)
{
	update_as(MOVER_CLOUD_KNOWS);
}

static inline void start_idle(void)
{
	const struct mover_events events = {.log = take_log, .changed = take_change};
	struct err err;

	if (mover_new(&config, keystone, &events, &mover, &err) < 0)
		fail_msg("%s", err.msg);
}

static inline void start(void)
{
	start_idle();
	update();
}

static inline void wait_a_little(void)
{
	const struct timespec pause = {.tv_nsec = 5000000};

	nanosleep(&pause, NULL);
}

static inline void until_logged(const char *text)
{
	uint64_t deadline_ns = clock_now().mono_ns + DEADLINE_NS;

	while (count_logged(text) == 0 && clock_now().mono_ns < deadline_ns)
		wait_a_little();
	if (count_logged(text) == 0)
		fail_msg("not logged: '%s' in\n%s", text, logged);
}

/* Returns the states that were reported to gover-d, such as "requested completed". */
static inline const char *reported(void)
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
static inline void until_reported(const char *states)
{
	uint64_t deadline_ns = clock_now().mono_ns + DEADLINE_NS;

	while (strcmp(reported(), states) != 0 && clock_now().mono_ns < deadline_ns)
		wait_a_little();
	assert_string_equal(reported(), states);
}

static inline struct mover_status status(void)
{
	struct mover_status s;

	mover_status(mover, &s);
	return s;
}

static inline void until_counted(const char *method, const char *path, int n)
{
	uint64_t deadline_ns = clock_now().mono_ns + DEADLINE_NS;

	while (fake_count(method, path) < n && clock_now().mono_ns < deadline_ns)
		wait_a_little();
	assert_int_equal(fake_count(method, path), n);
}

#endif
