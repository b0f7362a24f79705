/* SPDX-License-Identifier: MIT */
/* What is told of alerts and offers, to whom, and in which words. Must never wait, nor fail whoever
 * has something to tell. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "db/db.h"
#include "gover-d/api/api.h"
#include "gover-d/core/encode.h"
#include "gover-d/core/notify.h"
#include "gover-d/core/state.h"
#include "gover-d/util/json-encode.h"
#include "gover-d/util/log.h"

#define MESSAGE_VERSION	  1 /* of the JSON: a field that changes its meaning makes another one */
#define SENTENCE_MAX	  (ALERT_TEXT_MAX + 512)
#define WEBHOOK_BAD_TRIES 3

int notify_open(struct manager *m, struct err *reterr)
{
	int r = hooks_new(m->event, m->config.hook_timeout_s, &m->hooks);

	if (r < 0)
		return err_fail(reterr, -r, "the loop: %s", strerror(-r));
	if (gethostname(m->hostname, sizeof(m->hostname) - 1) < 0)
		strcpy(m->hostname, "localhost");
	if (m->config.webhook[0] == '\0' || m->actuator.dry_run)
		return 0;
	return webhook_new(m->config.webhook, m->config.webhook_timeout_s, &m->webhook, reterr);
}

/* --- words --- */

/* "12 s", "4 min", "3 h" between two instants of the wall clock, which may have been set. */
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

/* One sentence for somebody who has just been woken. */
static void format_sentence(const char *host, const struct alert *a, enum alert_event event,
			    char text[SENTENCE_MAX])
{
	const char *vm = a->vm[0] ? a->vm : NULL;
	char span[24];

	format_span(a->cleared_ms - a->raised_ms, span);
	switch (event) {
	case ALERT_RAISED:
	case ALERT_UNSILENCED:
	case ALERT_UPDATED:
		snprintf(text, SENTENCE_MAX, "%s, %s%s%s%s: %s - %s", host,
			 event == ALERT_UPDATED ? "still " : "", alert_severity_name(a->severity),
			 vm ? ", VM " : "", vm ? vm : "", a->text, alert_meaning(a));
		return;
	case ALERT_CLEARED:
		snprintf(text, SENTENCE_MAX, "%s%s%s: over after %s: %s", host, vm ? ", VM " : "",
			 vm ? vm : "", span, a->text);
		return;
	case ALERT_ACKNOWLEDGED:
		snprintf(text, SENTENCE_MAX, "%s%s%s: somebody looks after it: %s", host,
			 vm ? ", VM " : "", vm ? vm : "", a->text);
		return;
	}
}

static json_t *encode_message(const char *host, const char *event)
{
	return json_pack("{s:i, s:s, s:s}", "version", MESSAGE_VERSION, "event", event, "host",
			 host);
}

/* Takes over both; NULL of either: no memory. */
static char *dump_message(json_t *message, const char *key, json_t *object)
{
	if (!object || json_object_set_new(message, key, object) < 0) {
		json_decref(message);
		return NULL;
	}
	return json_encode_dump(message);
}

char *notify_alert_text(const char *host, const struct alert *alert, enum alert_event event)
{
	json_t *message = encode_message(host, alert_event_name(event));
	char sentence[SENTENCE_MAX], next[128];

	format_sentence(host, alert, event, sentence);
	alert_next_command(alert, next, sizeof(next));
	if (json_object_set_new(message, "text", json_encode_text(sentence)) < 0 ||
	    json_object_set_new(message, "next", json_encode_text(next)) < 0) {
		json_decref(message);
		return NULL;
	}
	return dump_message(message, "alert", encode_alert(alert));
}

/* --- alerts --- */

bool notify_is_silenced(void *userdata, const struct alert *alert)
{
	const struct manager *m = userdata;

	return silences_match(&m->silences, alert);
}

/* Others, after the log and the history. */
static void tell_alert(struct manager *m, const struct alert *alert, enum alert_event event)
{
	char *text;

	if (alert->silenced || m->actuator.dry_run || (!m->webhook && !m->config.on_alert[0]))
		return;
	text = notify_alert_text(m->hostname, alert, event);
	(void)hooks_run(m->hooks, &(struct hook_call){.hook = HOOK_ALERT,
						      .program = m->config.on_alert,
						      .event = alert_event_name(event),
						      .gpu = alert->gpu,
						      .vgpu = alert->vgpu,
						      .vm = alert->vm,
						      .why = alert->text,
						      .json = text});
	/* Of its own failing the webhook would only hear when it is over. */
	if (m->webhook && alert->kind != ALERT_WEBHOOK_FAILING)
		webhook_send(m->webhook, text, event == ALERT_UPDATED ? alert->id : 0);
	else
		free(text);
}

