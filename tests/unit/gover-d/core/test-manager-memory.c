/* SPDX-License-Identifier: MIT */
/*
 * Ticks while each allocation in turn fails. The daemon keeps running, and every cap stays between
 * the floor and the contract. After the failure, the caps, contracts, alerts, offers and recorded
 * decisions are the same as without it.
 */
#include "tests/unit/gover-d/core/test-manager.h"

#include "gover-d/api/api.h"
#include "gover-d/api/request.h"
#include "gover-d/auth/authn.h"
#include "tests/unit/no-disk.h"
#include "tests/unit/scarce-malloc.h"

#define SETTLING_TICKS	20
#define ALLOCATIONS_MAX 5000 /* more than each situation needs */

static struct authn *authn;
static struct api *api;
static struct api_request stream;

/* --- a daemon with everything that observes a tick --- */

static void on_stream_wake(void *userdata)
{
	static char bytes[64 * 1024];
	ssize_t n;

	(void)userdata;
	/* libmicrohttpd reads later, but without a further allocation */
	while ((n = stream.reply.stream->read(stream.reply.stream, bytes, sizeof(bytes) - 1)) > 0) {
		bytes[n] = '\0';
		assert_null(strstr(bytes, "(null)"));
	}
}

static void on_stream_drop(void *userdata)
{
	(void)userdata;
}

static void open_stream(void)
{
	stream = (struct api_request){
		.method = "GET",
		.path = "/v1/events",
		.query = {{"kinds", "decision,alert,offer,change"}},
		.n_query = 1,
		.principal = {.scope = ACCESS_ADMIN},
	};
	api_serve(api, &stream);
	assert_int_equal(stream.reply.status, 200);
	stream.reply.stream->wake = on_stream_wake;
	stream.reply.stream->drop = on_stream_drop;
}

static void start_observed(bool hooks)
{
	if (hooks) {
		strcpy(config.on_alert, "/bin/true");
		strcpy(config.on_offer, "/bin/true");
		strcpy(config.on_migrate, "/bin/true");
	}
	strcpy(config.webhook, "http://127.0.0.1:9/");
	start();
	authn = authn_new();
	api = api_new(m, manager_view(m), authn);
	assert_non_null(api);
	assert_int_equal(manager_observe(m, &api_observer, api), 0);
	open_stream();
}

static void stop_observed(void)
{
	manager_stop(m);
	api_request_fini(&stream);
	api = api_free(api);
	authn = authn_free(authn);
	stop_daemon();
}

static void run_loop(void)
{
	while (sd_event_run(m->event, 0) > 0)
		;
}

static void check_caps(void)
{
	int sum = 0;

	for (int i = 0; i < DEVICES; i++) {
		char id[] = {(char)('a' + i), '\0'};
		const struct vgpu *v = host_find_vgpu(&m->host, id, NULL);

		if (!fake.devices[i].exists || !v)
			continue;
		assert_in_range(fake.devices[i].cap_pct, 1, v->contract.terms.initial_cap_pct);
		sum += fake.devices[i].cap_pct;
	}
	assert_in_range(sum, 0, 100);
}

/* Runs ticks in which allocations can fail. */
static void scarce_tick(int periods)
{
	while (periods-- > 0) {
		scarce_resume();
		tick(1);
		save_tick(m);
		scarce_pause();
		check_caps();
		run_loop();
	}
}

/* --- situations --- */

/* b gets less than its contract, because the use of a is not known yet. */
static void oversell(void)
{
	sell("a", 90, 0.05);
	sell("b", 60, 0.05);
	tick(2);
	device("b")->demand = BUSY;
}

static void steals(void)
{
	oversell();
	tick(2);
	scarce_tick(2);
}

static void severe_overload(void)
{
	sell("a", 100, 0.05);
	tick(2);
	sell("b", 100, 0.05);
	tick(2);
	device("a")->demand = device("b")->demand = BUSY;
	scarce_tick(5);
}

static void an_offer(void)
{
	sell("a", 50, 0.05);
	scarce_tick(8);
	device("a")->stale = true;
	scarce_tick(5);
	device("a")->stale = false;
	scarce_tick(3);
}

static void an_external_write(void)
{
	sell("a", 50, 0.05);
	sell("b", 50, 0.05);
	tick(2);
	fake.external_cap_pct[1] = 20;
	scarce_tick(4);
}

static void a_vgpu_that_disappears(void)
{
	sell("a", 50, 0.05);
	sell("b", 50, 0.05);
	tick(2);
	device("b")->exists = false;
	scarce_tick(3);
}

static void a_vgpu_that_appears(void)
{
	sell("a", 50, 0.05);
	tick(2);
	device("d")->exists = true;
	device("d")->cap_pct = 30;
	device("d")->initial_cap_pct = 30;
	scarce_tick(3);
}

