/* SPDX-License-Identifier: MIT */
/*
 * The whole daemon on the simulated GPU in virtual time: many hours of varied load that the GPU can
 * serve raise no critical alert, and each of twenty faults that break a promise raises exactly one
 * alert promise_broken within the window. GOVER_TEST_HOURS is the number of healthy hours (20).
 */
#include <sys/stat.h>

#include "tests/unit/gover-d/manager/test-daemon.h"

#define HOUR_S 3600

static char poke[96];

/* --- the daemon --- */

static int set_up(void)
{
	if (prepare_daemon() < 0)
		return -1;
	snprintf(poke, sizeof(poke), "%s/poke", temp_folder);
	if (mkdir(poke, 0700) < 0)
		return -1;
	snprintf(config.gpus[0].gpu.root, sizeof(config.gpus[0].gpu.root), "%s", poke);
	strcpy(config.gpus[0].gpu.sharing, "hard"); /* spare time repairs most of the faults */
	config.retention.raw_hours = 1;
	start();
	return 0;
}

FIXTURE(set_up, tear_down)

/* Runs one period. The history is flushed now and then, so that its queue is never full. */
static void tick(void)
{
	now.mono_ns += NS_PER_S;
	now.boot_ns += NS_PER_S;
	now.wall_ms += 1000;
	period_run(&m->tick, now, false);
	if (m->host.ticks % 256 == 0 && m->recorder.history.db)
		(void)db_flush(m->recorder.history.db);
	while (sd_event_run(m->event, 0) > 0)
		;
}

static void ticks(int n)
{
	while (n-- > 0)
		tick();
}

static void sell(const char *id, int cap_pct, double target_fps, int min_cap_pct,
		 const char *workload)
{
	struct contract contract = contract_of(id, cap_pct);

	contract.terms.min_cap_pct = min_cap_pct;
	contract.terms.target_fps = target_fps;
	(void)json_object_set_new(contract.labels, "workload", json_string(workload));
	if (add(contract) != 0)
		fail_msg("%s: %s", id, err.msg);
}

static void must_change(const char *id, unsigned int fields, struct contract values)
{
	if (change(id, fields, values) != 0)
		fail_msg("%s: %s", id, err.msg);
}

static void poke_file(const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", poke, name);
	assert_int_equal(file_replace(path, text, strlen(text)), 0);
}

/* --- healthy hours --- */

/*
 * 155 % of the GPU are sold; the largest demands together are 85 % of it, because a game needs at
 * most 1.3 times its mean.
 */
static const struct tenant {
	const char *id;
	int cap_pct;
	double target_fps;
	const char *day, *night;
} tenants[] = {
	{"game", 45, 55, "game:gpu_ms=4,cpu_ms=3,vsync_hz=60",
	 "frame:gpu_ms=2,cpu_ms=3,fps_max=60"},
	{"cad", 30, 28, "frame:gpu_ms=5,cpu_ms=2,fps_max=30", "idle"},
	{"office", 20, 0, "burst:on_s=20,off_s=60,pct=10", "load:pct=2"},
	{"batch", 25, 0, "square:period_s=120,high_pct=15,low_pct=3", "load:pct=14"},
	{"video", 20, 0, "load:pct=10", "burst:on_s=300,off_s=600,pct=10"},
	{"spare", 15, 0, "idle", "idle"},
};

static void be_it(bool day)
{
	for (size_t i = 0; i < ARRAY_SIZE(tenants); i++) {
		char name[64];

		snprintf(name, sizeof(name), "%s.workload", tenants[i].id);
		poke_file(name, day ? tenants[i].day : tenants[i].night);
	}
}

static void print_alert(const struct alert *alert)
{
	print_message("%s %s %s %s: %s\n", alert_severity_name(alert->severity), alert->name,
		      alert->cause, alert->vgpu, alert->text);
}

/* Counts the alerts of this kind with an id above @after. */
static int count_kind(enum alert_kind kind, enum alert_severity least, int64_t after)
{
	int n = 0;

	for (size_t i = 0; i < alerts_count(m->recorder.alerts); i++) {
		const struct alert *alert = alerts_at(m->recorder.alerts, i);

		n += alert->id > after && alert->kind == kind && alert->severity >= least;
	}
	return n;
}

