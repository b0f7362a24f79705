/* SPDX-License-Identifier: MIT */
/*
 * Tests when alerts are raised and cleared, that each condition raises one alert, the owner that an
 * alert names, and silences.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/alert/alerts.h"
#include "tests/unit/unit.h"

#define TICK_MS	    1000
#define BEGIN_MS    1700000000000
#define CLEARED_MAX 256 /* limit of stored cleared alerts */

static struct alerts *alerts;
static int64_t now_ms;
/*
 * Events since end_tick(): for each event a letter and the id of the alert, such as "r1". The
 * letters: r raised, u updated, c cleared, a acknowledged, t silence ended, e more severe.
 */
static char events[64];
static struct vgpu vgpu_a = {.contract = {.id = "a", .vm = "vm-a"}};
static struct vgpu vgpu_b = {.contract = {.id = "b"}};

static void note_event(void *userdata, const struct alert *alert, enum alert_event event)
{
	size_t used = strlen(events);
	char what = "rucate"[event];

	assert_ptr_equal(userdata, events);
	assert_int_equal(what == 'c', alert->cleared_ms == now_ms);
	if (what == 'a')
		assert_int_equal(alert->acked_ms, now_ms);
	if (what == 'r')
		assert_int_equal(alert->raised_ms, now_ms);
	snprintf(events + used, sizeof(events) - used, "%c%d", what, (int)alert->id);
}

static int set_up(void)
{
	now_ms = BEGIN_MS;
	events[0] = '\0';
	alerts = alerts_new(0, note_event, events);
	return alerts ? 0 : -1;
}

static int tear_down(void)
{
	alerts = alerts_free(alerts);
	return alerts ? -1 : 0;
}

FIXTURE(set_up, tear_down)

static void hold(enum alert_kind kind, const struct vgpu *vgpu)
{
	alerts_hold(alerts, kind, "gpu0", vgpu, now_ms, "%s at %lld", vgpu ? "vGPU" : "GPU",
		    (long long)now_ms);
}

static void end_tick(void)
{
	alerts_end_tick(alerts, now_ms, false);
	now_ms += TICK_MS;
	events[0] = '\0';
}

static void hold_ticks(enum alert_kind kind, const struct vgpu *vgpu, int ticks)
{
	for (int i = 0; i < ticks; i++) {
		hold(kind, vgpu);
		end_tick();
	}
}

static void quiet_ticks(int ticks)
{
	for (int i = 0; i < ticks; i++)
		end_tick();
}

static void hold_severity(enum alert_severity severity)
{
	alerts_hold_condition(alerts,
			      &(struct alert_condition){
				      .kind = ALERT_PROMISE_BROKEN,
				      .gpu = "gpu0",
				      .vgpu = &vgpu_a,
				      .severity = severity,
				      .cause = severity == ALERT_CRITICAL ? "held" : NULL,
				      .next = severity == ALERT_CRITICAL ? "command" : NULL,
			      },
			      now_ms, "text");
}

TEST(a_rising_severity_is_an_event_and_never_falls)
{
	static const struct {
		enum alert_severity holds, expected;
		const char *events;
	} rows[] = {
		{ALERT_INFO, ALERT_INFO, "r1"},		{ALERT_INFO, ALERT_INFO, ""},
		{ALERT_WARNING, ALERT_WARNING, "e1"},	{ALERT_INFO, ALERT_WARNING, ""},
		{ALERT_CRITICAL, ALERT_CRITICAL, "e1"}, {ALERT_WARNING, ALERT_CRITICAL, ""},
	};
	char next[ALERT_NEXT_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct alert *alert;

		hold_severity(rows[i].holds);
		alert = alerts_at(alerts, 0);
		assert_int_equal(alert->severity, rows[i].expected);
		assert_string_equal(events, rows[i].events);
		assert_string_equal(alert->cause, rows[i].holds == ALERT_CRITICAL ? "held" : "");
		alert_next_command(alert, next, sizeof(next));
		assert_string_equal(next, rows[i].holds == ALERT_CRITICAL ? "command"
									  : "gover-ctl why a");
		end_tick();
	}
	end_tick();
	hold_severity(ALERT_INFO); /* another alert */
	assert_int_equal(alerts_ack(alerts, 2, "root", now_ms), 0);
	hold_severity(ALERT_CRITICAL);
	assert_int_equal(alerts_at(alerts, 1)->acked_ms, 0);
	assert_string_equal(alerts_at(alerts, 1)->acked_by, "");
	end_tick();
	end_tick();
	hold_severity(ALERT_INFO);
	assert_int_equal(alerts_at(alerts, 2)->severity, ALERT_INFO);
}

