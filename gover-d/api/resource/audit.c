/* SPDX-License-Identifier: MIT */
/* Route of the audit log. */
#include <string.h>

#include "db/db.h"
#include "gover-d/api/fetch.h"
#include "gover-d/api/resource/routes.h"
#include "gover-d/util/json.h"

#define LIMIT_DEFAULT 100
#define LIMIT_MAX     1000

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

static void get_audit(struct api *api, struct api_request *request)
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

const struct api_route audit_routes[] = {
	{"GET", "/v1/audit", get_audit, ACCESS_ADMIN, 0, {"after", "limit"}},
	{.method = NULL},
};
