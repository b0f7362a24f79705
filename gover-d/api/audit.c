/* SPDX-License-Identifier: MIT */
/*
 * Audit rows. For a request to a resource of the table audited_resources[], the row contains the
 * changed members. For any other request, the row contains the request body.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "base/xalloc.h"
#include "db/db.h"
#include "gover-d/alert/alerts.h"
#include "gover-d/api/audit.h"
#include "gover-d/api/resource.h"
#include "gover-d/change/change.h"
#include "gover-d/config/config.h"
#include "gover-d/record/encode.h"
#include "gover-d/sale/offers.h"
#include "gover-d/store/save.h"
#include "gover-d/util/log.h"

/* --- audited resources --- */

static json_t *snapshot_vgpu(struct api *api, const char *id)
{
	const struct host_gpu *gpu;
	const struct vgpu *vgpu = host_view_vgpu(api->view->host, id, &gpu);

	return vgpu ? resource_encode_vgpu(api->view, gpu, vgpu) : NULL;
}

static json_t *snapshot_gpu(struct api *api, const char *name)
{
	const struct host_gpu *gpu = host_view_gpu(api->view->host, name);

	return gpu ? resource_encode_gpu(api->view, gpu, clock_now()) : NULL;
}

static json_t *snapshot_alert(struct api *api, const char *text)
{
	const struct alert *alert = NULL;
	int64_t id;

	if (parse_int(text, 1, INT64_MAX, &id) == 0)
		alert = alerts_find(api->view->alerts, id);
	return alert ? encode_alert(alert, api->view->config->runbook_url) : NULL;
}

static json_t *snapshot_offer(struct api *api, const char *text)
{
	const struct offer *offer = NULL;
	int64_t id;

	if (parse_int(text, 1, INT64_MAX, &id) == 0)
		offer = offers_view(api->view->offers, id);
	return offer ? encode_offer(offer, clock_now()) : NULL;
}

static json_t *snapshot_policy(struct api *api, const char *unused)
{
	(void)unused;
	return resource_encode_params(api->view->config);
}

static json_t *snapshot_token(struct api *api, const char *name)
{
	const struct token *token = tokens_named(authn_tokens(api->authn), name);

	return token ? resource_encode_token(token, NULL) : NULL;
}

static const struct audited {
	const char *path; /* all paths of the resource begin with this text */
	json_t *(*encode)(struct api *api, const char *id);
	/*
	 * Members that are compared before and after a request. An empty list means all members.
	 * For a vGPU, the fields of its contract are compared too.
	 */
	const char *members[4];
} audited_resources[] = {
	{"/v1/vgpus", snapshot_vgpu, {"cap_pct"}},
	{"/v1/gpus", snapshot_gpu, {"mode", "selling"}},
	{"/v1/alerts", snapshot_alert, {"acked_at"}},
	{"/v1/offers", snapshot_offer, {"state", "vgpu", "held_by", "held_until"}},
	{"/v1/policy", snapshot_policy, {NULL}},
	{"/v1/tokens", snapshot_token, {"name", "scope", "expires_at"}},
};

static const struct audited *find_audited(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(audited_resources); i++) {
		size_t n = strlen(audited_resources[i].path);

		if (strncmp(path, audited_resources[i].path, n) == 0 &&
		    (path[n] == '\0' || path[n] == '/'))
			return &audited_resources[i];
	}
	return NULL;
}

/* Returns the id from the path or, for a new resource, from the body; NULL: there is no id. */
static const char *id_of(const struct api_request *request)
{
	const char *id;

	if (request->param[0])
		return request->param;
	id = json_string_value(json_object_get(request->object, "id"));
	return id ? id : json_string_value(json_object_get(request->object, "name"));
}

/* Returns the current state of the resource; NULL: the resource does not exist. */
static json_t *look(struct api *api, const struct audited *audited, const char *id)
{
	json_t *whole = audited->encode(api, id), *picked;
	const struct contract_field *field;

	if (!whole || !audited->members[0])
		return whole;
	picked = json_object();
	for (size_t i = 0; audited->encode == snapshot_vgpu && (field = contract_field_at(i)); i++)
		if (field->uses & CONTRACT_IN_ANSWER)
			(void)json_object_set(picked, field->name,
					      json_object_get(whole, field->name));
	for (size_t i = 0; i < ARRAY_SIZE(audited->members) && audited->members[i]; i++)
		(void)json_object_set(picked, audited->members[i],
				      json_object_get(whole, audited->members[i]));
	json_decref(whole);
	return picked;
}

/* --- differences --- */

static void drop_equal(json_t *before, json_t *after)
{
	const char *key;
	json_t *value;
	void *next;

	json_object_foreach_safe(before, next, key, value)
	{
		if (!json_equal(value, json_object_get(after, key)))
			continue;
		(void)json_object_del(after, key);
		(void)json_object_del(before, key);
	}
}