/* --- raising and clearing --- */

/*
 * Ends a tick. @mark says what happens in it:
 * #  the condition holds
 * ?  the condition is unknown
 * g  the tick is late (a gap)
 * *  the tick is late, and the condition holds
 * !  the vGPU changed
 * +  the vGPU changed, and the condition holds
 * x  the vGPU is removed, and the tick is late
 * X  the vGPU is removed and created again, the tick is late, and the condition holds
 */
static void play(char mark, enum alert_kind kind)
{
	if (mark == '!' || mark == '+')
		alerts_vgpu_changed(alerts, "a");
	if (mark == 'x' || mark == 'X')
		alerts_vgpu_removed(alerts, "a");
	if (mark == '#' || mark == '*' || mark == '+' || mark == 'X')
		hold(kind, &vgpu_a);
	else if (mark == '?')
		alerts_mark_unknown(alerts, 1u << kind, "gpu0", "a");
	alerts_end_tick(alerts, now_ms, strchr("g*xX", mark) != NULL);
}

TEST(a_condition_is_raised_after_its_ticks_and_cleared_after_its_absence)
{
	static const struct {
		const char *rule;
		enum alert_kind kind;
		const char *holds, *events;
	} rows[] = {
		{"raised in the first tick", ALERT_FOREIGN_WRITE, "#....", "r..c."},
		{"cleared in one tick, because its windows wait themselves", ALERT_PROMISE_BROKEN,
		 "#....", "rc..."},
		{"raised after two periods", ALERT_SUM_OVER_100, "##.....", ".r..c.."},
		{"too short to be raised", ALERT_CONTRACT_LIMIT, "##.....", "......."},
		{"repeatedly too short", ALERT_CONTRACT_LIMIT, "##.##.##.#", ".........."},
		{"flickering before it is raised", ALERT_SUM_OVER_100, "#.#.##...", ".....r..c"},
		{"flickering afterwards is raised once", ALERT_SUM_OVER_100, "##.#.#..#....",
		 ".r.........c."},
		{"a lasting condition is raised once", ALERT_PROMISE_BROKEN, "############",
		 "r..........."},
		{"a new condition after the clearing is raised again", ALERT_FOREIGN_WRITE,
		 "#...#...", "r..cr..c"},
		{"and must last again", ALERT_SUM_OVER_100, "##...#.##...", ".r..c...r..c"},
		{"a gap does not clear", ALERT_SUM_OVER_100, "##gggg.g.g.", ".r........c"},
		{"unknown does not clear", ALERT_SUM_OVER_100, "##????.?.?.", ".r........c"},
		{"not even if one period clears", ALERT_PROMISE_BROKEN, "#?g??.", "r....c"},
		{"a condition may hold in a gap", ALERT_SUM_OVER_100, "*#..*...", ".r.....c"},
		{"unknown does not raise", ALERT_SUM_OVER_100, "#?#g#?#g", "........"},
		{"a change of its vGPU clears at once", ALERT_CONTRACT_LIMIT, "###!..", "..rc.."},
		{"but not a condition that still holds", ALERT_CONTRACT_LIMIT, "###+#....",
		 "..r......"},
		{"later it is raised as a new alert", ALERT_CONTRACT_LIMIT, "###!###..",
		 "..rc..r.."},
		{"a removal clears in a gap", ALERT_CONTRACT_LIMIT, "###gxg", "..r.c."},
		{"but not a condition of a new vGPU with the same id", ALERT_CONTRACT_LIMIT,
		 "###Xgg", "..r..."},
		{"a removal counts for one tick", ALERT_SUM_OVER_100, "##X.g..", ".r....c"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char got[32] = "";

		tear_down();
		assert_int_equal(set_up(), 0);
		for (size_t t = 0; rows[i].holds[t]; t++) {
			play(rows[i].holds[t], rows[i].kind);
			got[t] = events[0] ? events[0] : '.';
			now_ms += TICK_MS;
			events[0] = '\0';
		}
		if (strcmp(got, rows[i].events) != 0)
			fail_msg("%s: %s gave %s, wanted %s", rows[i].rule, rows[i].holds, got,
				 rows[i].events);
	}
}

/*
 * For each kind of alert, the numbers of ticks after which an alert is raised and cleared, as
 * documented in gover-d(8).
 */
static const struct {
	int raise_ticks, clear_ticks;
} ticks_of[ALERT_KINDS] = {
	[ALERT_PROMISE_BROKEN] = {1, 1},     [ALERT_SEVERE_OVERLOAD] = {1, 60},
	[ALERT_CONTRACT_LIMIT] = {3, 60},    [ALERT_HELD_OVERLOADED] = {3, 60},
	[ALERT_QOS_NOT_GPU_BOUND] = {3, 60}, [ALERT_FPS_MISSING] = {5, 10},
	[ALERT_SUM_OVER_100] = {2, 3},	     [ALERT_FOREIGN_WRITE] = {1, 3},
	[ALERT_VGPU_MISSING] = {2, 3},	     [ALERT_TELEMETRY_STALE] = {2, 10},
	[ALERT_WRITE_FAILED] = {1, 3},	     [ALERT_HISTORY_FAILING] = {1, 3},
	[ALERT_CONTRACTS_UNSAVED] = {1, 3},  [ALERT_SALE_FAILED] = {1, 3},
};

TEST(every_kind_is_raised_after_its_number_of_periods)
{
	for (int kind = 0; kind < ALERT_KINDS; kind++) {
		for (int tick = 1; tick <= ticks_of[kind].raise_ticks; tick++) {
			size_t before = alerts_count(alerts);

			hold((enum alert_kind)kind, &vgpu_a);
			if ((alerts_count(alerts) > before) != (tick == ticks_of[kind].raise_ticks))
				fail_msg("kind %d after %d ticks", kind, tick);
			end_tick();
		}
	}
}

TEST(every_kind_is_cleared_after_its_number_of_periods)
{
	for (int kind = 0; kind < ALERT_KINDS; kind++) {
		const struct alert *alert;

		hold_ticks((enum alert_kind)kind, &vgpu_a, ticks_of[kind].raise_ticks);
		alert = alerts_at(alerts, alerts_count(alerts) - 1);
		for (int tick = 1; tick <= ticks_of[kind].clear_ticks; tick++) {
			alerts_end_tick(alerts, now_ms, false);
			if ((alert->cleared_ms != 0) != (tick == ticks_of[kind].clear_ticks))
				fail_msg("kind %d after %d ticks", kind, tick);
		}
	}
}

/* For an hour, alternates between four periods at the limit and four periods below the limit. */
TEST(a_load_around_the_limit_is_raised_once)
{
	for (int tick = 0; tick < 3600; tick++) {
		if (tick % 8 < 4)
			hold(ALERT_CONTRACT_LIMIT, &vgpu_a);
		alerts_end_tick(alerts, now_ms, false);
		now_ms += TICK_MS;
	}
	assert_string_equal(events, "r1");
}

TEST(unknown_applies_to_the_named_vgpu_and_kind)
{
	hold(ALERT_PROMISE_BROKEN, &vgpu_a);
	hold(ALERT_PROMISE_BROKEN, &vgpu_b);
	hold(ALERT_PROMISE_BROKEN, NULL);
	alerts_hold(alerts, ALERT_PROMISE_BROKEN, "gpu1", NULL, now_ms, "another GPU");
	end_tick();
	alerts_mark_unknown(alerts, 1u << ALERT_CONTRACT_LIMIT, "gpu0", NULL);
	alerts_mark_unknown(alerts, 1u << ALERT_PROMISE_BROKEN, "gpu1", "a");
	alerts_mark_unknown(alerts, 1u << ALERT_CONTRACT_LIMIT | 1u << ALERT_PROMISE_BROKEN, "gpu0",
			    "b");
	alerts_end_tick(alerts, now_ms, false);
	assert_string_equal(events, "c1c3c4");
}

TEST(unknown_without_a_vgpu_applies_to_the_gpu)
{
	hold(ALERT_PROMISE_BROKEN, &vgpu_a);
	hold(ALERT_PROMISE_BROKEN, NULL);
	alerts_hold(alerts, ALERT_PROMISE_BROKEN, "gpu1", &vgpu_b, now_ms, "another GPU");
	end_tick();
	alerts_mark_unknown(alerts, 1u << ALERT_PROMISE_BROKEN, "gpu0", NULL);
	alerts_end_tick(alerts, now_ms, false);
	assert_string_equal(events, "c3");
}

TEST(two_reports_in_a_tick_count_once)
{
	hold(ALERT_SUM_OVER_100, NULL);
	hold(ALERT_SUM_OVER_100, NULL);
	end_tick();
	assert_int_equal(alerts_count(alerts), 0);
	hold(ALERT_SUM_OVER_100, NULL);
	assert_string_equal(events, "r1");
}

TEST(each_vgpu_and_gpu_has_its_own_alert)
{
	hold(ALERT_PROMISE_BROKEN, &vgpu_a);
	hold(ALERT_PROMISE_BROKEN, &vgpu_b);
	hold(ALERT_PROMISE_BROKEN, NULL);
	alerts_hold(alerts, ALERT_PROMISE_BROKEN, "gpu1", NULL, now_ms, "another GPU");
	alerts_hold(alerts, ALERT_HISTORY_FAILING, NULL, NULL, now_ms, "the host");
	hold(ALERT_WRITE_FAILED, &vgpu_a);
	assert_string_equal(events, "r1r2r3r4r5r6");
	end_tick();
	for (int tick = 1; tick <= 3; tick++) {
		hold(ALERT_PROMISE_BROKEN, &vgpu_b);
		alerts_end_tick(alerts, now_ms, false);
		assert_string_equal(events, tick == 1 ? "c1c3c4" : tick == 3 ? "c5c6" : "");
		events[0] = '\0';
		now_ms += TICK_MS;
	}
}

TEST(an_alert_has_name_severity_and_subject)
{
	const struct alert *alert;

	hold(ALERT_VGPU_MISSING, &vgpu_a);
	end_tick();
	hold(ALERT_VGPU_MISSING, &vgpu_a);
	assert_int_equal(alerts_count(alerts), 1);
	alert = alerts_at(alerts, 0);
	assert_int_equal(alert->id, 1);
	assert_string_equal(alert->name, "vgpu_missing");
	assert_int_equal(alert->severity, ALERT_CRITICAL);
	assert_string_equal(alert->gpu, "gpu0");
	assert_string_equal(alert->vgpu, "a");
	assert_string_equal(alert->vm, "vm-a");
	assert_int_equal(alert->raised_ms, BEGIN_MS + TICK_MS);
	assert_int_equal(alert->cleared_ms, 0);
	assert_int_equal(alert->acked_ms, 0);
}

TEST(the_text_is_the_newest_and_remains_after_clearing)
{
	const struct alert *alert;

	hold_ticks(ALERT_PROMISE_BROKEN, NULL, 3);
	alert = alerts_at(alerts, 0);
	assert_string_equal(alert->text, "GPU at 1700000002000");
	quiet_ticks(3);
	assert_int_equal(alert->cleared_ms, BEGIN_MS + 3 * TICK_MS);
	assert_string_equal(alert->text, "GPU at 1700000002000");
	hold(ALERT_PROMISE_BROKEN, NULL);
	assert_int_equal(alerts_count(alerts), 2);
	assert_string_equal(alerts_at(alerts, 0)->text, "GPU at 1700000002000");
}

TEST(a_long_text_is_truncated)
{
	static char text[2 * ALERT_TEXT_MAX];

	memset(text, 'x', sizeof(text) - 1);
	alerts_hold(alerts, ALERT_PROMISE_BROKEN, "gpu0", NULL, now_ms, "%s", text);
	assert_int_equal(strlen(alerts_at(alerts, 0)->text), ALERT_TEXT_MAX - 1);
}

/* --- the list --- */

TEST(alerts_are_listed_in_the_order_of_raising)
{
	/* the condition of this alert begins first, but the alert is raised last */
	hold(ALERT_FPS_MISSING, &vgpu_a);
	hold(ALERT_CONTRACT_LIMIT, &vgpu_a);
	end_tick();
	for (int tick = 0; tick < 4; tick++) {
		hold(ALERT_FPS_MISSING, &vgpu_a);
		hold(ALERT_CONTRACT_LIMIT, &vgpu_a);
		hold(ALERT_PROMISE_BROKEN, NULL);
		end_tick();
	}
	assert_int_equal(alerts_count(alerts), 3);
	assert_string_equal(alerts_at(alerts, 0)->name, "promise_broken");
	assert_string_equal(alerts_at(alerts, 1)->name, "contract_limit");
	assert_string_equal(alerts_at(alerts, 2)->name, "fps_missing");
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(alerts_at(alerts, i)->id, i + 1);
}

TEST(a_condition_that_is_not_raised_is_not_listed)
{
	hold(ALERT_FPS_MISSING, &vgpu_a);
	assert_int_equal(alerts_count(alerts), 0);
	end_tick();
	assert_int_equal(alerts_ack(alerts, 0, "uid 1000", now_ms), -ENOENT);
}

TEST(the_oldest_cleared_alerts_are_dropped_but_no_active_one)
{
	const int n = 1000;
	size_t cleared = 0;

	hold(ALERT_CONTRACTS_UNSAVED, NULL);
	for (int i = 0; i < n; i++) {
		hold(ALERT_PROMISE_BROKEN, &vgpu_a);
		for (int tick = 0; tick < 4; tick++) {
			hold(ALERT_CONTRACTS_UNSAVED, NULL);
			end_tick();
		}
	}
	for (size_t i = 0; i < alerts_count(alerts); i++) {
		cleared += alerts_at(alerts, i)->cleared_ms != 0;
		if (i > 0)
			assert_true(alerts_at(alerts, i)->id > alerts_at(alerts, i - 1)->id);
	}
	assert_int_equal(cleared, CLEARED_MAX);
	assert_int_equal(alerts_count(alerts), CLEARED_MAX + 1);
	assert_int_equal(alerts_at(alerts, 0)->id, 1);
	assert_int_equal(alerts_at(alerts, 0)->cleared_ms, 0);
	assert_int_equal(alerts_at(alerts, 1)->id, n + 1 - CLEARED_MAX + 1);
	assert_int_equal(alerts_at(alerts, CLEARED_MAX)->id, n + 1);
}

/* --- acknowledging --- */

TEST(a_second_acknowledgement_changes_nothing)
{
	hold_ticks(ALERT_PROMISE_BROKEN, &vgpu_a, 1);
	assert_int_equal(alerts_ack(alerts, 1, "uid 1000", now_ms), 0);
	assert_string_equal(events, "a1");
	assert_int_equal(alerts_at(alerts, 0)->acked_ms, now_ms);
	end_tick();
	assert_int_equal(alerts_ack(alerts, 1, "uid 1000", now_ms), 0);
	assert_string_equal(events, "");
	assert_int_equal(alerts_at(alerts, 0)->acked_ms, now_ms - TICK_MS);
	assert_int_equal(alerts_ack(alerts, 2, "uid 1000", now_ms), -ENOENT);
}

TEST(an_acknowledged_alert_is_cleared_as_usual)
{
	hold_ticks(ALERT_FOREIGN_WRITE, &vgpu_a, 1);
	assert_int_equal(alerts_ack(alerts, 1, "uid 1000", now_ms), 0);
	quiet_ticks(3);
	assert_int_equal(alerts_at(alerts, 0)->cleared_ms, now_ms - TICK_MS);
	assert_int_equal(alerts_at(alerts, 0)->acked_ms, now_ms - 3 * TICK_MS);
}

/* --- restart --- */

static const struct alert left_behind = {
	.id = 7,
	.kind = ALERT_FPS_MISSING,
	.gpu = "gpu0",
	.vgpu = "a",
	.raised_ms = 5,
	.acked_ms = 6,
	.text = "as it was",
};

static void adopt(void)
{
	alerts = alerts_free(alerts);
	alerts = alerts_new(40, note_event, events);
	assert_non_null(alerts);
	alerts_adopt(alerts, &left_behind);
	alerts_adopt(alerts,
		     &(struct alert){
			     .id = 9, .kind = ALERT_SUM_OVER_100, .gpu = "gpu0", .raised_ms = 8});
}

TEST(a_restored_alert_that_still_holds_is_not_raised_again)
{
	const struct alert *alert;

	adopt();
	assert_int_equal(alerts_count(alerts), 2);
	assert_string_equal(events, "");
	alert = alerts_at(alerts, 0);
	assert_int_equal(alert->id, 7);
	assert_string_equal(alert->name, "fps_missing");
	assert_int_equal(alert->severity, ALERT_WARNING);
	assert_string_equal(alert->text, "as it was");
	for (int tick = 0; tick < 10; tick++) {
		hold(ALERT_FPS_MISSING, &vgpu_a);
		hold(ALERT_SUM_OVER_100, NULL);
		assert_string_equal(events, "");
		end_tick();
	}
	assert_int_equal(alerts_count(alerts), 2);
	assert_int_equal(alerts_at(alerts, 0)->acked_ms, 6);
	/* the restored alert had no VM */
	assert_string_equal(alerts_at(alerts, 0)->vm, "vm-a");
	assert_int_equal(alerts_at(alerts, 1)->id, 9);
}

TEST(a_restored_alert_without_its_condition_is_cleared)
{
	adopt();
	quiet_ticks(2);
	alerts_end_tick(alerts, now_ms, false);
	assert_string_equal(events, "c9");
	quiet_ticks(6);
	alerts_end_tick(alerts, now_ms, false);
	assert_string_equal(events, "c7");
}

TEST(ids_continue_after_a_restart)
{
	adopt();
	hold(ALERT_PROMISE_BROKEN, &vgpu_b);
	assert_string_equal(events, "r41");
	assert_int_equal(alerts_at(alerts, 2)->id, 41);
}

/* --- names --- */

TEST(every_kind_has_a_unique_name_and_a_meaning)
{
	enum alert_severity severity;
	const char *name, *meaning;
	enum alert_kind kind;

	for (size_t i = 0; i < ALERT_KINDS; i++) {
		name = alerts_name_at(i, &severity, &meaning);
		assert_non_null(name);
		assert_true(strlen(meaning) > 20);
		assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz_0123456789"),
				 strlen(name));
		assert_int_equal(alerts_kind_parse(name, &kind), 0);
		assert_int_equal(kind, i);
		assert_true(strlen(alert_severity_name(severity)) > 0);
	}
	assert_null(alerts_name_at(ALERT_KINDS, &severity, &meaning));
	assert_int_equal(alerts_kind_parse("", &kind), -ENOENT);
	assert_int_equal(alerts_kind_parse("severe", &kind), -ENOENT);
	assert_string_equal(alert_severity_name(ALERT_INFO), "info");
	assert_string_equal(alert_severity_name(ALERT_WARNING), "warning");
	assert_string_equal(alert_severity_name(ALERT_CRITICAL), "critical");
	assert_null(alerts_free(NULL));
}

