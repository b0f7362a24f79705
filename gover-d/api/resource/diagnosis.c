/* SPDX-License-Identifier: MIT */
/*
 * Route of the diagnosis of a vGPU. A vGPU that exists is answered from memory. For a vGPU that was
 * removed, the last decision about it is read from memory or from the history.
 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "gover-d/alert/alerts.h"
#include "gover-d/api/fetch.h"
#include "gover-d/api/resource/routes.h"
#include "gover-d/config/config.h"
#include "gover-d/diagnosis/diagnosis.h"
#include "gover-d/manager/view.h"
#include "gover-d/model/decisions.h"
#include "gover-d/model/error.h"
#include "gover-d/record/encode.h"
#include "gover-d/util/json.h"

#define WANTS_MAX 16 /* number of demands in an answer, the largest first */

static const struct alert *find_alert(const struct view *view, const char *vgpu)
{
	for (size_t i = alerts_count(view->alerts); i-- > 0;) {
		const struct alert *alert = alerts_at(view->alerts, i);

		if (alert->kind == ALERT_PROMISE_BROKEN && !alert->cleared_ms &&
		    strcmp(alert->vgpu, vgpu) == 0)
			return alert;
	}
	return NULL;
}

static json_t *encode_wants(const struct host_gpu *gpu)
{
	const struct vgpu *v = NULL;
	json_t *list = json_array();

	for (int i = 0; i < WANTS_MAX && (v = diagnosis_next_want(gpu, v)); i++)
		json_array_append_new(list,
				      json_pack("{s:s, s:o}", "vgpu", v->contract.id, "wanted_pct",
						json_encode_number(v->promise.track.want_pct)));
	return list;
}

/* The other numbers are of the last tick: a cap that changed since then belongs to none of them. */
static int shown_cap_pct(const struct vgpu *v)
{
	return v->diagnosis.text[0] ? v->sampled_cap_pct : v->cap.pct;
}

/* Adds the means of the last seconds. */
static void add_numbers(json_t *o, const struct host_gpu *gpu, const struct vgpu *v)
{
	const struct policy_terms terms = host_terms(gpu, &v->contract);
	const struct promise_track *t = &v->promise.track;
	bool seen = v->device && t->seen;

	encode_add_rate(o, "fps", "rate", terms.counts_work,
			v->device && t->rate_seen ? t->rate : NAN);
	encode_add_rate(o, "target_fps", "target_rate", terms.counts_work, terms.target_fps);
	json_encode_add(o, "cap_pct", v->device ? json_integer(shown_cap_pct(v)) : json_null());
	json_encode_add(o, "initial_cap_pct", json_integer(terms.initial_cap_pct));
	json_encode_add(o, "load_pct", json_encode_number(seen ? t->load_pct : NAN));
	json_encode_add(o, "wanted_pct", json_encode_number(seen ? t->want_pct : NAN));
	json_encode_add(o, "gpu_wanted_pct", json_encode_number(gpu->promise.wanted_pct));
	json_encode_add(o, "wants", encode_wants(gpu));
	json_encode_add(o, "broken_fast_pct", json_encode_number(promise_fast_pct(&v->promise)));
	json_encode_add(o, "broken_slow_pct", json_encode_number(promise_slow_pct(&v->promise)));
}

static void add_alert(json_t *o, const struct view *view, const struct alert *alert)
{
	char url[ALERT_URL_MAX] = "";

	if (alert)
		alert_runbook_url(alert, view->config->runbook_url, url);
	json_encode_add(o, "severity",
			alert ? json_string(alert_severity_name(alert->severity)) : json_null());
	json_encode_add(o, "alert_id", alert ? json_integer(alert->id) : json_null());
	json_encode_add(o, "runbook_url", json_encode_name(url));
}

/*
 * Returns the newest decision in memory whose subject is @vgpu; NULL: none. @kind: only decisions
 * of this kind; DECISION_KINDS: of all kinds.
 */
static const struct decision *last_decision(const struct decisions *decisions, const char *vgpu,
					    enum decision_kind kind)
{
	const struct decision *last = NULL, *d = decisions_after(decisions, 0);

	for (; d; d = decisions_after(decisions, d->id))
		if ((kind == DECISION_KINDS || d->kind == kind) && strcmp(d->vgpu, vgpu) == 0)
			last = d;
	return last;
}

static json_t *encode_migration(const struct decisions *decisions, const char *vgpu)
{
	const struct decision *last = last_decision(decisions, vgpu, DECISION_MIGRATION);

	return last ? json_pack("{s:o, s:o}", "time", json_encode_time(last->ts_ms), "text",
				json_encode_text(last->why))
		    : json_null();
}