static void failing_writes(void)
{
	oversell();
	tick(2);
	device("a")->write_errno = EIO;
	scarce_tick(2);
	device("a")->write_errno = 0;
}

static const struct situation {
	const char *name;
	void (*run)(void);
	const char *shows; /* part of the result that shows that the situation has occurred */
	bool hooks;	   /* with programs that run for each event, which are slow */
} situations[] = {
	{"a_failed_allocation_changes_nothing_for_steals", steals, "decisions steal", false},
	{"a_failed_allocation_changes_nothing_for_severe_overload", severe_overload,
	 "decisions severe", true},
	{"a_failed_allocation_changes_nothing_for_an_offer", an_offer, "2 decisions offer", false},
	{"a_failed_allocation_changes_nothing_for_an_external_write", an_external_write,
	 "alert foreign_write b", false},
	{"a_failed_allocation_changes_nothing_for_a_lost_vgpu", a_vgpu_that_disappears,
	 "alert vgpu_missing b", false},
	{"a_failed_allocation_changes_nothing_for_a_new_vgpu", a_vgpu_that_appears,
	 "decisions adopt", false},
	{"a_failed_allocation_changes_nothing_for_failing_writes", failing_writes,
	 "decisions steal", false},
};

/* --- the result of a situation --- */

#define OUTCOME_MAX 2048

static void describe(FILE *file)
{
	const struct offer *offer = offers_live(m->offers, "gpu0");

	for (const struct vgpu *v = gpu->vgpus; v; v = v->next)
		fprintf(file, "vGPU %s: cap %d, contract %d%s%s\n", v->contract.id,
			device(v->contract.id)->cap_pct, v->contract.terms.initial_cap_pct,
			v->contract.held ? ", held" : "", v->device ? "" : ", missing");
	for (int kind = 0; kind < ALERT_KINDS; kind++)
		for (const char *id = "a\0b\0c\0d\0";; id += 2) {
			const struct alert *alert = find_active_alert((enum alert_kind)kind, id);

			if (alert)
				fprintf(file, "alert %s %s\n", alert->name, id);
			if (!id[0])
				break;
		}
	if (offer)
		fprintf(file, "offer: %s\n", offer_state_name(offer->life.state));
	fprintf(file, "saved: %d\n", m->save_result);
}

static int print_row(void *file, int n, char **values, char **names)
{
	(void)n, (void)names;
	fprintf(file, "%s decisions %s\n", values[1], values[0]);
	return 0;
}