/* --- the owner of a vGPU, as its contract names it --- */

static const struct alert *hold_overload(const struct vgpu *vgpu)
{
	hold(ALERT_SEVERE_OVERLOAD, vgpu);
	alerts_end_tick(alerts, now_ms, false);
	assert_int_equal(alerts_count(alerts), 1);
	return alerts_at(alerts, 0);
}

TEST(an_alert_has_the_present_labels_of_its_vgpu)
{
	struct vgpu vgpu = {.contract = {.id = "a", .vm = "vm-a"}};
	const struct alert *alert = hold_overload(&vgpu);

	assert_string_equal(alert->vm, "vm-a");
	assert_string_equal(alert->instance, "");
	assert_string_equal(alert->project, "");
	vgpu.contract.labels = json_pack("{s:s, s:s}", "instance", "web", "project", "shop");
	alert = hold_overload(&vgpu);
	assert_string_equal(alert->instance, "web");
	assert_string_equal(alert->project, "shop");
	json_decref(vgpu.contract.labels);
	vgpu.contract.labels = json_pack("{s:s}", "project", "shop");
	alert = hold_overload(&vgpu);
	assert_string_equal(alert->instance, "");
	assert_string_equal(alert->project, "shop");
	json_decref(vgpu.contract.labels);
}