/* Encodes @object into @text. Until the text fits, replaces the longest member by "...". */
static void write_text(json_t *object, char *text, size_t size)
{
	const char *key, *longest;
	json_t *value;
	size_t length;

	text[0] = '\0';
	while (object && (length = json_dumpb(object, text, size, JSON_COMPACT)) >= size) {
		size_t most = sizeof("\"...\"");

		longest = NULL;
		json_object_foreach (object, key, value) {
			size_t n = json_dumpb(value, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY);

			if (n > most) {
				most = n;
				longest = key;
			}
		}
		if (!longest) {
			strcpy(text, "{}");
			return;
		}
		(void)json_object_set_new(object, longest, json_string("..."));
	}
	if (object)
		text[length] = '\0';
}

void api_audit_differ(json_t *before, json_t *after, char *ret_before, char *ret_after, size_t size)
{
	if (before && after)
		drop_equal(before, after);
	write_text(before, ret_before, size);
	write_text(after, ret_after, size);
	json_decref(before);
	json_decref(after);
}

/* --- rows --- */

struct api_audit {
	struct api *api;
	/* audited resource of the request; NULL: none, so the row contains the request body */
	const struct audited *audited;
	char id[API_PARAM_MAX];
	json_t *before, *body;
	struct db_audit row;
};

/* The row of an accepted change is already in the list. */
static void end_row(struct api_audit *audit)
{
	struct store *store = audit->api->changes->store;
	struct db_audit *row = &audit->row;

	log_notice("%s (%s): %s %s: %d", row->who, row->origin, row->method, row->path,
		   row->status);
	/* Rows without a change leave half of the list to changes. */
	if (row->id == 0 && store->audit.n < AUDIT_ROWS_MAX / 2)
		audit_rows_add(&store->audit, row);
	if (row->id == 0)
		log_warning("audit row: not stored in the history (before: %s, after: %s)",
			    row->before_json, row->after_json);
	else
		audit_rows_end(&store->audit, row, store->recorder->history.db);
}

void api_audit_begin(struct api *api, struct api_request *request)
{
	struct api_audit *audit = xcalloc(1, sizeof(*audit));
	const char *id = id_of(request);

	audit->api = api;
	audit->audited = find_audited(request->path);
	snprintf(audit->id, sizeof(audit->id), "%s", id ? id : "");
	if (audit->audited)
		audit->before = look(api, audit->audited, audit->id);
	audit->row.ts_ms = clock_now().wall_ms;
	memcpy(audit->row.who, request->principal.name, sizeof(request->principal.name));
	memcpy(audit->row.origin, request->principal.from, sizeof(request->principal.from));
	snprintf(audit->row.method, sizeof(audit->row.method), "%s", request->method);
	snprintf(audit->row.path, sizeof(audit->row.path), "%s", request->path);
	audit->body = json_incref(request->object);
	request->audit = audit;
}

struct api_audit *api_audit_take(struct api_request *request)
{
	struct api_audit *audit = request->audit;

	request->audit = NULL;
	return audit;
}

/* Returns a copy of the members of @object that @body contains; without a body, of all members. */
static json_t *copy_members(json_t *object, json_t *body)
{
	const char *name;
	json_t *copy, *value;

	if (!object || !body)
		return json_copy(object); /* NULL for NULL */
	copy = json_object();
	json_object_foreach (body, name, value) {
		json_t *member = json_object_get(object, name);

		if (member)
			json_object_set(copy, name, member);
	}
	return copy;
}

struct db_audit *api_audit_plan(struct api_audit *audit)
{
	json_t *before, *after;

	if (!audit)
		return NULL;
	before = copy_members(audit->before, audit->body);
	after = json_copy(audit->body);
	write_text(before, audit->row.before_json, sizeof(audit->row.before_json));
	write_text(after, audit->row.after_json, sizeof(audit->row.after_json));
	json_decref(before);
	json_decref(after);
	return &audit->row;
}

/* Returns the state after the request: of the resource, or else the body of the request. */
static json_t *state_after(struct api_audit *audit, bool changed)
{
	if (!changed)
		return json_copy(audit->before);
	return audit->audited ? look(audit->api, audit->audited, audit->id)
			      : json_incref(audit->body);
}

void api_audit_end(struct api_audit *audit, unsigned int status, bool changed)
{
	struct db_audit *row;

	if (!audit)
		return;
	row = &audit->row;
	row->status = (int)status;
	api_audit_differ(audit->before, state_after(audit, changed), row->before_json,
			 row->after_json, sizeof(row->before_json));
	if (changed || status == 507)
		end_row(audit);
	else if (row->id > 0)
		audit_rows_remove(&audit->api->changes->store->audit, row->id);
	json_decref(audit->body);
	free(audit);
}
