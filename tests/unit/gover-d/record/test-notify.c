/* SPDX-License-Identifier: MIT */
/* Alert notifications: their rate, their text, and the configuration of hooks and webhook. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/config/config.h"
#include "gover-d/record/notify.h"
#include "tests/unit/unit.h"

#define TICK_MS	 1000
#define BEGIN_MS 1700000000000

static struct alerts *alerts;
static int64_t now_ms;
static char events[8]; /* events of the current tick */
static struct vgpu vgpu_a = {.contract = {.id = "a", .vm = "vm-a"}};

static void record_event(void *userdata, const struct alert *alert, enum alert_event event)
{
	size_t used = strlen(events);

	(void)userdata, (void)alert;
	assert_true(used + 1 < sizeof(events));
	/* letters for raised, updated, cleared, acknowledged, and the end of a silence */
	events[used] = "rucat"[event];
	events[used + 1] = '\0';
}

static int set_up(void)
{
	now_ms = BEGIN_MS;
	return 0;
}

static int tear_down(void)
{
	alerts = alerts_free(alerts);
	return 0;
}

FIXTURE(set_up, tear_down)

/* --- updates and silences --- */

#define UPDATE_TICKS 5

static bool silenced;

static bool is_silenced(void *userdata, const struct alert *alert)
{
	(void)userdata, (void)alert;
	return silenced;
}

/*
 * Ends a tick. @mark says what happens in this tick:
 * #  the alert holds with a new number
 * =  the alert holds with the same number
 * .  the alert does not hold
 * a  the alert holds and is acknowledged
 * s  the alert holds and a silence begins
 * l  the alert holds and the silence ends
 */
static void run_mark(char mark)
{
	static int number;

	if (mark == 's' || mark == 'l') {
		silenced = mark == 's';
		alerts_update_silenced(alerts, now_ms);
	}
	number += mark == '#' || mark == 's' || mark == 'l';
	if (mark != '.')
		alerts_hold(alerts, ALERT_FOREIGN_WRITE, "gpu0", &vgpu_a, now_ms, "%d", number);
	if (mark == 'a')
		assert_int_equal(alerts_ack(alerts, alerts_last_id(alerts), "root", now_ms), 0);
	alerts_end_tick(alerts, now_ms, false);
}

TEST(a_lasting_alert_is_notified_again_at_a_limited_rate)
{
	static const struct {
		const char *rule, *holds, *events;
	} rows[] = {
		{"a changed text is notified once per update interval", "###########",
		 "r....u....u"},
		{"an unchanged text is not notified again", "#==========", "r.........."},
		{"a text that changes after the interval is notified at once",
		 "#=======#==", "r.......u.."},
		{"an alert that no longer holds is only cleared", "#....", "r..c."},
		{"an acknowledged alert is not notified again", "##a########", "r.a........"},
		{"a silenced alert is still raised and updated", "s##########", "r....u....u"},
		{"the end of a silence is an event", "s##l#######", "r..t....u.."},
		{"the end of a silence is no event for an alert raised before", "#s##l#######",
		 "r....u....u."},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char got[32] = "";

		alerts = alerts_free(alerts);
		alerts = alerts_new(0, record_event, events);
		alerts_set_update(alerts, UPDATE_TICKS * TICK_MS);
		alerts_set_silenced(alerts, is_silenced);
		silenced = false;
		for (size_t t = 0; rows[i].holds[t]; t++) {
			run_mark(rows[i].holds[t]);
			got[t] = events[0] ? events[0] : '.';
			now_ms += TICK_MS;
			events[0] = '\0';
		}
		if (strcmp(got, rows[i].events) != 0)
			fail_msg("%s: %s, not %s", rows[i].rule, got, rows[i].events);
	}
}

static bool is_command(const char *text)
{
	static const char *const programs[] = {"gover-ctl ", "journalctl ", "systemctl "};

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		if (strncmp(text, programs[i], strlen(programs[i])) == 0)
			return true;
	return false;
}

TEST(each_alert_has_a_meaning_and_a_next_command)
{
	char next[64];

	for (int kind = 0; kind < ALERT_KINDS; kind++) {
		struct alert alert = {.kind = (enum alert_kind)kind, .vgpu = "a-1"};

		alert_next_command(&alert, next, sizeof(next));
		assert_true(is_command(next));
		assert_null(strchr(next, '%'));
		assert_true(alert_meaning(&alert)[0] != '\0');
		alert.vgpu[0] = '\0';
		alert_next_command(&alert, next, sizeof(next));
		assert_true(strcmp(next, "gover-ctl why ") != 0 && !strchr(next, '%'));
	}
	alert_next_command(&(struct alert){.kind = ALERT_CONTRACT_LIMIT, .vgpu = "a-1"}, next,
			   sizeof(next));
	assert_string_equal(next, "gover-ctl why a-1");
}

/* --- text --- */

