/* SPDX-License-Identifier: MIT */
/*
 * Replies to requests whose change has ended, their audit rows, and idempotency keys in a ring of
 * fixed size. For a request to a resource of the table audited_resources[], the audit row contains
 * the changed members. For any other request, the row contains the request body.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/parse.h"
#include "base/xalloc.h"
#include "db/db.h"
#include "gover-d/alert/alerts.h"
#include "gover-d/api/change.h"
#include "gover-d/api/fetch.h"
#include "gover-d/api/handler.h"
#include "gover-d/api/resource.h"
#include "gover-d/config/config.h"
#include "gover-d/record/encode.h"
#include "gover-d/record/history.h"
#include "gover-d/sale/offers.h"
#include "gover-d/util/json.h"
#include "gover-d/util/log.h"

#define LIMIT_DEFAULT 100
#define LIMIT_MAX     1000

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
	return api_encode_params(api->view->config);
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
	{"/v1/tokens", api_encode_token, {"name", "scope", "expires_at"}},
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

static void keep_row(struct db *db, const struct db_audit *row)
{
	log_notice("%s (%s): %s %s: %d", row->who, row->origin, row->method, row->path,
		   row->status);
	if (!db || db_append_audit(db, row) < 0)
		log_warning("audit row: not stored in the history (before: %s, after: %s)",
			    row->before_json, row->after_json);
	else
		db_commit(db); /* write the row to disk immediately, not at the end of the tick */
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
		keep_row(audit->api->view->history->db, row);
	json_decref(audit->body);
	free(audit);
}

/* --- replies --- */

void api_change_reply_none(struct api *api, struct api_request *request)
{
	(void)api;
	api_request_reply_empty(request, 204);
}

struct api_change *api_change_new(struct api *api, struct api_request *request,
				  api_change_reply reply)
{
	struct api_change *change = xcalloc(1, sizeof(*change));

	change->deferred = api_deferred_begin(request);
	change->api = api;
	change->reply = reply;
	change->audit = api_audit_take(request);
	return change;
}

/* If the client has disconnected, only the audit row is written. */
static void ended(void *userdata, int result, const struct err *err)
{
	struct api_change *change = userdata;
	struct api *api = change->api;
	struct api_request *request = api_deferred_end(change->deferred);

	if (request && result == 0) {
		request->change = change;
		change->reply(api, request);
		request->change = NULL;
	} else if (request) {
		problem_reply_error(request, result, err);
	}
	api_audit_end(change->audit, request ? request->reply.status : 0, result == 0);
	api->version++;
	free(change);
	if (request)
		api_request_answer(request);
	api_resume(api);
}

struct change_done api_change_done(struct api_change *change)
{
	return (struct change_done){
		.call = ended,
		.userdata = change,
		.ret_conflict = &change->conflict,
	};
}

void api_change_begun(struct api_change *change, int result)
{
	if (result == -EBUSY) {
		/* The request begins again later, so this attempt has no audit row. */
		api_audit_end(change->audit, /* status= */ 0, /* changed= */ false);
		api_park(change->api, api_deferred_end(change->deferred), &change->conflict);
		free(change);
	} else if (result != 0) {
		ended(change, result, &change->err);
	}
}

/* --- idempotency keys --- */

struct api_keys {
	struct kept {
		/* name of the caller, space, key of the request; "": unused entry */
		char key[CLAIM_MAX];
		char hash[BODY_HASH_MAX];
		struct api_reply reply; /* holds a reference to the text of the reply */
	} kept[API_KEYS_KEPT];
	size_t n; /* number of keys stored so far; n % API_KEYS_KEPT is the next entry to use */
};

struct api_keys *api_keys_free(struct api_keys *keys)
{
	for (size_t i = 0; keys && i < API_KEYS_KEPT; i++)
		api_text_unref(keys->kept[i].reply.text);
	free(keys);
	return NULL;
}

/* The key is stored with a contract, so its length and characters are limited. */
bool api_keys_valid(const char *key)
{
	size_t n;

	for (n = 0; key[n]; n++)
		if (key[n] <= ' ' || key[n] > '~')
			return false;
	return n > 0 && n < CLAIM_MAX;
}

int api_keys_check(struct api_request *request)
{
	if (!request->idempotency_key || api_keys_valid(request->idempotency_key))
		return 0;
	problem_reply(
		request, 400,
		"Idempotency-Key: invalid (allowed: 1 to 127 printable characters without spaces)");
	return -EINVAL;
}

