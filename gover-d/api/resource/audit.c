/* SPDX-License-Identifier: MIT */
/* Route of the audit log: the rows of the history, and those that it does not have yet. */
#include <string.h>

#include "db/db.h"
#include "gover-d/api/fetch.h"
#include "gover-d/api/resource/routes.h"
#include "gover-d/change/change.h"
#include "gover-d/store/save.h"
#include "gover-d/util/json.h"

#define LIMIT_DEFAULT 100
#define LIMIT_MAX     1000

struct audit_fetch {
	struct api_fetch fetch; /* must be the first member */
	int64_t after, limit;
	/*
	 * Only rows below this id are listed: all their changes have ended, so that no row appears
	 * later before a row that a client has read.
	 */
	int64_t end;
	json_t *waiting; /* rows that the history may not have yet */
	size_t next;	 /* index in it of the first one that is not listed */
	json_t *rows;	 /* in the document */
};

static json_t *parse(const char *text)
{
	return text[0] ? json_loadb(text, strlen(text), 0, NULL) : json_null();
}

/* Adds a row to @userdata, a list. */
static int add_row(void *userdata, const void *data)
{
	const struct db_audit *row = data;
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
	json_array_append_new(userdata, o);
	return 0;
}

static int64_t id_of(const json_t *rows, size_t i)
{
	return json_integer_value(json_object_get(json_array_get(rows, i), "id"));
}

/* Adds the waiting rows below @id. */
static void add_waiting(struct audit_fetch *a, int64_t id)
{
	while (a->next < json_array_size(a->waiting) && id_of(a->waiting, a->next) < id)
		(void)json_array_append(a->rows, json_array_get(a->waiting, a->next++));
}

static int add_stored(void *userdata, const void *data)
{
	const struct db_audit *row = data;
	struct audit_fetch *a = userdata;

	add_waiting(a, row->id);
	if (id_of(a->waiting, a->next) == row->id)
		a->next++;
	return add_row(a->rows, row);
}

/* Removes the rows above the limit: the newest ones, or without a cursor the oldest ones. */
static void cut(const struct audit_fetch *a, json_t *rows)
{
	while (json_array_size(rows) > (size_t)a->limit)
		(void)json_array_remove(rows, a->after < 0 ? 0 : (size_t)a->limit);
}

static int read_audit(struct api_fetch *fetch, struct db_reader *reader)
{
	struct audit_fetch *a = (struct audit_fetch *)fetch;
	int64_t last = a->after < 0 ? 0 : a->after;
	int r;

	a->waiting = json_incref(json_object_get(fetch->document, "audit"));
	a->rows = json_array();
	json_encode_add(fetch->document, "audit", a->rows);
	r = db_query_audit(reader, a->after, a->end, (int)a->limit, add_stored, a);
	add_waiting(a, a->end);
	json_decref(a->waiting);
	cut(a, a->rows);
	if (json_array_size(a->rows) > 0)
		last = id_of(a->rows, json_array_size(a->rows) - 1);
	json_encode_add(fetch->document, "next_after", json_integer(last));
	return r;
}

static void get_audit(struct api *api, struct api_request *request)
{
	const struct audit_rows *rows = &api->changes->store->audit;
	int64_t after = -1, limit = LIMIT_DEFAULT;
	struct audit_fetch *a;
	json_t *waiting;

	if (api_query_whole(request, "after", 0, INT64_MAX, &after) < 0 ||
	    api_query_whole(request, "limit", 1, LIMIT_MAX, &limit) < 0)
		return;
	a = api_fetch_new(api, request, "audit", sizeof(*a), read_audit);
	a->after = after;
	a->limit = limit;
	a->end = audit_rows_end_id(rows);
	waiting = json_array();
	audit_rows_list(rows, after, a->end, add_row, waiting);
	cut(a, waiting);
	json_encode_add(a->fetch.document, "audit", waiting);
	api_fetch_submit(api, request, &a->fetch);
}

const struct api_route audit_routes[] = {
	{"GET", "/v1/audit", get_audit, ACCESS_ADMIN, 0, {"after", "limit"}},
	{.method = NULL},
};