/* Counts and prints the alerts of this severity with an id above @after. */
static int count_new(enum alert_severity least, int64_t after)
{
	int n = 0;

	for (size_t i = 0; i < alerts_count(m->recorder.alerts); i++) {
		const struct alert *alert = alerts_at(m->recorder.alerts, i);

		if (alert->id <= after || alert->severity < least)
			continue;
		print_alert(alert);
		n++;
	}
	return n;
}

TEST(healthy_hours_raise_no_critical_alert)
{
	const char *text = getenv("GOVER_TEST_HOURS");
	int hours = text ? atoi(text) : 20, critical = 0;
	int64_t seen = 0;

	assert_true(hours > 0);
	for (size_t i = 0; i < ARRAY_SIZE(tenants); i++) {
		sell(tenants[i].id, tenants[i].cap_pct, tenants[i].target_fps, 0, "idle");
		ticks(35); /* the use of the earlier ones is known, so that the next one is funded
			    */
	}
	for (int hour = 0; hour < hours; hour++) {
		be_it(hour % 3 != 2);
		ticks(HOUR_S / 2);
		assert_int_equal(remove_vgpu("spare"), 0); /* churn */
		ticks(60);
		sell("spare", 15, 0, 0, "idle");
		ticks(HOUR_S / 2 - 60);
		critical += count_new(ALERT_CRITICAL, seen);
		seen = alerts_last_id(m->recorder.alerts);
	}
	print_message("%d healthy hours, %llu periods, %lld alerts, %d of them critical\n", hours,
		      (unsigned long long)m->host.ticks, (long long)seen, critical);
	for (const struct vgpu *v = m->host.gpus[0].vgpus; v; v = v->next)
		print_message("%-7s seen for %.0f s, broken for %.3f %% of it, mean FPS %.1f\n",
			      v->contract.id, v->tally.seen_s,
			      100 * v->tally.broken_s / v->tally.seen_s,
			      v->tally.fps_s > 0 ? v->tally.fps_sum_s / v->tally.fps_s : 0);
	assert_int_equal(critical, 0);
}

/* --- many small vGPUs --- */

/*
 * 64 vGPUs with contracts of 2 % want their whole contract half of the time, so that the GPU is
 * busy at about 63 %, and several are overloaded at any time. A migration would change nothing.
 */
TEST(many_small_vgpus_raise_no_severe_overload)
{
	int64_t seen;
	char id[16];

	m->store.settings.params.min_newcomer_pct = 1;
	for (int i = 0; i < 64; i++) {
		snprintf(id, sizeof(id), "v%02d", i);
		sell(id, 2, 0, 0, "idle");
		ticks(35);
	}
	for (int i = 0; i < 64; i++) {
		snprintf(id, sizeof(id), "v%02d.workload", i);
		poke_file(id, "burst:on_s=10,off_s=10,pct=2");
	}
	seen = alerts_last_id(m->recorder.alerts);
	ticks(HOUR_S);
	print_message("64 vGPUs of 2 %%: load %.0f %%, up to %.0f %% wanted; contract_limit %d, "
		      "promise_broken %d, severe_overload %d\n",
		      100 * m->host.gpus[0].view.total_load, m->host.gpus[0].promise.wanted_pct,
		      count_kind(ALERT_CONTRACT_LIMIT, ALERT_INFO, seen),
		      count_kind(ALERT_PROMISE_BROKEN, ALERT_INFO, seen),
		      count_kind(ALERT_SEVERE_OVERLOAD, ALERT_INFO, seen));
	assert_int_equal(count_kind(ALERT_SEVERE_OVERLOAD, ALERT_INFO, seen), 0);
	assert_int_equal(count_kind(ALERT_CONTRACT_LIMIT, ALERT_WARNING, seen), 0);
}

/* --- twenty faults --- */

#define FRAMES	 "frame:gpu_ms=8,cpu_ms=1" /* needs 48 % of the GPU for 60 FPS */
#define LASTS_S	 150
#define WINDOW_S 75 /* half of the fast window is bad after 30 s; the cap may fall slowly */