void api_keys_own(const struct api_request *request, char key[CLAIM_MAX])
{
	_Static_assert(ACCESS_NAME_MAX + 17 <= CLAIM_MAX, "a key has space for a name and a hash");
	const char *given = request->idempotency_key;

	key[0] = '\0';
	if (given && snprintf(key, CLAIM_MAX, "%s %s", request->principal.name, given) >= CLAIM_MAX)
		snprintf(key, CLAIM_MAX, "%s %016" PRIx64, request->principal.name,
			 hash_text(given));
}

void api_keys_hash(const json_t *object, char hash[BODY_HASH_MAX])
{
	CLEANUP_FREE char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);

	snprintf(hash, BODY_HASH_MAX, "%016" PRIx64, hash_text(text));
}

void api_keys_refuse(struct api_request *request)
{
	problem_reply(request, 422, "Idempotency-Key: %s was used for a different request",
		      request->idempotency_key);
}

static struct kept *find(struct api_keys *keys, const char *key)
{
	for (size_t i = 0; keys && i < API_KEYS_KEPT; i++)
		if (strcmp(keys->kept[i].key, key) == 0)
			return &keys->kept[i];
	return NULL;
}

bool api_keys_replay(struct api *api, struct api_request *request, const char *hash)
{
	const struct kept *kept;
	char key[CLAIM_MAX];

	api_keys_own(request, key);
	kept = find(api->keys, key);
	if (!kept)
		return false;
	if (strcmp(kept->hash, hash) != 0) {
		api_keys_refuse(request);
		return true;
	}
	api_request_reply_empty(request, kept->reply.status);
	request->reply = kept->reply;
	api_text_ref(request->reply.text);
	return true;
}

void api_keys_keep(struct api *api, const struct api_request *request, const char *hash)
{
	struct kept *kept;

	if (!request->idempotency_key || !request->reply.text || request->reply.status >= 500)
		return;
	if (!api->keys)
		api->keys = xcalloc(1, sizeof(*api->keys));
	kept = &api->keys->kept[api->keys->n++ % API_KEYS_KEPT];
	api_text_unref(kept->reply.text);
	api_keys_own(request, kept->key);
	snprintf(kept->hash, sizeof(kept->hash), "%s", hash);
	kept->reply = request->reply;
	api_text_ref(kept->reply.text);
}

/* --- GET /v1/audit --- */

struct audit_fetch {
	struct api_fetch fetch; /* must be the first member */
	int64_t after, limit, last;
	json_t *rows; /* in the document */
};

static json_t *parse(const char *text)
{
	return text[0] ? json_loadb(text, strlen(text), 0, NULL) : json_null();
}

static int add_row(void *userdata, const void *data)
{
	const struct db_audit *row = data;
	struct audit_fetch *a = userdata;
	json_t *o = json_object();

	json_encode_add(o, "id", json_integer(row->id));
	json_encode_add(o, "time", json_encode_time(row->ts_ms));
	json_encode_add(o, "who", json_encode_text(row->who));
	json_encode_add(o, "from", json_encode_text(row->origin));
	json_encode_add(o, "method", json_encode_text(row->method));
	json_encode_add(o, "path", json_encode_text(row->path));
	json_encode_add(o, "status", row->status ? json_integer(row->status) : json_null());
	json_encode_add(o, "before", parse(row->before_json));
	json_encode_add(o, "after", parse(row->after_json));
	json_array_append_new(a->rows, o);
	a->last = row->id;
	return 0;
}

static int read_audit(struct api_fetch *fetch, struct db_reader *reader)
{
	struct audit_fetch *a = (struct audit_fetch *)fetch;
	int r;

	a->rows = json_array();
	a->last = a->after < 0 ? 0 : a->after;
	json_encode_add(fetch->document, "audit", a->rows);
	r = db_query_audit(reader, a->after, (int)a->limit, add_row, a);
	json_encode_add(fetch->document, "next_after", json_integer(a->last));
	return r;
}

void api_get_audit(struct api *api, struct api_request *request)
{
	int64_t after = -1, limit = LIMIT_DEFAULT;
	struct audit_fetch *a;

	if (api_query_whole(request, "after", 0, INT64_MAX, &after) < 0 ||
	    api_query_whole(request, "limit", 1, LIMIT_MAX, &limit) < 0)
		return;
	a = api_fetch_new(api, request, "audit", sizeof(*a), read_audit);
	if (!a)
		return;
	a->after = after;
	a->limit = limit;
	api_fetch_submit(api, request, &a->fetch);
}
