/* SPDX-License-Identifier: MIT */
/* Routes of the host, its GPUs, health and metrics. */
#include <errno.h>
#include <string.h>

#include "base/xalloc.h"
#include "gover-d/api/change.h"
#include "gover-d/api/etag.h"
#include "gover-d/api/resource.h"
#include "gover-d/api/resource/routes.h"
#include "gover-d/auth/tls.h"
#include "gover-d/change/control.h"
#include "gover-d/util/json.h"

static char *make_host(struct api *api)
{
	return json_encode_dump(resource_encode_host(api->view, clock_now()));
}

static void get_host(struct api *api, struct api_request *request)
{
	api_request_reply_shared(request, 200, API_TYPE_JSON,
				 api_cached(api, API_CACHED_HOST, make_host));
}

static char *make_metrics(struct api *api, enum metrics_format format)
{
	const struct tls *tls = authn_tls(api->authn);
	struct metrics_source source = {
		.format = format,
		.decision_counts = api->decision_counts,
		.routes = api->routes,
		.n_routes = api->n_routes,
		.tls_expires_s = tls ? tls_expires_s(tls) : 0,
	};

	return metrics_write(api->view, &source);
}

static char *make_text_metrics(struct api *api)
{
	return make_metrics(api, METRICS_TEXT);
}

static char *make_open_metrics(struct api *api)
{
	return make_metrics(api, METRICS_OPEN);
}

/* The answer is cached for one period, so the request counters may be one period old. */
static void get_metrics(struct api *api, struct api_request *request)
{
	static const struct api_header varies[] = {{"Vary", "Accept"}, {NULL, NULL}};
	const enum metrics_format format = metrics_format_choose(request->accept);
	struct api_text *text = format == METRICS_OPEN
					? api_cached(api, API_CACHED_OPENMETRICS, make_open_metrics)
					: api_cached(api, API_CACHED_METRICS, make_text_metrics);

	api_request_reply_shared(request, 200, metrics_format_type(format), text);
	request->reply.headers = varies;
}

static void get_health(struct api *api, struct api_request *request)
{
	(void)api;
	api_request_reply_text(request, 200, API_TYPE_TEXT, xstrdup("ok\n"));
}

static void get_ready(struct api *api, struct api_request *request)
{
	if (api->view->host->ready)
		api_request_reply_text(request, 200, API_TYPE_TEXT, xstrdup("ready\n"));
	else
		problem_reply(request, 503, "not ready: the first tick is not finished");
}

static void reply_gpu(struct api *api, struct api_request *request)
{
	const struct host_gpu *gpu = api_find_gpu(api, request, request->param);
	char tag[API_ETAG_MAX];

	if (!gpu)
		return;
	api_request_reply_json(request, 200, resource_encode_gpu(api->view, gpu, clock_now()));
	api_etag_of_gpu(gpu, tag);
	api_etag_put(request, tag);
	request->reply.headers = api_no_store;
}

static void get_gpu(struct api *api, struct api_request *request)
{
	reply_gpu(api, request);
	api_etag_apply(request);
}

/* The body of PATCH /v1/gpus/{name}. */
struct gpu_change {
	char mode_word[16], selling_word[16];
	enum gpu_mode mode;
	bool selling;
};

enum { GPU_MODE = 1 << 0, GPU_SELLING = 1 << 1 };

static const struct json_decode_field gpu_fields[] = {
	{"mode", JSON_DECODE_TEXT, 0, 15, offsetof(struct gpu_change, mode_word), GPU_MODE},
	{"selling", JSON_DECODE_TEXT, 0, 15, offsetof(struct gpu_change, selling_word),
	 GPU_SELLING},
	{.name = NULL},
};

/* -EINVAL: the body is invalid; the reply is set. */
static int decode_gpu_change(struct api_request *request, struct gpu_change *change,
			     unsigned int *ret_fields)
{
	if (api_decode(request, gpu_fields, 0, change, ret_fields) < 0)
		return -EINVAL;
	change->selling = strcmp(change->selling_word, "on") == 0;
	if ((*ret_fields & GPU_MODE) && gpu_mode_parse(change->mode_word, &change->mode) < 0)
		problem_reply(request, 422, "mode: %s is invalid (allowed: act, observe, frozen)",
			      change->mode_word);
	else if ((*ret_fields & GPU_SELLING) && !change->selling &&
		 strcmp(change->selling_word, "off") != 0)
		problem_reply(request, 422, "selling: %s is invalid (allowed: on, off)",
			      change->selling_word);
	else
		return 0;
	return -EINVAL;
}

static void patch_gpu(struct api *api, struct api_request *request)
{
	const struct host_gpu *gpu = api_find_gpu(api, request, request->param);
	struct gpu_change wanted = {.mode_word = ""};
	struct api_change *change;
	unsigned int fields = 0;
	char tag[API_ETAG_MAX];

	if (!gpu || decode_gpu_change(request, &wanted, &fields) < 0)
		return;
	api_etag_of_gpu(gpu, tag);
	if (api_etag_check(request, tag) < 0)
		return;
	change = api_change_new(api, request, reply_gpu);
	api_change_begun(change, control_gpu_change(api->changes, request->param,
						    fields & GPU_MODE ? &wanted.mode : NULL,
						    fields & GPU_SELLING ? &wanted.selling : NULL,
						    api_change_done(change), &change->err));
}

const struct api_route host_routes[] = {
	{"GET", "/v1/host", get_host, ACCESS_READ, 0, {NULL}},
	{"GET", "/v1/gpus", api_list_reply_gpus, ACCESS_READ, 0, {"limit", "after"}},
	{"GET", "/v1/gpus/{name}", get_gpu, ACCESS_READ, 0, {NULL}},
	{"PATCH", "/v1/gpus/{name}", patch_gpu, ACCESS_OPERATE, API_OBJECT, {NULL}},
	{"GET", "/healthz", get_health, ACCESS_OPEN, 0, {NULL}},
	{"GET", "/readyz", get_ready, ACCESS_OPEN, 0, {NULL}},
	{"GET", "/metrics", get_metrics, ACCESS_READ, 0, {NULL}},
	{.method = NULL},
};
