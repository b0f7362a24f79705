/* SPDX-License-Identifier: MIT */
/*
 * GET /v1/vgpus/{id}/history: measurements of a vGPU, averaged over steps of equal length. By
 * default, the answer has at most 600 points.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "db/db.h"
#include "gover-d/api/fetch.h"
#include "gover-d/api/problem.h"
#include "gover-d/core/encode.h"

struct history_fetch {
	struct api_fetch fetch; /* must be the first member */
	char vgpu[ID_MAX];
	bool known; /* true: the vGPU exists, so it is no error if the database has no rows of it */
	struct api_steps range;
	json_t *points, *gaps; /* in the document */
	/* end of the previous point; if the next point begins later, there is a gap */
	int64_t next_ms;
	/* names of the GPUs that count units of work: the thread of queries cannot see the host */
	char work[GPUS_MAX][ID_MAX];
	int n_work;
};

/* Appends the gap between the last point and @end_ms, if it is not empty. */
static void add_gap(struct history_fetch *h, int64_t end_ms)
{
	if (h->next_ms < end_ms)
		json_array_append_new(h->gaps, json_pack("{s:o, s:o}", "from",
							 json_encode_moment(h->next_ms), "to",
							 json_encode_moment(end_ms)));
}

static void list_work_gpus(const struct host *host, struct history_fetch *h)
{
	for (int i = 0; i < host->n_gpus; i++)
		if (host_gpu_unit(&host->gpus[i], NULL) == GPU_WORK)
			memcpy(h->work[h->n_work++], host->gpus[i].config.name, ID_MAX);
}

static bool counts_work(const struct history_fetch *h, const char *gpu)
{
	for (int i = 0; i < h->n_work; i++)
		if (strcmp(h->work[i], gpu) == 0)
			return true;
	return false;
}

/* Encodes the number of valid samples of each value. */
static json_t *encode_valid(const struct db_point *point, bool work)
{
	int64_t fps_n = point->fps_n, target_n = point->target_fps_n;

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "load_pct",
			 (json_int_t)point->load_n, "util_pct", (json_int_t)point->util_n, "fps",
			 (json_int_t)(work ? 0 : fps_n), "rate", (json_int_t)(work ? fps_n : 0),
			 "target_fps", (json_int_t)(work ? 0 : target_n), "target_rate",
			 (json_int_t)(work ? target_n : 0), "frame_p99_ms",
			 (json_int_t)point->frame_p99_n);
}

static int add_point(void *userdata, const struct db_point *point)
{
	struct history_fetch *h = userdata;
	json_t *o = json_object();
	bool work = counts_work(h, point->gpu);

	add_gap(h, point->ts_ms);
	h->next_ms = point->ts_ms + h->range.step_s * 1000;
	json_encode_add(o, "time", json_encode_moment(point->ts_ms));
	json_encode_add(o, "cap_pct", json_encode_number(point->cap_pct));
	json_encode_add(o, "load_pct", json_encode_number(point->load_pct));
	json_encode_add(o, "util_pct", json_encode_number(point->util_pct));
	encode_add_rate(o, "fps", "rate", work, point->fps);
	encode_add_rate(o, "target_fps", "target_rate", work, point->target_fps);
	json_encode_add(o, "frame_p99_ms", json_encode_number(point->frame_p99_ms));
	json_encode_add(o, "short_pct", json_encode_number(point->short_pct));
	json_encode_add(o, "broken_pct", json_encode_number(point->broken_pct));
	json_encode_add(o, "samples", json_integer(point->samples));
	json_encode_add(o, "late_samples", json_integer(point->gaps));
	json_encode_add(o, "valid", encode_valid(point, work));
	json_array_append_new(h->points, o);
	return 0;
}

static int read_points(struct api_fetch *fetch, struct db_reader *reader)
{
	struct history_fetch *h = (struct history_fetch *)fetch;
	int64_t step_ms = h->range.step_s * 1000;
	int r;

	h->points = json_array();
	h->gaps = json_array();
	json_encode_add(fetch->document, "vgpu", json_string(h->vgpu));
	json_encode_add(fetch->document, "from", json_encode_moment(h->range.from_ms));
	json_encode_add(fetch->document, "to", json_encode_moment(h->range.to_ms));
	json_encode_add(fetch->document, "step_s", json_integer(h->range.step_s));
	json_encode_add(fetch->document, "points", h->points);
	json_encode_add(fetch->document, "gaps", h->gaps);
	h->next_ms = (h->range.from_ms + step_ms - 1) / step_ms * step_ms;
	/* API_STEPS_MAX + 1: an additional point is needed if the first step is partial. */
	r = db_query_history(reader, h->vgpu, h->range.from_ms, h->range.to_ms,
			     (int)h->range.step_s, API_STEPS_MAX + 1, add_point, h);
	if (r == -ENOENT && h->known)
		r = 0;
	if (r == -ENOENT)
		return err_condition(&fetch->err, CONTROL_E_NOT_FOUND,
				     "vGPU %s: not in the history", h->vgpu);
	if (r == 0)
		add_gap(h, h->range.to_ms / step_ms * step_ms);
	return r;
}

void api_get_history(struct api *api, struct api_request *request)
{
	const struct host_gpu *gpu;
	struct api_steps range;
	struct history_fetch *h;

	if (!id_valid(request->param)) {
		problem_reply(request, 404, "vGPU %s: not found", request->param);
		return;
	}
	if (api_steps_read(request, &range) < 0)
		return;
	h = api_fetch_new(api, request, "history", sizeof(*h), read_points);
	if (!h)
		return;
	h->range = range;
	list_work_gpus(api->view->host, h);
	h->known = host_view_vgpu(api->view->host, request->param, &gpu);
	(void)id_copy(h->vgpu, request->param); /* cannot fail: the value was checked above */
	api_fetch_submit(api, request, &h->fetch);
}
