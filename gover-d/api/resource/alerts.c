/* SPDX-License-Identifier: MIT */
/* Routes of alerts, silences and decisions. */
#include <stddef.h>
#include <stdio.h>

#include "base/id.h"
#include "gover-d/alert/alerts.h"
#include "gover-d/api/change.h"
#include "gover-d/api/resource.h"
#include "gover-d/api/resource/routes.h"
#include "gover-d/change/control.h"
#include "gover-d/config/config.h"
#include "gover-d/model/decisions.h"
#include "gover-d/record/encode.h"
#include "gover-d/util/json.h"

#define LIMIT_DEFAULT 100
#define LIMIT_MAX     1000

static void get_alerts(struct api *api, struct api_request *request)
{
	bool all = false;

	if (api_query_switch(request, "all", &all) < 0)
		return;
	api_list_reply_ids(request, "alerts", resource_encode_alerts(api->view, all));
}

static void reply_ack(struct api *api, struct api_request *request)
{
	const struct alert *alert = alerts_find(api->view->alerts, request->change->number);

	if (alert)
		api_request_reply_json(request, 200,
				       encode_alert(alert, api->view->config->runbook_url));
}

static void ack_alert(struct api *api, struct api_request *request)
{
	struct api_change *change;
	int64_t id;

	if (api_param_number(request, &id) < 0)
		return;
	change = api_change_new(api, request, reply_ack);
	change->number = id;
	api_change_begun(change, control_alert_ack(api->changes, id, request->principal.name,
						   api_change_done(change), &change->err));
}

/* --- silences --- */

/* The body of POST /v1/silences. */
struct wanted_silence {
	struct db_silence silence;
	char until[40];
};

enum { FIELD_UNTIL = 1 << 3, FIELD_REASON = 1 << 4 };

static const struct json_decode_field silence_fields[] = {
	{"alert", JSON_DECODE_TEXT, 0, SILENCE_ALERT_MAX - 1,
	 offsetof(struct wanted_silence, silence.alert), 1 << 0},
	{"gpu", JSON_DECODE_ID, 0, 0, offsetof(struct wanted_silence, silence.gpu), 1 << 1},
	{"vgpu", JSON_DECODE_ID, 0, 0, offsetof(struct wanted_silence, silence.vgpu), 1 << 2},
	{"until", JSON_DECODE_TEXT, 0, 39, offsetof(struct wanted_silence, until), FIELD_UNTIL},
	{"reason", JSON_DECODE_TEXT, 0, SILENCE_REASON_MAX - 1,
	 offsetof(struct wanted_silence, silence.reason), FIELD_REASON},
	{.name = NULL},
};

static void get_silences(struct api *api, struct api_request *request)
{
	const struct silences *silences = api->view->silences;
	json_t *list = json_array();

	for (int i = 0; i < silences->n; i++)
		json_array_append_new(list, encode_silence(&silences->list[i]));
	api_request_reply_json(request, 200, json_pack("{s:o}", "silences", list));
}

static void get_silence(struct api *api, struct api_request *request)
{
	const struct db_silence *silence;
	int64_t id;

	if (api_param_number(request, &id) < 0)
		return;
	silence = silences_find(api->view->silences, id);
	if (silence)
		api_request_reply_json(request, 200, encode_silence(silence));
	else
		problem_reply(request, 404, "silence %lld: not found", (long long)id);
}

/* The new silence is the last one of the list. */
static void reply_added(struct api *api, struct api_request *request)
{
	const struct silences *silences = api->view->silences;
	const struct db_silence *silence = &silences->list[silences->n - 1];

	api_request_reply_json(request, 201, encode_silence(silence));
	snprintf(request->reply.location, sizeof(request->reply.location), "/v1/silences/%lld",
		 (long long)silence->id);
}

