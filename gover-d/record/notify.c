/* SPDX-License-Identifier: MIT */
/* Composes the messages for the log, the hooks and the webhook, and sends them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/record/encode.h"
#include "gover-d/record/notify.h"
#include "gover-d/util/json.h"
#include "gover-d/util/log.h"

#define MESSAGE_VERSION	  1 /* version of the JSON; increased when a field changes its meaning */
#define SENTENCE_MAX	  (2 * ALERT_TEXT_MAX + 512)
#define WEBHOOK_BAD_TRIES 3

int notify_open(struct notifier *notifier, sd_event *event, struct err *reterr)
{
	notifier->hooks = hooks_new(event, notifier->settings->config.hook_timeout_s);
	if (gethostname(notifier->hostname, sizeof(notifier->hostname) - 1) < 0)
		strcpy(notifier->hostname, "localhost");
	if (notifier->settings->config.webhook[0] == '\0' || notifier->settings->dry_run)
		return 0;
	return webhook_new(notifier->settings->config.webhook,
			   notifier->settings->config.webhook_timeout_s, &notifier->webhook,
			   reterr);
}

/* --- messages --- */

/* Formats "12 s", "4 min", "3 h". A negative time, after the clock was set back, is "0 s". */
static void format_span(int64_t ms, char text[24])
{
	int64_t s = ms > 0 ? ms / 1000 : 0;

	if (s < 120)
		snprintf(text, 24, "%lld s", (long long)s);
	else if (s < 7200)
		snprintf(text, 24, "%lld min", (long long)s / 60);
	else
		snprintf(text, 24, "%lld h", (long long)s / 3600);
}

/* Formats a sentence that can be understood without the other fields of the message. */
static void format_sentence(const char *host, const struct alert *a, enum alert_event event,
			    char text[SENTENCE_MAX])
{
	const char *vm = a->vm[0] ? a->vm : NULL;
	char span[24];

	format_span(a->cleared_ms - a->raised_ms, span);
	switch (event) {
	case ALERT_RAISED:
	case ALERT_UNSILENCED:
	case ALERT_ESCALATED:
	case ALERT_UPDATED:
		snprintf(text, SENTENCE_MAX, "%s, %s%s%s%s: %s - %s", host,
			 event == ALERT_UPDATED ? "still " : "", alert_severity_name(a->severity),
			 vm ? ", VM " : "", vm ? vm : "", a->text, alert_meaning(a));
		return;
	case ALERT_CLEARED:
		snprintf(text, SENTENCE_MAX, "%s%s%s: cleared after %s: %s", host,
			 vm ? ", VM " : "", vm ? vm : "", span, a->text);
		return;
	case ALERT_ACKNOWLEDGED:
		snprintf(text, SENTENCE_MAX, "%s%s%s: acknowledged: %s", host, vm ? ", VM " : "",
			 vm ? vm : "", a->text);
		return;
	}
}

static json_t *encode_message(const char *host, const char *event)
{
	return json_pack("{s:i, s:s, s:s}", "version", MESSAGE_VERSION, "event", event, "host",
			 host);
}

/* Takes ownership of @message and @object. */
static char *dump_message(json_t *message, const char *key, json_t *object)
{
	json_object_set_new(message, key, object);
	return json_encode_dump(message);
}

char *notify_alert_text(const char *host, const char *runbooks, const struct alert *alert,
			enum alert_event event)
{
	json_t *message = encode_message(host, alert_event_name(event));
	char sentence[SENTENCE_MAX], next[ALERT_NEXT_MAX];

	format_sentence(host, alert, event, sentence);
	alert_next_command(alert, next, sizeof(next));
	json_object_set_new(message, "text", json_encode_text(sentence));
	json_object_set_new(message, "next", json_encode_text(next));
	return dump_message(message, "alert", encode_alert(alert, runbooks));
}

/* --- the observer --- */

