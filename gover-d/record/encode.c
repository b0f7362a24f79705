/* SPDX-License-Identifier: MIT */
/* Encodes alerts, silences, decisions and offers as JSON. */
#include <math.h>
#include <string.h>

#include "gover-d/record/encode.h"

void encode_add_rate(json_t *object, const char *frames, const char *work, bool counts_work,
		     double value)
{
	json_encode_add(object, frames, json_encode_number(counts_work ? NAN : value));
	json_encode_add(object, work, json_encode_number(counts_work ? value : NAN));
}

json_t *encode_alert(const struct alert *alert, const char *runbooks)
{
	json_t *o = json_object();
	char next[ALERT_NEXT_MAX], url[ALERT_URL_MAX];

	alert_next_command(alert, next, sizeof(next));
	alert_runbook_url(alert, runbooks, url);
	json_encode_add(o, "id", json_integer(alert->id));
	json_encode_add(o, "name", json_string(alert->name));
	json_encode_add(o, "severity", json_string(alert_severity_name(alert->severity)));
	json_encode_add(o, "gpu", json_encode_name(alert->gpu));
	json_encode_add(o, "vgpu", json_encode_name(alert->vgpu));
	json_encode_add(o, "vm", json_encode_name(alert->vm));
	json_encode_add(o, "instance", json_encode_name(alert->instance));
	json_encode_add(o, "project", json_encode_name(alert->project));
	json_encode_add(o, "raised_at", json_encode_time(alert->raised_ms));
	json_encode_add(o, "cleared_at", json_encode_time(alert->cleared_ms));
	json_encode_add(o, "acked_at", json_encode_time(alert->acked_ms));
	json_encode_add(o, "acked_by", json_encode_name(alert->acked_by));
	json_encode_add(o, "silenced", json_boolean(alert->silenced));
	json_encode_add(o, "text", json_encode_text(alert->text));
	json_encode_add(o, "cause", json_encode_name(alert->cause));
	json_encode_add(o, "next", json_encode_text(next));
	json_encode_add(o, "runbook_url", json_encode_text(url));
	return o;
}

json_t *encode_silence(const struct db_silence *silence)
{
	json_t *o = json_object();

	json_encode_add(o, "id", json_integer(silence->id));
	json_encode_add(o, "alert", json_encode_name(silence->alert));
	json_encode_add(o, "gpu", json_encode_name(silence->gpu));
	json_encode_add(o, "vgpu", json_encode_name(silence->vgpu));
	json_encode_add(o, "created_at", json_encode_time(silence->created_ms));
	json_encode_add(o, "until", json_encode_time(silence->until_ms));
	json_encode_add(o, "reason", json_encode_text(silence->reason));
	return o;
}

json_t *encode_decision(const struct decision *decision)
{
	json_t *o = json_object();
	json_t *detail = json_loadb(decision->detail, strlen(decision->detail), 0, NULL);

	json_encode_add(o, "id", json_integer(decision->id));
	json_encode_add(o, "time", json_encode_time(decision->ts_ms));
	json_encode_add(o, "gpu", json_encode_text(decision->gpu));
	json_encode_add(o, "kind", json_encode_text(decision_kind_name(decision->kind)));
	json_encode_add(o, "vgpu", json_encode_name(decision->vgpu));
	json_encode_add(o, "donor", json_encode_name(decision->donor));
	json_encode_add(o, "numbers", json_incref(json_object_get(detail, "numbers")));
	json_encode_add(o, "moves", json_incref(json_object_get(detail, "moves")));
	json_encode_add(o, "result", json_encode_text(decision_result_name(decision->result)));
	json_encode_add(o, "why", json_encode_text(decision->why));
	json_decref(detail);
	return o;
}

static void add_terms(json_t *o, const struct offer_flavor *flavor)
{
	json_encode_add(o, "flavor", json_encode_name(flavor->name));
	json_encode_add(o, "initial_cap_pct", json_integer(flavor->terms.initial_cap_pct));
	encode_add_rate(o, "target_fps", "target_rate", flavor->terms.counts_work,
			flavor->terms.target_fps);
	json_encode_add(o, "fundable_pct", json_integer(flavor->fundable_pct));
}

static json_t *encode_flavors(const struct offer *offer)
{
	json_t *list = json_array();

	for (int i = 0; i < offer->n_flavors; i++) {
		json_t *o = json_object();

		add_terms(o, &offer->flavors[i]);
		json_array_append_new(list, o);
	}
	return list;
}

json_t *encode_offer(const struct offer *offer, struct instant now)
{
	double left_s = ((double)offer->life.probation_ends_ns - (double)now.mono_ns) / NS_PER_S;
	bool held = offers_is_held(offer, now);
	json_t *o = json_object();

	json_encode_add(o, "id", json_integer(offer->id));
	json_encode_add(o, "gpu", json_string(offer->gpu));
	json_encode_add(o, "state", json_string(offer_state_name(offer->life.state)));
	add_terms(o, &offer->flavors[0]);
	json_encode_add(o, "flavors", encode_flavors(offer));
	json_encode_add(o, "created_at", json_encode_time(offer->created_ms));
	json_encode_add(o, "expires_at", json_encode_time(offer->expires_ms));
	json_encode_add(o, "changed_at", json_encode_time(offer->changed_ms));
	json_encode_add(o, "held_by", json_encode_name(held ? offer->hold.holder : ""));
	json_encode_add(o, "held_until", json_encode_time(held ? offer->hold.until_ms : 0));
	json_encode_add(o, "vgpu", json_encode_name(offer->vgpu));
	json_encode_add(o, "reason", json_encode_text(offer->reason));
	json_encode_add(
		o, "probation_left_s",
		json_encode_number(offer->life.state == OFFER_PROBATION ? fmax(left_s, 0) : NAN));
	return o;
}