static void log_alert(const struct alert *alert, enum alert_event event)
{
	static const struct {
		enum log_kind kind;
		const char *priority, *word;
	} lines[] = {
		[ALERT_RAISED] = {LOG_ALERT_RAISED, SD_WARNING, "raised"},
		[ALERT_UPDATED] = {LOG_ALERT_UPDATED, SD_INFO, "goes on"},
		[ALERT_CLEARED] = {LOG_ALERT_CLEARED, SD_NOTICE, "cleared"},
		[ALERT_ACKNOWLEDGED] = {LOG_ALERT_ACKNOWLEDGED, SD_WARNING, "acknowledged"},
		[ALERT_UNSILENCED] = {LOG_ALERT_UPDATED, SD_WARNING, "is silenced no more"},
	};

	log_event(lines[event].priority,
		  &(struct log_fields){.kind = lines[event].kind,
				       .gpu = alert->gpu,
				       .vgpu = alert->vgpu,
				       .vm = alert->vm,
				       .alert = alert->name},
		  "alert %s %s: %s", alert->name, lines[event].word, alert->text);
}

void notify_alert_changed(void *userdata, const struct alert *alert, enum alert_event event)
{
	struct manager *m = userdata;
	struct db_alert row = {
		.id = alert->id,
		.raised_ms = alert->raised_ms,
		.cleared_ms = alert->cleared_ms,
		.acked_ms = alert->acked_ms,
	};

	log_alert(alert, event);
	tell_alert(m, alert, event);
	m->generation++;
	api_event(m->api, EVENTS_ALERT, encode_alert(alert));
	if (!m->history.db)
		return;
	snprintf(row.name, sizeof(row.name), "%s", alert->name);
	memcpy(row.gpu, alert->gpu, sizeof(row.gpu));
	memcpy(row.vgpu, alert->vgpu, sizeof(row.vgpu));
	snprintf(row.severity, sizeof(row.severity), "%s", alert_severity_name(alert->severity));
	snprintf(row.text, sizeof(row.text), "%s", alert->text);
	(void)db_append_alert(m->history.db, &row); /* a full queue is counted by db/ */
}

void notify_silence_changed(struct manager *m, const struct silence *s, int64_t ended_ms)
{
	struct db_silence row = {.id = s->id,
				 .created_ms = s->created_ms,
				 .until_ms = s->until_ms,
				 .ended_ms = ended_ms};

	log_event(SD_NOTICE,
		  &(struct log_fields){
			  .kind = LOG_SILENCE, .gpu = s->gpu, .vgpu = s->vgpu, .alert = s->alert},
		  "silence %lld of %s%s%s%s%s %s: %s", (long long)s->id,
		  s->alert[0] ? s->alert : "every alert", s->vgpu[0] ? " of vGPU " : "", s->vgpu,
		  s->gpu[0] ? " on GPU " : "", s->gpu, ended_ms ? "is over" : "begins", s->reason);
	m->generation++;
	alerts_update_silenced(m->alerts, clock_now().wall_ms);
	if (!m->history.db)
		return;
	memcpy(row.alert, s->alert, sizeof(row.alert));
	memcpy(row.gpu, s->gpu, sizeof(row.gpu));
	memcpy(row.vgpu, s->vgpu, sizeof(row.vgpu));
	memcpy(row.reason, s->reason, sizeof(row.reason));
	(void)db_append_silence(m->history.db, &row);
}

/* --- offers and migrations --- */

static void tell_offer(struct manager *m, const struct offer *offer, const char *vm)
{
	const char *event = offer_state_name(offer->life.state);
	CLEANUP_FREE char *text = NULL;

	if (m->actuator.dry_run || !m->config.on_offer[0])
		return;
	text = dump_message(encode_message(m->hostname, event), "offer",
			    encode_offer(offer, clock_now()));
	(void)hooks_run(m->hooks, &(struct hook_call){.hook = HOOK_OFFER,
						      .program = m->config.on_offer,
						      .event = event,
						      .gpu = offer->gpu,
						      .vgpu = offer->vgpu,
						      .vm = vm,
						      .why = offer->reason,
						      .json = text});
}