static json_t *encode_diagnosis(const struct view *view, const struct host_gpu *gpu,
				const struct vgpu *v)
{
	struct diagnosis d = v->diagnosis;
	const char *name;
	json_t *o = json_object();

	if (!d.text[0]) /* it is missing, or no tick has explained it yet */
		diagnose(view->config, gpu, v, &d);
	name = promise_cause_name(d.cause);
	json_encode_add(o, "vgpu", json_string(v->contract.id));
	json_encode_add(o, "gpu", json_string(gpu->config.name));
	json_encode_add(o, "vm", json_encode_name(v->contract.vm));
	json_encode_add(o, "instance",
			json_encode_name(contract_label(&v->contract, CONTRACT_INSTANCE)));
	json_encode_add(o, "project",
			json_encode_name(contract_label(&v->contract, CONTRACT_PROJECT)));
	json_encode_add(o, "time", json_encode_time(view->host->ticked.wall_ms));
	json_encode_add(o, "state", json_string(diagnosis_state_name(v)));
	json_encode_add(o, "cause", name ? json_string(name) : json_null());
	json_encode_add(o, "text", json_encode_text(d.text));
	json_encode_add(o, "fix", json_encode_name(d.fix));
	json_encode_add(o, "command", json_encode_name(d.command));
	json_encode_add(o, "since", json_encode_time(v->broken_since_ms));
	json_encode_add(o, "migration", encode_migration(view->decisions, v->contract.id));
	add_numbers(o, gpu, v);
	add_alert(o, view, find_alert(view, v->contract.id));
	return o;
}

/* --- removed vGPUs --- */

/* Adds the answer for a removed vGPU. @why: the last decision about it. */
static void add_removed(json_t *o, const char *vgpu, const char *gpu, int64_t ts_ms,
			const char *why)
{
	json_t *unknown = json_pack("{s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n, "
				    "s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n}",
				    "vm", "instance", "project", "cause", "fix", "command", "since",
				    "migration", "fps", "rate", "target_fps", "target_rate",
				    "cap_pct", "initial_cap_pct", "load_pct", "wanted_pct",
				    "gpu_wanted_pct", "broken_fast_pct", "broken_slow_pct",
				    "severity", "alert_id", "runbook_url");
	char at[CLOCK_TEXT_MAX], text[DECISION_WHY_MAX + DIAGNOSIS_TEXT_MAX] = "";

	clock_format(ts_ms, at);
	text_append(text, sizeof(text),
		    "%s does not exist any more; the last record of it is of %s: %s", vgpu, at,
		    why);
	json_encode_add(o, "vgpu", json_string(vgpu));
	json_encode_add(o, "gpu", json_encode_name(gpu));
	json_encode_add(o, "time", json_encode_time(ts_ms));
	json_encode_add(o, "state", json_string("removed"));
	json_encode_add(o, "text", json_encode_text(text));
	json_encode_add(o, "wants", json_array());
	(void)json_object_update(o, unknown);
	json_decref(unknown);
}

struct removed_fetch {
	struct api_fetch fetch; /* must be the first member */
	char vgpu[ID_MAX];
	struct db_decision last; /* the newest decision about @vgpu; id 0: none */
};

static int take_decision(void *userdata, const void *data)
{
	const struct db_decision *row = data;

	((struct removed_fetch *)userdata)->last = *row;
	return 0;
}

static int read_removed(struct api_fetch *fetch, struct db_reader *reader)
{
	struct removed_fetch *f = (struct removed_fetch *)fetch;
	int r = db_query_decisions_of(reader, f->vgpu, 1, take_decision, f);

	if (r == 0 && f->last.id == 0)
		return err_condition(&fetch->err, CONTROL_E_NOT_FOUND, "vGPU %s: not found",
				     f->vgpu);
	if (r == 0)
		add_removed(fetch->document, f->vgpu, f->last.gpu, f->last.ts_ms, f->last.why);
	return r;
}

static void reply_removed(struct api *api, struct api_request *request)
{
	const char *vgpu = request->param;
	const struct decision *last = last_decision(api->view->decisions, vgpu, DECISION_KINDS);
	struct removed_fetch *f;

	if (last) {
		json_t *o = json_object();

		add_removed(o, vgpu, last->gpu, last->ts_ms, last->why);
		api_request_reply_json(request, 200, o);
		return;
	}
	if (!id_valid(vgpu)) {
		problem_reply(request, 404, "vGPU %s: not found", vgpu);
		return;
	}
	f = api_fetch_new(api, request, "decisions", sizeof(*f), read_removed);
	(void)id_copy(f->vgpu, vgpu); /* cannot fail: the id was checked above */
	api_fetch_submit(api, request, &f->fetch);
}

static void get_diagnosis(struct api *api, struct api_request *request)
{
	const struct host_gpu *gpu;
	const struct vgpu *vgpu = host_view_vgpu(api->view->host, request->param, &gpu);

	if (vgpu)
		api_request_reply_json(request, 200, encode_diagnosis(api->view, gpu, vgpu));
	else
		reply_removed(api, request);
}

const struct api_route diagnosis_routes[] = {
	{"GET", "/v1/vgpus/{id}/diagnosis", get_diagnosis, ACCESS_READ, 0, {NULL}},
	{.method = NULL},
};