TEST(an_alert_of_a_gpu_has_no_owner)
{
	const struct alert *alert = hold_overload(NULL);

	assert_string_equal(alert->instance, "");
	assert_string_equal(alert->project, "");
}

/* --- silences: which alerts they match, and when they expire --- */

static struct silences silences;

TEST(a_silence_matches_alerts_that_match_all_selectors)
{
	static const struct {
		struct db_silence silence;
		bool matches; /* matches the alert contract_limit of vGPU a on gpu0 */
	} rows[] = {
		{{.alert = "contract_limit"}, true},
		{{.gpu = "gpu0"}, true},
		{{.vgpu = "a"}, true},
		{{.alert = "contract_limit", .gpu = "gpu0", .vgpu = "a"}, true},
		{{.alert = "fps_missing"}, false},
		{{.gpu = "gpu1", .vgpu = "a"}, false},
		{{.gpu = "gpu0", .vgpu = "b"}, false},
		{{.vgpu = "aa"}, false},
	};
	const struct alert alert = {.name = "contract_limit", .gpu = "gpu0", .vgpu = "a"};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct db_silence silence = rows[i].silence;

		silences.n = 0;
		assert_false(silences_match(&silences, &alert));
		assert_int_equal(silences_add(&silences, &silence), 0);
		if (silences_match(&silences, &alert) != rows[i].matches)
			fail_msg("row %zu", i);
	}
}

