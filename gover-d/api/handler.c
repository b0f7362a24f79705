/* SPDX-License-Identifier: MIT */
/*
 * Functions shared by the handlers: cached answers, lookups, parameters, problem documents and
 * pages of lists. An element that exists during the whole listing appears exactly once.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "base/rfc3339.h"
#include "gover-d/api/handler.h"
#include "gover-d/api/resource.h"
#include "gover-d/util/json.h"

#define LIST_MAX    1000	   /* limit of elements on one page */
#define SECONDS_MAX 253402300799.0 /* the end of the year 9999 */

static const struct {
	unsigned int status;
	const char *title;
} titles[] = {
	{400, "Bad Request"},
	{401, "Unauthorized"},
	{403, "Forbidden"},
	{404, "Not Found"},
	{405, "Method Not Allowed"},
	{409, "Conflict"},
	{410, "Gone"},
	{411, "Length Required"},
	{412, "Precondition Failed"},
	{413, "Content Too Large"},
	{414, "URI Too Long"},
	{415, "Unsupported Media Type"},
	{422, "Unprocessable Content"},
	{429, "Too Many Requests"},
	{431, "Request Header Fields Too Large"},
	{500, "Internal Server Error"},
	{503, "Service Unavailable"},
	{505, "HTTP Version Not Supported"},
	{507, "Insufficient Storage"},
};

static const unsigned int statuses[CONTROL_N_ERRORS] = {
	[CONTROL_E_INVALID] = 422,	[CONTROL_E_NOT_FOUND] = 404,   [CONTROL_E_EXISTS] = 409,
	[CONTROL_E_DOES_NOT_FIT] = 409, [CONTROL_E_TOO_MANY] = 409,    [CONTROL_E_IN_USE] = 409,
	[CONTROL_E_OFFER_OVER] = 409,	[CONTROL_E_OFFER_HELD] = 409,  [CONTROL_E_NOT_LISTED] = 409,
	[CONTROL_E_FOREIGN_CAP] = 409,	[CONTROL_E_UNSUPPORTED] = 409, [CONTROL_E_DRY_RUN] = 409,
	[CONTROL_E_NOT_STORED] = 507,	[CONTROL_E_TOO_LARGE] = 400,   [CONTROL_E_TIMED_OUT] = 503,
	[CONTROL_E_STOPPING] = 503,	[CONTROL_E_NO_ANSWER] = 503,   [CONTROL_E_KEY_USED] = 422,
	[CONTROL_E_GONE] = 410,
};

static const char *title_of(unsigned int status)
{
	for (size_t i = 0; i < ARRAY_SIZE(titles); i++)
		if (titles[i].status == status)
			return titles[i].title;
	return "Error";
}

void problem_reply(struct api_request *request, unsigned int status, const char *format, ...)
{
	json_t *problem = json_object();
	char detail[2 * ERR_MSG_MAX];
	va_list ap;

	va_start(ap, format);
	vsnprintf(detail, sizeof(detail), format, ap);
	va_end(ap);
	json_encode_add(problem, "type", json_string("about:blank"));
	json_encode_add(problem, "title", json_string(title_of(status)));
	json_encode_add(problem, "status", json_integer(status));
	json_encode_add(problem, "detail", json_encode_text(detail));
	json_encode_add(problem, "instance", json_encode_text(request->path));
	api_request_reply_json(request, status, problem);
	request->reply.type = API_TYPE_PROBLEM;
}

void problem_reply_error(struct api_request *request, int r, const struct err *err)
{
	unsigned int status = r > 0 && r < CONTROL_N_ERRORS ? statuses[r] : 500;

	problem_reply(request, status, "%s", err->msg[0] ? err->msg : strerror(abs(r)));
}

struct api_text *api_cached(struct api *api, enum api_cached which, char *(*make)(struct api *api))
{
	struct api_cache *cache = &api->cached[which];
	uint64_t generation = *api->view->generation;

	if (!cache->text || cache->generation != generation || cache->version != api->version) {
		api_text_unref(cache->text);
		*cache = (struct api_cache){
			.text = api_text_new(make(api)),
			.generation = generation,
			.version = api->version,
		};
	}
	return cache->text;
}