static void notify_alert(void *userdata, const struct alert *alert, enum alert_event event)
{
	const struct notifier *notifier = userdata;
	enum alert_severity least = ALERT_WARNING;
	char *text;

	(void)alert_severity_parse(notifier->settings->config.notify,
				   &least); /* the configuration was checked */
	if (alert->silenced || alert->severity < least || notifier->settings->dry_run ||
	    (!notifier->webhook && !notifier->settings->config.on_alert[0]))
		return;
	text = notify_alert_text(notifier->hostname, notifier->settings->config.runbook_url, alert,
				 event);
	(void)hooks_run(notifier->hooks,
			&(struct hook_call){.hook = HOOK_ALERT,
					    .program = notifier->settings->config.on_alert,
					    .event = alert_event_name(event),
					    .gpu = alert->gpu,
					    .vgpu = alert->vgpu,
					    .vm = alert->vm,
					    .why = alert->text,
					    .json = text});
	/* The webhook cannot deliver the alert about its own failure. */
	if (notifier->webhook && alert->kind != ALERT_WEBHOOK_FAILING)
		webhook_send(notifier->webhook, text, event == ALERT_UPDATED ? alert->id : 0);
	else
		free(text);
}

static void notify_offer(void *userdata, const struct offer *offer, const char *vm)
{
	const struct notifier *notifier = userdata;
	struct instant now = clock_now();
	/* A hold must not look like a new offer. */
	const char *event =
		offers_is_held(offer, now) ? "held" : offer_state_name(offer->life.state);
	CLEANUP_FREE char *text = NULL;

	if (notifier->settings->dry_run || !notifier->settings->config.on_offer[0])
		return;
	text = dump_message(encode_message(notifier->hostname, event), "offer",
			    encode_offer(offer, now));
	(void)hooks_run(notifier->hooks,
			&(struct hook_call){.hook = HOOK_OFFER,
					    .program = notifier->settings->config.on_offer,
					    .event = event,
					    .gpu = offer->gpu,
					    .vgpu = offer->vgpu,
					    .vm = vm,
					    .why = offer->reason,
					    .json = text});
}

static void notify_migrate(void *userdata, const struct migration *move)
{
	const struct notifier *notifier = userdata;
	CLEANUP_FREE char *text = NULL;
	json_t *object;

	if (notifier->settings->dry_run || !notifier->settings->config.on_migrate[0])
		return;
	object = json_pack("{s:o, s:o, s:o, s:o}", "gpu", json_encode_name(move->gpu), "vgpu",
			   json_encode_name(move->vgpu), "vm", json_encode_text(move->vm), "why",
			   json_encode_text(move->why));
	text = dump_message(encode_message(notifier->hostname, move->event), "migrate", object);
	(void)hooks_run(notifier->hooks,
			&(struct hook_call){.hook = HOOK_MIGRATE,
					    .program = notifier->settings->config.on_migrate,
					    .event = move->event,
					    .gpu = move->gpu,
					    .vgpu = move->vgpu,
					    .vm = move->vm,
					    .why = move->why,
					    .json = text});
}

const struct observer notify_observer = {
	.alert = notify_alert,
	.offer = notify_offer,
	.migrate = notify_migrate,
};

/* --- once a period --- */

void notify_tick(struct notifier *notifier, struct instant now)
{
	struct webhook_stats stats;
	uint64_t lost;

	webhook_stats(notifier->webhook, &stats);
	lost = stats.refused + stats.dropped;
	if (stats.failed_tries > 0 && !notifier->failing)
		log_event(SD_WARNING, &(struct log_fields){.kind = LOG_WEBHOOK_FAILED},
			  "webhook: delivery fails: %s", stats.problem);
	if (stats.failed_tries == 0 && notifier->failing)
		log_notice("webhook: delivery works again");
	notifier->failing = stats.failed_tries > 0;
	if (lost != notifier->lost)
		log_warning("webhook: %llu messages lost", (unsigned long long)lost);
	notifier->lost = lost;
	if (stats.failed_tries >= WEBHOOK_BAD_TRIES || stats.lost > 0)
		alerts_hold(notifier->alerts, ALERT_WEBHOOK_FAILING, NULL, NULL, now.wall_ms,
			    "webhook: %d consecutive failures, %d messages waiting, %d lost: %s",
			    stats.failed_tries, stats.waiting, stats.lost, stats.problem);
}

