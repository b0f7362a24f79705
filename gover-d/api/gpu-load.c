/* SPDX-License-Identifier: MIT */
/*
 * GET /v1/gpus/{name}/load: the caps and the use of a GPU over time, in steps of equal length. Each
 * point is the sum over the vGPUs of the GPU, because minutes and hours are stored for each vGPU.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "db/db.h"
#include "gover-d/api/fetch.h"
#include "gover-d/api/problem.h"
#include "gover-d/util/json-encode.h"

/* Sums over the vGPUs of one step. Each value is weighted with the samples of its vGPU. */
struct load_sum {
	double cap, load, load_samples, broken, samples;
	double ticks; /* the largest number of samples of a vGPU: the number of ticks of the step */
};

struct name {
	char id[ID_MAX];
};

struct load_fetch {
	struct api_fetch fetch; /* must be the first member */
	char gpu[ID_MAX];
	struct api_steps range;
	int64_t first; /* number of the first step since 1970 */
	size_t n_sums;
	struct load_sum *sums;
	size_t n_names;
	struct name *names;
};

static int add_name(void *userdata, const char *id)
{
	struct load_fetch *l = userdata;

	l->names = xreallocarray(l->names, l->n_names + 1, sizeof(*l->names));
	return id_copy(l->names[l->n_names++].id, id);
}

static int add_point(void *userdata, const struct db_point *point)
{
	struct load_fetch *l = userdata;
	int64_t at = point->ts_ms / (l->range.step_s * 1000) - l->first;
	double samples = (double)point->samples;
	struct load_sum *sum;

	if (at < 0 || (size_t)at >= l->n_sums)
		return 0;
	sum = &l->sums[at];
	sum->samples += samples;
	sum->ticks = fmax(sum->ticks, samples);
	sum->cap += point->cap_pct * samples;
	sum->broken += point->broken_pct * samples;
	if (isfinite(point->load_pct)) {
		sum->load += point->load_pct * samples;
		sum->load_samples += samples;
	}
	return 0;
}

static json_t *encode_sum(const struct load_fetch *l, size_t at)
{
	const struct load_sum *sum = &l->sums[at];
	int64_t step_ms = l->range.step_s * 1000;
	json_t *o = json_object();

	json_encode_add(o, "time", json_encode_moment((l->first + (int64_t)at) * step_ms));
	json_encode_add(o, "sum_cap_pct", json_encode_number(sum->cap / sum->ticks));
	json_encode_add(o, "load_pct",
			json_encode_number(sum->load_samples > 0 ? sum->load / sum->ticks : NAN));
	json_encode_add(o, "broken_pct", json_encode_number(sum->broken / sum->samples));
	json_encode_add(o, "vgpus", json_encode_number(sum->samples / sum->ticks));
	return o;
}

static void add_points(json_t *o, const struct load_fetch *l)
{
	json_t *points = json_array();

	for (size_t i = 0; i < l->n_sums; i++)
		if (l->sums[i].samples > 0)
			json_array_append_new(points, encode_sum(l, i));
	json_encode_add(o, "gpu", json_string(l->gpu));
	json_encode_add(o, "from", json_encode_moment(l->range.from_ms));
	json_encode_add(o, "to", json_encode_moment(l->range.to_ms));
	json_encode_add(o, "step_s", json_integer(l->range.step_s));
	json_encode_add(o, "points", points);
}

static int read_load(struct api_fetch *fetch, struct db_reader *reader)
{
	struct load_fetch *l = (struct load_fetch *)fetch;
	int64_t step_ms = l->range.step_s * 1000;
	int r;

	l->first = l->range.from_ms / step_ms;
	l->n_sums = (size_t)((l->range.to_ms + step_ms - 1) / step_ms - l->first);
	l->sums = xcalloc(l->n_sums, sizeof(*l->sums));
	r = db_query_names(reader, l->gpu, add_name, l);
	for (size_t i = 0; i < l->n_names && r == 0; i++) {
		r = db_query_history(reader, l->names[i].id, l->range.from_ms, l->range.to_ms,
				     (int)l->range.step_s, API_STEPS_MAX + 1, add_point, l);
		if (r == -ENOENT) /* the file was replaced by a new one */
			r = 0;
	}
	if (r == 0)
		add_points(fetch->document, l);
	free(l->sums);
	free(l->names);
	return r;
}

void api_get_gpu_load(struct api *api, struct api_request *request)
{
	const struct host_gpu *gpu = api_find_gpu(api, request, request->param);
	struct api_steps range;
	struct load_fetch *l;

	if (!gpu || api_steps_read(request, &range) < 0)
		return;
	l = api_fetch_new(api, request, "history", sizeof(*l), read_load);
	if (!l)
		return;
	l->range = range;
	(void)id_copy(l->gpu, request->param); /* cannot fail: the GPU exists */
	api_fetch_submit(api, request, &l->fetch);
}
