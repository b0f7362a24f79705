/* SPDX-License-Identifier: MIT */
/* Writes each decision, alert, silence and offer to the log, as an observer. */
#include <stdio.h>

#include "gover-d/core/event-log.h"
#include "gover-d/util/log.h"

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

static void log_silence(void *userdata, const struct silence *s, int64_t ended_ms)
{
	(void)userdata;
	log_event(SD_NOTICE,
		  &(struct log_fields){
			  .kind = LOG_SILENCE, .gpu = s->gpu, .vgpu = s->vgpu, .alert = s->alert},
		  "silence %lld of %s%s%s%s%s %s: %s", (long long)s->id,
		  s->alert[0] ? s->alert : "every alert", s->vgpu[0] ? " of vGPU " : "", s->vgpu,
		  s->gpu[0] ? " on GPU " : "", s->gpu, ended_ms ? "ended" : "started", s->reason);
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

const struct observer event_log_observer = {
	.name = "log",
	.decision = log_decision,
	.alert = log_alert,
	.silence = log_silence,
	.offer = log_offer,
};