static void post_silence(struct api *api, struct api_request *request)
{
	struct wanted_silence wanted = {.until = ""};
	struct api_change *change;
	unsigned int given;

	if (api_decode(request, silence_fields, FIELD_UNTIL | FIELD_REASON, &wanted, &given) < 0)
		return;
	if (api_time_parse(wanted.until, &wanted.silence.until_ms) < 0) {
		problem_reply(request, 422,
			      "until: %s is invalid (allowed: a time such as 2026-11-20T18:49:56Z)",
			      wanted.until);
		return;
	}
	change = api_change_new(api, request, reply_added);
	api_change_begun(change, control_silence_add(api->changes, &wanted.silence,
						     api_change_done(change), &change->err));
}

static void delete_silence(struct api *api, struct api_request *request)
{
	struct api_change *change;
	int64_t id;

	if (api_param_number(request, &id) < 0)
		return;
	change = api_change_new(api, request, api_change_reply_none);
	api_change_begun(change, control_silence_remove(api->changes, id, api_change_done(change),
							&change->err));
}

/* --- decisions --- */

/* Filter of GET /v1/decisions. */
struct wanted {
	const char *vgpu; /* NULL: decisions about all vGPUs */
	/* lists the decisions whose ids are above this id; -1: lists the newest decisions */
	int64_t after;
	int64_t limit;
};

static bool concerns(const struct decision *decision, const char *vgpu)
{
	return !vgpu || decision_concerns(decision, vgpu);
}

static int64_t count(const struct decisions *decisions, const struct wanted *wanted)
{
	const struct decision *d = decisions_after(decisions, 0);
	int64_t n = 0;

	for (; d; d = decisions_after(decisions, d->id))
		n += concerns(d, wanted->vgpu);
	return n;
}

static json_t *encode_decisions(const struct decisions *decisions, const struct wanted *wanted)
{
	json_t *answer = json_object();
	int64_t skip = wanted->after < 0 ? count(decisions, wanted) - wanted->limit : 0;
	const struct decision *d =
		decisions_after(decisions, wanted->after < 0 ? 0 : wanted->after);
	int64_t next_after = decisions_last_id(decisions);
	bool is_more = false;
	int64_t n = 0;
	json_t *list = json_array();

	for (; d; d = decisions_after(decisions, d->id)) {
		if (!concerns(d, wanted->vgpu) || skip-- > 0)
			continue;
		is_more = n == wanted->limit;
		if (is_more)
			break;
		json_array_append_new(list, encode_decision(d));
		if (++n == wanted->limit)
			next_after = d->id;
	}
	json_encode_add(answer, "decisions", list);
	json_encode_add(answer, "next_after", json_integer(next_after));
	json_encode_add(answer, "next", is_more ? json_integer(next_after) : json_null());
	return answer;
}

static void get_decisions(struct api *api, struct api_request *request)
{
	struct wanted wanted = {
		.vgpu = api_request_query(request, "vgpu"),
		.after = -1,
		.limit = LIMIT_DEFAULT,
	};

	if (api_query_whole(request, "after", 0, INT64_MAX, &wanted.after) < 0 ||
	    api_query_whole(request, "limit", 1, LIMIT_MAX, &wanted.limit) < 0)
		return;
	if (wanted.vgpu && !id_valid(wanted.vgpu)) {
		problem_reply(request, 400, "vgpu: %.100s is invalid (allowed: the id of a vGPU)",
			      wanted.vgpu);
		return;
	}
	api_request_reply_json(request, 200, encode_decisions(api->view->decisions, &wanted));
}

const struct api_route alerts_routes[] = {
	{"GET", "/v1/alerts", get_alerts, ACCESS_READ, 0, {"all", "limit", "after"}},
	{"POST", "/v1/alerts/{id}/ack", ack_alert, ACCESS_OPERATE, 0, {NULL}},
	{"GET", "/v1/silences", get_silences, ACCESS_READ, 0, {NULL}},
	{"POST", "/v1/silences", post_silence, ACCESS_OPERATE, API_OBJECT, {NULL}},
	{"GET", "/v1/silences/{id}", get_silence, ACCESS_READ, 0, {NULL}},
	{"DELETE", "/v1/silences/{id}", delete_silence, ACCESS_OPERATE, 0, {NULL}},
	{"GET", "/v1/decisions", get_decisions, ACCESS_READ, 0, {"after", "limit", "vgpu"}},
	{.method = NULL},
};