void notify_offer_changed(void *userdata, const struct offer *offer)
{
	struct manager *m = userdata;
	struct db_offer row = {
		.id = offer->id,
		.created_ms = offer->created_ms,
		.changed_ms = offer->changed_ms,
		.cap_pct = offer->flavor.initial_cap_pct,
		.funded_pct = offer->life.fundable_pct,
		.target_fps = offer->flavor.target_fps,
	};
	const struct vgpu *vgpu = host_find_vgpu(&m->host, offer->vgpu, NULL);
	const char *vm = vgpu ? vgpu->contract.vm : "";

	log_event(SD_NOTICE,
		  &(struct log_fields){
			  .kind = LOG_OFFER, .gpu = offer->gpu, .vgpu = offer->vgpu, .vm = vm},
		  "offer %lld on GPU %s is %s%s%s", (long long)offer->id, offer->gpu,
		  offer_state_name(offer->life.state), offer->reason[0] ? ": " : "", offer->reason);
	m->generation++;
	api_event(m->api, EVENTS_OFFER, encode_offer(offer, clock_now()));
	tell_offer(m, offer, vm);
	if (offer->life.state == OFFER_FAILED)
		notify_migrate(m, "sale_failed", offer->gpu, offer->vgpu, vm, offer->reason);
	if (!m->history.db)
		return;
	memcpy(row.gpu, offer->gpu, sizeof(row.gpu));
	memcpy(row.vgpu, offer->vgpu, sizeof(row.vgpu));
	snprintf(row.state, sizeof(row.state), "%s", offer_state_name(offer->life.state));
	snprintf(row.reason, sizeof(row.reason), "%s", offer->reason);
	snprintf(row.claim_key, sizeof(row.claim_key), "%s", offer->claim_key);
	(void)db_append_offer(m->history.db, &row);
}

void notify_migrate(struct manager *m, const char *event, const char *gpu, const char *vgpu,
		    const char *vm, const char *why)
{
	CLEANUP_FREE char *text = NULL;
	json_t *move;

	if (m->actuator.dry_run || !m->config.on_migrate[0])
		return;
	move = json_pack("{s:o, s:o, s:o, s:o}", "gpu", json_encode_name(gpu), "vgpu",
			 json_encode_name(vgpu), "vm", json_encode_text(vm), "why",
			 json_encode_text(why));
	text = dump_message(encode_message(m->hostname, event), "migrate", move);
	(void)hooks_run(m->hooks, &(struct hook_call){.hook = HOOK_MIGRATE,
						      .program = m->config.on_migrate,
						      .event = event,
						      .gpu = gpu,
						      .vgpu = vgpu,
						      .vm = vm,
						      .why = why,
						      .json = text});
}

/* --- once a period --- */

static void tend_webhook(struct manager *m, struct instant now)
{
	struct webhook_stats stats;
	uint64_t lost;

	webhook_stats(m->webhook, &stats);
	lost = stats.refused + stats.dropped;
	if (stats.failed_tries > 0 && !m->webhook_failing)
		log_event(SD_WARNING, &(struct log_fields){.kind = LOG_WEBHOOK_FAILED},
			  "the webhook does not take what it is sent: %s", stats.problem);
	if (stats.failed_tries == 0 && m->webhook_failing)
		log_notice("the webhook takes what it is sent again");
	m->webhook_failing = stats.failed_tries > 0;
	if (lost != m->webhook_lost)
		log_warning("%llu messages for the webhook were given up",
			    (unsigned long long)lost);
	m->webhook_lost = lost;
	if (stats.failed_tries >= WEBHOOK_BAD_TRIES || stats.lost > 0)
		alerts_hold(m->alerts, ALERT_WEBHOOK_FAILING, NULL, NULL, now.wall_ms,
			    "the webhook failed %d times in a row, %d messages wait and %d were "
			    "given up: %s",
			    stats.failed_tries, stats.waiting, stats.lost, stats.problem);
}

void notify_tick(struct manager *m, struct instant now)
{
	struct silence silence;

	if (m->webhook)
		tend_webhook(m, now);
	while (silences_expire(&m->silences, now.wall_ms, &silence))
		notify_silence_changed(m, &silence, now.wall_ms);
}
