/* SPDX-License-Identifier: MIT */
/* Routes of alerts and decisions. */
#include <string.h>

#include "base/id.h"
#include "gover-d/alert/alerts.h"
#include "gover-d/api/change.h"
#include "gover-d/api/handler.h"
#include "gover-d/api/list.h"
#include "gover-d/api/problem.h"
#include "gover-d/api/resource.h"
#include "gover-d/config/config.h"
#include "gover-d/core/control.h"
#include "gover-d/core/encode.h"
#include "gover-d/model/decisions.h"
#include "gover-d/util/json-encode.h"

#define LIMIT_DEFAULT 100
#define LIMIT_MAX     1000

void api_get_alerts(struct api *api, struct api_request *request)
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

void api_ack_alert(struct api *api, struct api_request *request)
{
	struct api_change *change;
	int64_t id;

	if (api_param_number(request, &id) < 0)
		return;
	change = api_change_new(api, request, reply_ack);
	change->number = id;
	api_change_begun(change, control_alert_ack(api->manager, id, request->principal.name,
						   api_change_done(change), &change->err));
}

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

void api_get_decisions(struct api *api, struct api_request *request)
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