/* Runs one command of a script: a word and its arguments, see faults[]. */
static void run_command(const char *word, const char *name, const char *text)
{
	struct contract values = {.held = false};
	int number = text ? atoi(text) : 0;
	enum gpu_mode mode;

	if (strcmp(word, "hold") == 0) {
		values.held = true;
		values.held_cap_pct = number;
		must_change(name, CONTRACT_HELD | CONTRACT_HELD_CAP, values);
	} else if (strcmp(word, "release") == 0) {
		must_change(name, CONTRACT_HELD, values);
	} else if (strcmp(word, "target") == 0) {
		values.terms.target_fps = number;
		must_change(name, CONTRACT_TARGET_FPS, values);
	} else if (strcmp(word, "sell") == 0) {
		values.terms.initial_cap_pct = number;
		must_change(name, CONTRACT_INITIAL_CAP, values);
	} else if (strcmp(word, "floor") == 0) {
		values.terms.min_cap_pct = number;
		must_change(name, CONTRACT_MIN_CAP, values);
	} else if (strcmp(word, "mode") == 0) {
		assert_int_equal(gpu_mode_parse(name, &mode), 0);
		assert_int_equal(change_mode(mode), 0);
	} else if (strcmp(word, "policy") == 0) {
		assert_int_equal(change_policy(json_pack("{s:s}", "name", name)), 0);
	} else if (strcmp(word, "ticks") == 0) {
		ticks(atoi(name));
	} else {
		assert_string_equal(word, "poke");
		poke_file(name, text);
	}
}

/* Runs the commands of @script, which are separated by "; ". */
static void run_script(const char *script)
{
	char copy[256], *rest = NULL;

	assert_true(strlen(script) < sizeof(copy));
	strcpy(copy, script);
	for (char *one = strtok_r(copy, ";", &rest); one; one = strtok_r(NULL, ";", &rest)) {
		char *words = NULL, *word = strtok_r(one, " ", &words);
		char *name = strtok_r(NULL, " ", &words);

		run_command(word, name, strtok_r(NULL, " ", &words));
	}
}

#define NORMAL_GUEST "poke c.workload " FRAMES
#define QUIET	     "poke a.workload load:pct=10; poke b.workload load:pct=10"
/* The cap of c is low until the others have taken the rest. */
#define TAKE_THE_REST(workload)                                                             \
	"hold c 30; poke a.workload " workload "; poke b.workload " workload "; ticks 12; " \
	"release c"
/* Puts the other caps at 35 % each before the floors or holds, so that c has 30 %. */
#define HOLD_OTHERS    "hold c 30; hold a 35; hold b 35; release c"
#define RELEASE_OTHERS "release a; release b"

/*
 * Commands: hold VGPU CAP, release VGPU, target VGPU FPS, sell VGPU CAP, floor VGPU CAP, mode MODE,
 * policy NAME, ticks N, and poke FILE TEXT, which writes a file that the simulated GPU reads.
 */
static const struct fault {
	const char *name, *begin, *end;
	enum promise_cause cause;
	const char *also; /* vGPUs whose promise may break too */
} faults[] = {
	{"an operator holds the cap", "hold c 20", "release c", PROMISE_HELD, ""},
	{"an operator holds a very low cap", "hold c 5", "release c", PROMISE_HELD, ""},
	{"another program writes the cap", "poke c.cap 20", "release c", PROMISE_FOREIGN_CAP, ""},
	{"another program writes a low cap", "poke c.cap 10", "release c", PROMISE_FOREIGN_CAP, ""},
	{"a target above the contract", "target c 100", "target c 60", PROMISE_CONTRACT_TOO_SMALL,
	 ""},
	{"a contract that is too small", "sell c 30", "sell c 60", PROMISE_CONTRACT_TOO_SMALL, ""},
	{"a heavier scene than the contract", "poke c.workload frame:gpu_ms=14,cpu_ms=1",
	 NORMAL_GUEST, PROMISE_CONTRACT_TOO_SMALL, ""},
	{"a slow guest", "poke c.workload frame:gpu_ms=4,cpu_ms=40", NORMAL_GUEST,
	 PROMISE_GUEST_LIMIT, ""},
	{"a nearly stuck guest", "poke c.workload frame:gpu_ms=20,cpu_ms=900", NORMAL_GUEST,
	 PROMISE_GUEST_LIMIT, ""},
	{"118 % are wanted", TAKE_THE_REST("load:pct=35"), QUIET, PROMISE_GPU_OVERCOMMITTED, "ab"},
	{"all vGPUs want everything", TAKE_THE_REST("busy"), QUIET, PROMISE_GPU_OVERCOMMITTED,
	 "ab"},
	{"the others are held", HOLD_OTHERS, RELEASE_OTHERS, PROMISE_DONORS_AT_FLOOR, ""},
	{"the others are at their floors", HOLD_OTHERS "; floor a 35; floor b 35; " RELEASE_OTHERS,
	 "floor a 0; floor b 0", PROMISE_DONORS_AT_FLOOR, ""},
	{"a frozen GPU", "hold c 25; mode frozen; release c", "mode act", PROMISE_NOT_ACTING, ""},
	{"an observed GPU", "hold c 25; mode observe; release c", "mode act", PROMISE_NOT_ACTING,
	 ""},
	{"caps cannot be written", "hold c 25; poke c.fault write; ticks 1; release c",
	 "poke c.fault none", PROMISE_CAP_WRITE_FAILED, ""},
	{"the scheduler is off", "poke a.fault cap; poke a.workload load:pct=85",
	 "poke a.fault none; " QUIET, PROMISE_CAPS_NOT_ENFORCED, "b"},
	{"busy time cannot be read", "hold c 20; poke c.fault read", "poke c.fault none; release c",
	 PROMISE_TELEMETRY_STALE, ""},
	{"a policy without steals", "policy none", "policy gover", PROMISE_POLICY_IDLE, ""},
	{"an operator holds the cap again", "hold c 20", "release c", PROMISE_HELD, ""},
};