static const struct alert overload = {
	.id = 7,
	.kind = ALERT_CONTRACT_LIMIT,
	.name = "contract_limit",
	.severity = ALERT_WARNING,
	.gpu = "gpu0",
	.vgpu = "a",
	.vm = "win-1",
	.raised_ms = BEGIN_MS,
	.text = "vGPU a uses 99.0 % of its cap",
};

#define LIMIT_TEXT                                                                                 \
	", VM win-1: vGPU a uses 99.0 % of its cap - the vGPU uses all that its contract allows: " \
	"the customer may want a larger contract"

TEST(each_event_has_its_text)
{
	static const struct {
		enum alert_event event;
		int64_t lasted_ms;
		const char *word, *text;
	} rows[] = {
		{ALERT_RAISED, 0, "raised", "h1, warning" LIMIT_TEXT},
		{ALERT_UNSILENCED, 0, "raised", "h1, warning" LIMIT_TEXT},
		{ALERT_ESCALATED, 0, "raised", "h1, warning" LIMIT_TEXT},
		{ALERT_UPDATED, 0, "updated", "h1, still warning" LIMIT_TEXT},
		{ALERT_CLEARED, 119999, "cleared",
		 "h1, VM win-1: cleared after 119 s: vGPU a uses 99.0 % of its cap"},
		{ALERT_CLEARED, 7199999, "cleared",
		 "h1, VM win-1: cleared after 119 min: vGPU a uses 99.0 % of its cap"},
		{ALERT_CLEARED, 7200000, "cleared",
		 "h1, VM win-1: cleared after 2 h: vGPU a uses 99.0 % of its cap"},
		{ALERT_CLEARED, -5, "cleared",
		 "h1, VM win-1: cleared after 0 s: vGPU a uses 99.0 % of its cap"},
		{ALERT_ACKNOWLEDGED, 0, "acknowledged",
		 "h1, VM win-1: acknowledged: vGPU a uses 99.0 % of its cap"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP_FREE char *text = NULL;
		struct alert alert = overload;
		json_t *message;

		alert.cleared_ms = alert.raised_ms + rows[i].lasted_ms;
		text = notify_alert_text("h1", "https://wiki/", &alert, rows[i].event);
		assert_non_null(text);
		message = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
		assert_non_null(message);
		assert_null(strchr(text, '\n'));
		assert_string_equal(json_string_value(json_object_get(message, "event")),
				    rows[i].word);
		assert_string_equal(json_string_value(json_object_get(message, "text")),
				    rows[i].text);
		assert_string_equal(json_string_value(json_object_get(message, "next")),
				    "gover-ctl why a");
		assert_int_equal(json_integer_value(json_object_get(message, "version")), 1);
		assert_string_equal(json_string_value(json_object_get(
					    json_object_get(message, "alert"), "runbook_url")),
				    "https://wiki/contract_limit.md");
		json_decref(message);
	}
}

TEST(the_keys_of_hooks_and_webhook_are_checked)
{
	static const struct {
		const char *text, *wrong; /* @wrong: words of the error; NULL: @text is valid */
	} rows[] = {
		{"[daemon]\non_alert = /a\non_offer = /o\nhook_timeout_s = 9\n[alerts]\n"
		 "webhook = https://a.example:8443/x?y=z\nwebhook_timeout_s = 3\nupdate_s = 0\n",
		 NULL},
		{"[daemon]\nhook_timeout_s = 0\n", "1..86400 s"},
		{"[alerts]\nwebhook = ftp://a/\n", "a URL of http or https"},
		{"[alerts]\nwebhook = a.example/x\n", "a URL of http or https"},
		{"[alerts]\nwebhook_timeout_s = 61\n", "1..60 s"},
		{"[alerts]\nupdate_s = -1\n", "0..86400 s, 0 for no updates"},
	};
	char path[] = "/tmp/gover-notify.XXXXXX";
	CLEANUP_FREE struct config *config = malloc(sizeof(*config));
	struct err err;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(close(fd), 0);
	for (size_t i = ARRAY_SIZE(rows); i-- > 0;) {
		FILE *file = fopen(path, "w");

		assert_non_null(file);
		assert_true(fputs(rows[i].text, file) >= 0);
		assert_int_equal(fclose(file), 0);
		config_default(config);
		assert_int_equal(config_load(config, path, &err) < 0, rows[i].wrong != NULL);
		if (rows[i].wrong && !strstr(err.msg, rows[i].wrong))
			fail_msg("'%s' does not contain '%s'", err.msg, rows[i].wrong);
	}
	assert_string_equal(config->on_alert, "/a");
	assert_string_equal(config->on_offer, "/o");
	assert_int_equal(config->hook_timeout_s, 9);
	assert_string_equal(config->webhook, "https://a.example:8443/x?y=z");
	assert_int_equal(config->webhook_timeout_s, 3);
	assert_int_equal(config->update_s, 0);
	assert_int_equal(unlink(path), 0);
}