TEST(silences_expire_and_ids_are_not_reused)
{
	struct db_silence silence = {.vgpu = "a"}, ended;

	memset(&silences, 0, sizeof(silences));
	for (int i = 1; i <= 3; i++) {
		silence.until_ms = 1000 * (4 - i);
		assert_int_equal(silences_add(&silences, &silence), 0);
		assert_int_equal(silence.id, i);
	}
	assert_false(silences_expire(&silences, 999, &ended));
	assert_true(silences_expire(&silences, 1000, &ended));
	assert_int_equal(ended.id, 3);
	assert_int_equal(silences_remove(&silences, 3, &ended), -ENOENT);
	assert_int_equal(silences_remove(&silences, 1, &ended), 0);
	assert_int_equal(ended.id, 1);
	assert_int_equal(silences_add(&silences, &silence), 0);
	assert_int_equal(silence.id, 4);
	assert_int_equal(silences.n, 2);
}

TEST(the_number_of_silences_is_limited)
{
	struct db_silence silence = {.vgpu = "a"};

	memset(&silences, 0, sizeof(silences));
	for (int i = 0; i < SILENCES_MAX; i++)
		assert_int_equal(silences_add(&silences, &silence), 0);
	assert_int_equal(silences_add(&silences, &silence), -ENOSPC);
	assert_int_equal(silences.n, SILENCES_MAX);
}