static char *make_vgpus(struct api *api)
{
	return json_encode_dump(json_pack(
		"{s:o, s:n}", "vgpus", resource_encode_vgpus(api->view, /* gpu= */ NULL), "next"));
}

struct api_text *api_vgpus_text(struct api *api)
{
	return api_cached(api, API_CACHED_VGPUS, make_vgpus);
}

const struct host_gpu *api_find_gpu(struct api *api, struct api_request *request, const char *name)
{
	const struct host_gpu *gpu = host_view_gpu(api->view->host, name);

	if (!gpu)
		problem_reply(request, 404, "GPU %.100s: not found on this host", name);
	return gpu;
}

const struct vgpu *api_find_vgpu(struct api *api, struct api_request *request, const char *id,
				 const struct host_gpu **ret_gpu)
{
	const struct vgpu *vgpu = host_view_vgpu(api->view->host, id, ret_gpu);

	if (!vgpu)
		problem_reply(request, 404, "vGPU %.100s: not found on this host", id);
	return vgpu;
}

int api_query_whole(struct api_request *request, const char *name, int64_t min, int64_t max,
		    int64_t *value)
{
	const char *text = api_request_query(request, name);
	int r = text ? parse_int(text, min, max, value) : 0;

	if (r < 0)
		problem_reply(request, 400,
			      "%s: %.100s is invalid (allowed: a whole number %lld..%lld)", name,
			      text, (long long)min, (long long)max);
	return r < 0 ? -EINVAL : 0;
}

int api_query_switch(struct api_request *request, const char *name, bool *value)
{
	const char *text = api_request_query(request, name);
	int r = text ? parse_bool(text, value) : 0;

	if (r < 0)
		problem_reply(request, 400, "%s: %.100s is invalid (allowed: true, false)", name,
			      text);
	return r;
}

int api_query_time(struct api_request *request, const char *name, int64_t *time_ms)
{
	const char *text = api_request_query(request, name);

	if (!text || api_time_parse(text, time_ms) == 0)
		return 0;
	problem_reply(request, 400,
		      "%s: %.100s is invalid (allowed: a time such as 2026-11-20T18:49:56Z, or "
		      "seconds since 1970)",
		      name, text);
	return -EINVAL;
}

int api_param_number(struct api_request *request, int64_t *ret_id)
{
	int r = parse_int(request->param, 1, INT64_MAX, ret_id);

	if (r < 0)
		problem_reply(request, 404, "%s: not found (%s is not a number)", request->path,
			      request->param);
	return r < 0 ? -EINVAL : 0;
}

int api_decode(struct api_request *request, const struct json_decode_field *fields,
	       unsigned int required, void *target, unsigned int *ret_bits)
{
	unsigned int all = 0;
	struct err err;
	int r;

	for (const struct json_decode_field *f = fields; f->name; f++)
		all |= f->bit;
	r = json_decode_object(request->object, fields, all, required, target, ret_bits, &err);
	if (r < 0)
		problem_reply(request, 422, "%s", err.msg);
	return r;
}

int api_decode_contract(struct api_request *request, unsigned int allowed, unsigned int required,
			struct contract *contract, unsigned int *ret_fields)
{
	struct err err;
	int r = contract_decode(request->object, allowed, required, contract, ret_fields, &err);

	if (r < 0)
		problem_reply(request, 422, "%s", err.msg);
	return r;
}

int api_time_parse(const char *text, int64_t *ret_wall_ms)
{
	double seconds;

	if (parse_double(text, 0, SECONDS_MAX, &seconds) < 0)
		return rfc3339_parse(text, ret_wall_ms);
	*ret_wall_ms = llround(1000 * seconds);
	return 0;
}

/* --- pages --- */

/* A page to which elements are appended. */
struct page {
	int64_t limit;
	json_t *list;
	bool is_full; /* true: more elements follow this page */
	json_t *next; /* cursor of the next page, if is_full */
};

/*
 * Returns false if the page is full; @next is then the cursor of the next page. Takes over @next.
 */
static bool has_room(struct page *page, json_t *next)
{
	if (page->limit == 0 || (int64_t)json_array_size(page->list) < page->limit) {
		json_decref(next);
		return true;
	}
	page->is_full = true;
	page->next = next;
	return false;
}

static void reply_page(struct api_request *request, const char *key, struct page *page)
{
	api_request_reply_json(request, 200,
			       json_pack("{s:o, s:o}", key, page->list, "next",
					 page->is_full ? page->next : json_null()));
}