/* The daemon has stopped, so that the database is complete. */
static void describe_history(FILE *file)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(state_path("history.db"), &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "SELECT kind, count(*) FROM decision GROUP BY kind",
				      print_row, file, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void settle(void)
{
	for (int i = 0; i < SETTLING_TICKS; i++) {
		tick(1);
		save_tick(m);
		wait_for_saves();
		run_loop();
		check_caps();
	}
}

/*
 * Runs @situation in a new daemon; the allocation @failing fails. Returns false if no allocation
 * has failed.
 */
static bool run_once(const struct situation *situation, long failing, bool lasting,
		     char outcome[OUTCOME_MAX])
{
	FILE *file = fmemopen(outcome, OUTCOME_MAX, "w");
	bool failed;

	assert_non_null(file);
	assert_int_equal(set_up(NULL), 0);
	start_observed(situation->hooks);
	scarce_begin(failing, lasting);
	scarce_pause();
	situation->run();
	failed = scarce_end();
	settle();
	describe(file);
	stop_observed();
	describe_history(file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(tear_down(NULL), 0);
	return failed;
}

/* --- the tests --- */

static void a_failed_allocation_changes_nothing(void **state)
{
	const struct situation *situation = *state;
	char whole[OUTCOME_MAX], outcome[OUTCOME_MAX];
	long failing;

	skip_with_emulator();
	assert_false(run_once(situation, 0, false, whole));
	if (!strstr(whole, situation->shows))
		fail_msg("the result does not contain '%s':\n%s", situation->shows, whole);
	for (failing = 1; run_once(situation, failing, false, outcome); failing++) {
		if (strcmp(outcome, whole) != 0)
			fail_msg("allocation %ld fails:\n%swithout the failure:\n%s", failing,
				 outcome, whole);
		assert_true(failing < ALLOCATIONS_MAX);
	}
	print_message("# %ld allocations\n", failing - 1);
}

/* Some alerts and decisions are missing, because their conditions have ended before. */
static void without_any_memory_the_daemon_keeps_running(void **state)
{
	char outcome[OUTCOME_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(situations); i++)
		for (long failing = 1; failing < 100; failing += 7)
			assert_true(
				run_once(&situations[i], failing, /* lasting= */ true, outcome));
}

/* --- changes --- */

static int add_c(void)
{
	struct contract contract = {
		.id = "c",
		.gpu = "gpu0",
		.terms = {.initial_cap_pct = 10, .weight = 1},
	};

	return control_vgpu_add(m, &contract, at_end, &err);
}

static int change_a(void)
{
	const struct contract values = {.terms.initial_cap_pct = 40};

	return control_vgpu_change(m, "a", CONTRACT_INITIAL_CAP, &values, at_end, &err);
}

static int hold_a(void)
{
	const struct contract values = {.held = true, .held_cap_pct = 20};

	return control_vgpu_change(m, "a", CONTRACT_HELD | CONTRACT_HELD_CAP, &values, at_end,
				   &err);
}

static int remove_b(void)
{
	return control_vgpu_remove(m, "b", at_end, &err);
}

static int freeze(void)
{
	const enum gpu_mode mode = GPU_MODE_FROZEN;

	return control_gpu_change(m, "gpu0", &mode, NULL, at_end, &err);
}

/* Checks that the contracts file contains what is in force. */
static void check_file(void)
{
	json_t *root = json_load_file(state_path("contracts.json"), 0, NULL);
	json_t *vgpus = json_object_get(root, "vgpus"), *each;
	int n = 0;
	size_t i;

	assert_non_null(root);
	for (const struct vgpu *v = gpu->vgpus; v; v = v->next)
		n++;
	assert_int_equal(json_array_size(vgpus), n);
	json_array_foreach (vgpus, i, each) {
		const struct contract *c =
			&vgpu(json_string_value(json_object_get(each, "id")))->contract;

		assert_int_equal(json_integer_value(json_object_get(each, "initial_cap_pct")),
				 c->terms.initial_cap_pct);
		assert_int_equal(json_is_true(json_object_get(each, "held")), c->held);
	}
	assert_string_equal(json_string_value(json_object_get(
				    json_array_get(json_object_get(root, "gpus"), 0), "mode")),
			    gpu_mode_name(gpu->mode));
	json_decref(root);
}

/* Makes a change in a new daemon; the allocation @failing and all later ones fail meanwhile. */
static bool change_once(int (*begin)(void), long failing)
{
	bool failed;

	assert_int_equal(set_up(NULL), 0);
	start();
	sell("a", 50, 0.05);
	sell("b", 30, 0.05);
	scarce_begin(failing, /* lasting= */ true);
	(void)await_change(begin());
	failed = scarce_end();
	settle();
	check_file();
	stop_daemon();
	assert_int_equal(tear_down(NULL), 0);
	return failed;
}

/* A refused change is taken back from the file, perhaps later. */
static void a_change_without_memory_is_in_force_and_stored_or_neither(void **state)
{
	static int (*const changes[])(void) = {add_c, change_a, hold_a, remove_b, freeze};

	(void)state;
	skip_with_emulator();
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		long failing = 1;

		while (change_once(changes[i], failing))
			assert_true(failing++ < ALLOCATIONS_MAX);
		print_message("# %ld allocations\n", failing - 1);
	}
}

#define SCARCE_TICKS 2 /* at the begin of the loop */
#define LOOP_TICKS   4

static bool loop_failed;

static void count_tick(void *userdata, const struct host *host, bool gap, struct instant at)
{
	(void)userdata, (void)gap, (void)at;
	if (host->ticks == SCARCE_TICKS)
		loop_failed = scarce_end();
	else if (host->ticks == LOOP_TICKS)
		assert_int_equal(sd_event_exit(m->event, 7), 0);
}

static const struct observer tick_counter = {.name = "test", .tick = count_tick};

static void the_loop_continues(void **state)
{
	long failing = 1;

	(void)state;
	do {
		assert_int_equal(set_up(NULL), 0);
		config.period_ms = 20;
		start_observed(/* hooks= */ false);
		assert_int_equal(manager_observe(m, &tick_counter, NULL), 0);
		assert_true(sd_event_source_set_enabled(m->timer, SD_EVENT_ONESHOT) >= 0);
		scarce_begin(failing, /* lasting= */ false);
		assert_int_equal(manager_run(m), 7);
		stop_observed();
		assert_int_equal(tear_down(NULL), 0);
		assert_true(failing++ < ALLOCATIONS_MAX);
	} while (loop_failed);
	print_message("# %ld allocations\n", failing - 2);
}

int main(void)
{
	enum { OTHERS = 3 };
	struct CMUnitTest tests[ARRAY_SIZE(situations) + OTHERS] = {
		cmocka_unit_test(without_any_memory_the_daemon_keeps_running),
		cmocka_unit_test(a_change_without_memory_is_in_force_and_stored_or_neither),
		cmocka_unit_test(the_loop_continues),
	};

	for (size_t i = 0; i < ARRAY_SIZE(situations); i++)
		tests[i + OTHERS] = (struct CMUnitTest){
			.name = situations[i].name,
			.test_func = a_failed_allocation_changes_nothing,
			.initial_state = (void *)(uintptr_t)&situations[i],
		};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