/* --- log --- */

static void log_decision(void *userdata, const struct decision *decision)
{
	const char *kind = decision_kind_name(decision->kind);
	char next[ID_MAX + 32] = "gover-ctl decisions";

	(void)userdata;
	if (decision->vgpu[0])
		snprintf(next, sizeof(next), "gover-ctl why %s", decision->vgpu);
	log_event(SD_INFO,
		  &(struct log_fields){.kind = LOG_DECISION,
				       .gpu = decision->gpu,
				       .vgpu = decision->vgpu,
				       .decision = kind,
				       .next = next},
		  "%s%s%s: %s [%s]", kind, decision->vgpu[0] ? " " : "", decision->vgpu,
		  decision->why, decision_result_name(decision->result));
}

static void log_alert(void *userdata, const struct alert *alert, enum alert_event event)
{
	static const struct {
		enum log_kind kind;
		const char *priority, *word;
	} lines[] = {
		[ALERT_RAISED] = {LOG_ALERT_RAISED, SD_WARNING, "raised"},
		[ALERT_UPDATED] = {LOG_ALERT_UPDATED, SD_INFO, "continues"},
		[ALERT_CLEARED] = {LOG_ALERT_CLEARED, SD_NOTICE, "cleared"},
		[ALERT_ACKNOWLEDGED] = {LOG_ALERT_ACKNOWLEDGED, SD_WARNING, "acknowledged"},
		[ALERT_UNSILENCED] = {LOG_ALERT_UPDATED, SD_WARNING, "is no longer silenced"},
		[ALERT_ESCALATED] = {LOG_ALERT_UPDATED, SD_WARNING, "is more severe"},
	};

	char next[128];

	(void)userdata;
	alert_next_command(alert, next, sizeof(next));
	log_event(lines[event].priority,
		  &(struct log_fields){.kind = lines[event].kind,
				       .gpu = alert->gpu,
				       .vgpu = alert->vgpu,
				       .vm = alert->vm,
				       .alert = alert->name,
				       .next = next},
		  "alert %s %s: %s", alert->name, lines[event].word, alert->text);
}

static void log_silence(void *userdata, const struct db_silence *s)
{
	(void)userdata;
	log_event(SD_NOTICE,
		  &(struct log_fields){
			  .kind = LOG_SILENCE, .gpu = s->gpu, .vgpu = s->vgpu, .alert = s->alert},
		  "silence %lld of %s%s%s%s%s %s: %s", (long long)s->id,
		  s->alert[0] ? s->alert : "every alert", s->vgpu[0] ? " of vGPU " : "", s->vgpu,
		  s->gpu[0] ? " on GPU " : "", s->gpu, s->ended_ms ? "ended" : "started",
		  s->reason);
}

static void log_offer(void *userdata, const struct offer *offer, const char *vm)
{
	bool held = offers_is_held(offer, clock_now());
	const char *why = held ? offer->hold.holder : offer->reason;
	const char *word = held ? ", held by " : offer->reason[0] ? ": " : "";

	(void)userdata;
	log_event(SD_NOTICE,
		  &(struct log_fields){
			  .kind = LOG_OFFER, .gpu = offer->gpu, .vgpu = offer->vgpu, .vm = vm},
		  "offer %lld on GPU %s is %s%s%s", (long long)offer->id, offer->gpu,
		  offer_state_name(offer->life.state), word, why);
}

const struct observer notify_log_observer = {
	.decision = log_decision,
	.alert = log_alert,
	.silence = log_silence,
	.offer = log_offer,
};