static int read_limit(struct api_request *request, struct page *page)
{
	return api_query_whole(request, "limit", 1, LIST_MAX, &page->limit);
}

void api_list_reply_ids(struct api_request *request, const char *key, json_t *list)
{
	struct page page = {.limit = 0};
	int64_t after = 0, last = 0;
	size_t index;
	json_t *element;

	if (read_limit(request, &page) < 0 ||
	    api_query_whole(request, "after", 0, INT64_MAX, &after) < 0) {
		json_decref(list);
		return;
	}
	page.list = json_array();
	json_array_foreach (list, index, element) {
		int64_t id = json_integer_value(json_object_get(element, "id"));

		if (id <= after)
			continue;
		if (!has_room(&page, json_integer(last)))
			break;
		json_array_append_new(page.list, json_incref(element));
		last = id;
	}
	json_decref(list);
	reply_page(request, key, &page);
}

/* A position in the list of all vGPUs, which is sorted by GPU. */
struct place {
	int gpu;	/* index of the GPU */
	const char *id; /* the position is after this vGPU; "": before the first vGPU */
};

/*
 * Parses the parameter "after": "GPU", or "GPU/VGPU" if @takes_vgpu. -EINVAL: the text is invalid;
 * the reply is set.
 */
static int read_place(struct api *api, struct api_request *request, bool takes_vgpu,
		      struct place *ret_place)
{
	const struct host *host = api->view->host;
	const char *text = api_request_query(request, "after");
	size_t length = text ? strcspn(text, takes_vgpu ? "/" : "") : 0;

	*ret_place = (struct place){.gpu = 0, .id = ""};
	if (!text)
		return 0;
	for (int i = 0; i < host->n_gpus; i++) {
		const char *name = host->gpus[i].config.name;

		if (strlen(name) != length || strncmp(name, text, length) != 0)
			continue;
		if (takes_vgpu && (text[length] != '/' || !id_valid(text + length + 1)))
			break;
		*ret_place = (struct place){
			.gpu = i,
			.id = takes_vgpu ? text + length + 1 : "",
		};
		return 0;
	}
	problem_reply(request, 400,
		      "after: %.100s is invalid (allowed: the value of \"next\" in an answer)",
		      text);
	return -EINVAL;
}

void api_list_reply_gpus(struct api *api, struct api_request *request)
{
	const struct host *host = api->view->host;
	struct page page = {.limit = 0};
	struct instant now = clock_now();
	struct place place;
	int first;

	if (read_limit(request, &page) < 0 || read_place(api, request, false, &place) < 0)
		return;
	first = api_request_query(request, "after") ? place.gpu + 1 : 0;
	page.list = json_array();
	for (int i = first; i < host->n_gpus; i++) {
		const char *last = host->gpus[i > 0 ? i - 1 : 0].config.name;

		if (!has_room(&page, json_string(last)))
			break;
		json_array_append_new(page.list,
				      resource_encode_gpu(api->view, &host->gpus[i], now));
	}
	reply_page(request, "gpus", &page);
}

static json_t *cursor(const struct vgpu *vgpu)
{
	return vgpu ? json_sprintf("%s/%s", vgpu->contract.gpu, vgpu->contract.id) : NULL;
}

void api_list_reply_vgpus(struct api *api, struct api_request *request, const struct host_gpu *gpu)
{
	const struct host *host = api->view->host;
	const struct vgpu *last = NULL;
	struct page page = {.limit = 0};
	struct place place;

	if (read_limit(request, &page) < 0 || read_place(api, request, true, &place) < 0)
		return;
	page.list = json_array();
	for (int i = place.gpu; i < host->n_gpus && !page.is_full; i++) {
		const struct host_gpu *g = &host->gpus[i];

		if (gpu && gpu != g)
			continue;
		for (const struct vgpu *v = g->vgpus; v; v = v->next) {
			if (i == place.gpu && place.id[0] &&
			    id_compare(v->contract.id, place.id) <= 0)
				continue;
			if (!has_room(&page, cursor(last)))
				break;
			json_array_append_new(page.list, resource_encode_vgpu(api->view, g, v));
			last = v;
		}
	}
	reply_page(request, "vgpus", &page);
}