/* Returns the alert promise_broken of @id with an id above @after; *ret_n is their number. */
static const struct alert *find_broken(const char *id, int64_t after, int *ret_n)
{
	const struct alert *found = NULL;

	*ret_n = 0;
	for (size_t i = 0; i < alerts_count(m->recorder.alerts); i++) {
		const struct alert *alert = alerts_at(m->recorder.alerts, i);

		if (alert->id <= after || alert->kind != ALERT_PROMISE_BROKEN ||
		    strcmp(alert->vgpu, id) != 0)
			continue;
		found = alert;
		++*ret_n;
	}
	return found;
}

static void await_quiet(void)
{
	int n = 0;

	while (n < 900) {
		bool quiet = true;

		for (const struct vgpu *v = m->host.gpus[0].vgpus; v; v = v->next)
			quiet = quiet && !v->promise.alarm && v->promise.state == PROMISE_KEPT;
		if (quiet)
			return;
		tick();
		n++;
	}
	fail_msg("a promise is still broken after %d s", n);
}

/* Waits until the alarms have ended, and then until the fast window contains no bad time. */
static void recover(void)
{
	await_quiet();
	ticks(61);
}

static void inject(const struct fault *fault)
{
	int64_t before = alerts_last_id(m->recorder.alerts), begun_ms = now.wall_ms;
	const struct alert *alert;
	int n;

	run_script(fault->begin);
	ticks(LASTS_S);
	alert = find_broken("c", before, &n);
	if (n != 1)
		fail_msg("%s: %d alerts", fault->name, n);
	print_message("%-36s %-19s after %3lld s\n", fault->name, alert->cause,
		      (long long)(alert->raised_ms - begun_ms) / 1000);
	if (promise_cause_find(alert->cause) != fault->cause ||
	    alert->raised_ms - begun_ms > WINDOW_S * 1000)
		fail_msg("%s: %s", fault->name, alert->text);
	run_script(fault->end);
	recover();
	alert = find_broken("c", before, &n);
	assert_int_equal(n, 1);
	assert_true(alert->cleared_ms != 0);
	for (const char *other = "ab"; *other; other++) {
		(void)find_broken((char[]){*other, '\0'}, before, &n);
		if (n > (strchr(fault->also, *other) != NULL))
			fail_msg("%s: %d alerts of vGPU %c", fault->name, n, *other);
	}
}

TEST(each_of_twenty_faults_raises_one_alert)
{
	assert_int_equal(ARRAY_SIZE(faults), 20);
	sell("a", 50, 0, 0, "load:pct=10");
	ticks(35);
	sell("b", 50, 0, 0, "load:pct=10");
	ticks(35);
	sell("c", 60, 60, 0, FRAMES);
	ticks(120);
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		inject(&faults[i]);
}
