/* SPDX-License-Identifier: MIT */
/* Routes of the history: measurements of a vGPU, the load of a GPU, and the samples of a GPU. */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "db/db.h"
#include "gover-d/api/fetch.h"
#include "gover-d/api/resource/routes.h"
#include "gover-d/model/host.h"
#include "gover-d/record/encode.h"
#include "gover-d/util/json.h"

#define RANGE_DEFAULT_MS (3600 * 1000)
#define POINTS_DEFAULT	 600
#define STEPS_MAX	 5000  /* points of an answer */
#define STEP_MAX_S	 86400 /* length of a step */

struct steps {
	int64_t from_ms, to_ms, step_s;
};

static int64_t count_points(const struct steps *steps)
{
	int64_t step_ms = steps->step_s * 1000;

	return (steps->to_ms - steps->from_ms + step_ms - 1) / step_ms;
}

/* Selects the smallest step that gives at most POINTS_DEFAULT points. */
static void choose_step(struct steps *steps)
{
	static const int64_t steps_s[] = {1,	2,    5,     10,    15,	   30,
					  60,	120,  300,   600,   900,   1800,
					  3600, 7200, 14400, 21600, 43200, STEP_MAX_S};

	for (size_t i = 0; i < ARRAY_SIZE(steps_s); i++) {
		steps->step_s = steps_s[i];
		if (count_points(steps) <= POINTS_DEFAULT)
			return;
	}
}

/*
 * Reads the query parameters "from", "to" and "step". By default, the range is the last hour, and
 * the step is the shortest one that gives at most POINTS_DEFAULT points. -EINVAL: a parameter is
 * invalid; the reply is set.
 */
static int read_steps(struct api_request *request, struct steps *ret_steps)
{
	if (api_fetch_range(request, RANGE_DEFAULT_MS, &ret_steps->from_ms, &ret_steps->to_ms) < 0)
		return -EINVAL;
	choose_step(ret_steps);
	if (api_query_whole(request, "step", 1, STEP_MAX_S, &ret_steps->step_s) < 0)
		return -EINVAL;
	if (count_points(ret_steps) <= STEPS_MAX)
		return 0;
	problem_reply(request, 400, "step: %lld s gives %lld points (allowed: at most %d)",
		      (long long)ret_steps->step_s, (long long)count_points(ret_steps), STEPS_MAX);
	return -EINVAL;
}

/* Adds the range and the points of an answer. Takes over @points. */
static void add_steps(json_t *o, const struct steps *steps, json_t *points)
{
	json_encode_add(o, "from", json_encode_moment(steps->from_ms));
	json_encode_add(o, "to", json_encode_moment(steps->to_ms));
	json_encode_add(o, "step_s", json_integer(steps->step_s));
	json_encode_add(o, "points", points);
}

/* --- GET /v1/vgpus/{id}/history: the means of steps of equal length --- */

struct history_fetch {
	struct api_fetch fetch; /* must be the first member */
	char vgpu[ID_MAX];
	bool known; /* true: the vGPU exists, so it is no error if the database has no rows of it */
	struct steps range;
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

static int add_vgpu_point(void *userdata, const struct db_point *point)
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
	add_steps(fetch->document, &h->range, h->points);
	json_encode_add(fetch->document, "gaps", h->gaps);
	h->next_ms = (h->range.from_ms + step_ms - 1) / step_ms * step_ms;
	/* STEPS_MAX + 1: an additional point is needed if the first step is partial. */
	r = db_query_history(reader, h->vgpu, h->range.from_ms, h->range.to_ms,
			     (int)h->range.step_s, STEPS_MAX + 1, add_vgpu_point, h);
	if (r == -ENOENT && h->known)
		r = 0;
	if (r == -ENOENT)
		return err_condition(&fetch->err, CONTROL_E_NOT_FOUND,
				     "vGPU %s: not in the history", h->vgpu);
	if (r == 0)
		add_gap(h, h->range.to_ms / step_ms * step_ms);
	return r;
}

static void get_history(struct api *api, struct api_request *request)
{
	const struct host *host = api->view->host;
	const struct host_gpu *gpu;
	struct steps range;
	struct history_fetch *h;

	if (!id_valid(request->param)) {
		problem_reply(request, 404, "vGPU %s: not found", request->param);
		return;
	}
	if (read_steps(request, &range) < 0)
		return;
	h = api_fetch_new(api, request, "history", sizeof(*h), read_points);
	h->range = range;
	for (int i = 0; i < host->n_gpus; i++)
		if (host_gpu_unit(&host->gpus[i], NULL) == GPU_WORK)
			memcpy(h->work[h->n_work++], host->gpus[i].config.name, ID_MAX);
	h->known = host_view_vgpu(host, request->param, &gpu);
	(void)id_copy(h->vgpu, request->param); /* cannot fail: the value was checked above */
	api_fetch_submit(api, request, &h->fetch);
}

/*
 * --- GET /v1/gpus/{name}/load ---
 * The caps and the use of a GPU over time, in steps of equal length. Each point is the sum over the
 * vGPUs of the GPU, because minutes and hours are stored for each vGPU.
 */

/* Sums over the vGPUs of one step. Each value is weighted with the samples of its vGPU. */
struct load_sum {
	double cap, load, load_samples, broken, samples;
	double most;  /* the largest number of samples of a vGPU */
	double ticks; /* counted ticks of the GPU; 0: not stored any more */
};

struct load_fetch {
	struct api_fetch fetch; /* must be the first member */
	char gpu[ID_MAX];
	struct steps range;
	double step_ticks; /* the ticks of a complete step at the present period */
	int64_t first;	   /* number of the first step since 1970 */
	size_t n_sums;
	struct load_sum *sums;
	size_t n_names;
	char (*names)[ID_MAX];
};

static int add_name(void *userdata, const char *id)
{
	struct load_fetch *l = userdata;

	l->names = xreallocarray(l->names, l->n_names + 1, sizeof(*l->names));
	return id_copy(l->names[l->n_names++], id);
}

static int add_gpu_point(void *userdata, const struct db_point *point)
{
	struct load_fetch *l = userdata;
	int64_t at = point->ts_ms / (l->range.step_s * 1000) - l->first;
	double samples = (double)point->samples;
	struct load_sum *sum;

	if (at < 0 || (size_t)at >= l->n_sums)
		return 0;
	sum = &l->sums[at];
	sum->samples += samples;
	sum->most = fmax(sum->most, samples);
	sum->cap += point->cap_pct * samples;
	sum->broken += point->broken_pct * samples;
	if (isfinite(point->load_pct)) {
		sum->load += point->load_pct * samples;
		sum->load_samples += samples;
	}
	return 0;
}

static int add_ticks(void *userdata, int64_t ts_ms, int64_t ticks)
{
	struct load_fetch *l = userdata;
	int64_t at = ts_ms / (l->range.step_s * 1000) - l->first;

	if (at >= 0 && (size_t)at < l->n_sums)
		l->sums[at].ticks = (double)ticks;
	return 0;
}

/*
 * Returns the number of ticks in which at least one vGPU may have existed. A vGPU that existed for
 * a part of the step has fewer samples, and counts for this part. Without a count, several vGPUs
 * may have followed each other until the step was complete.
 */
static double ticks_of(const struct load_fetch *l, const struct load_sum *sum)
{
	if (sum->ticks > 0)
		return fmax(sum->ticks, sum->most);
	return fmax(sum->most, fmin(sum->samples, l->step_ticks));
}

static json_t *encode_sum(const struct load_fetch *l, size_t at)
{
	const struct load_sum *sum = &l->sums[at];
	int64_t step_ms = l->range.step_s * 1000;
	double ticks = ticks_of(l, sum);
	json_t *o = json_object();

	json_encode_add(o, "time", json_encode_moment((l->first + (int64_t)at) * step_ms));
	json_encode_add(o, "sum_cap_pct", json_encode_number(sum->cap / ticks));
	json_encode_add(o, "load_pct",
			json_encode_number(sum->load_samples > 0 ? sum->load / ticks : NAN));
	json_encode_add(o, "broken_pct", json_encode_number(sum->broken / sum->samples));
	json_encode_add(o, "vgpus", json_encode_number(sum->samples / ticks));
	return o;
}

static void add_points(json_t *o, const struct load_fetch *l)
{
	json_t *points = json_array();

	for (size_t i = 0; i < l->n_sums; i++)
		if (l->sums[i].samples > 0)
			json_array_append_new(points, encode_sum(l, i));
	json_encode_add(o, "gpu", json_string(l->gpu));
	add_steps(o, &l->range, points);
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
	if (r == 0)
		r = db_query_ticks(reader, l->gpu, l->range.from_ms, l->range.to_ms,
				   (int)l->range.step_s, add_ticks, l);
	for (size_t i = 0; i < l->n_names && r == 0; i++) {
		r = db_query_history(reader, l->names[i], l->range.from_ms, l->range.to_ms,
				     (int)l->range.step_s, STEPS_MAX + 1, add_gpu_point, l);
		if (r == -ENOENT) /* the file was replaced by a new one */
			r = 0;
	}
	if (r == 0)
		add_points(fetch->document, l);
	free(l->sums);
	free(l->names);
	return r;
}

static void get_gpu_load(struct api *api, struct api_request *request)
{
	const struct host_gpu *gpu = api_find_gpu(api, request, request->param);
	struct steps range;
	struct load_fetch *l;

	if (!gpu || read_steps(request, &range) < 0)
		return;
	l = api_fetch_new(api, request, "history", sizeof(*l), read_load);
	l->range = range;
	l->step_ticks = (double)range.step_s * 1000 / api->view->config->period_ms;
	(void)id_copy(l->gpu, request->param); /* cannot fail: the GPU exists */
	api_fetch_submit(api, request, &l->fetch);
}

/* --- GET /v1/gpus/{name}/history: all samples of a GPU in pages, for replays --- */

/* A page ends after the tick in which it reaches this number of rows. */
#define PAGE_ROWS 5000
/* Samples older than this are certainly in the database: batches are written every five seconds. */
#define NEWEST_MS 10000
#define NAMES_MAX 1024

/* Names of the columns of each row. */
static const char *const columns[] = {
	"time_ms",    "vgpu",	"dt_s", "cap_pct", "initial_cap_pct", "load_pct", "util_pct", "fps",
	"target_fps", "broken", "gap",	"rate",	   "target_rate",
};

struct samples_fetch {
	struct api_fetch fetch; /* must be the first member */
	char gpu[ID_MAX];
	bool work;	      /* the GPU counts units of work, not frames */
	int64_t kept_from_ms; /* samples before this time were removed; 0: none was removed */
	int64_t next_from_ms; /* start of the next page; 0: there is no next page */
	int64_t last_ms;
	size_t n_rows;
	char names[NAMES_MAX][ID_MAX]; /* names of vGPUs; a row contains an index of this array */
	int n_names, last_name;
	json_t *rows;
};

/*
 * Returns the index of @name, which is appended if it is new; -1: too many names. The vGPUs have
 * the same order in each tick, so the search begins after the last returned index.
 */
static int name_index(struct samples_fetch *s, const char *name)
{
	for (int i = 0; i < s->n_names; i++) {
		int at = (s->last_name + 1 + i) % s->n_names;

		if (strcmp(s->names[at], name) == 0)
			return s->last_name = at;
	}
	if (s->n_names == NAMES_MAX)
		return -1;
	memcpy(s->names[s->n_names], name, ID_MAX);
	return s->last_name = s->n_names++;
}

/* A rate and a target are null under the name of the other unit. */
static json_t *encode_if(bool valid, double value)
{
	return json_encode_number(valid ? value : NAN);
}

static json_t *encode_row(int index, const struct db_sample *row, bool work)
{
	const struct sample *s = &row->sample;

	return json_pack("[I, i, o, i, i, o, o, o, o, i, i, o, o]", (json_int_t)row->ts_ms, index,
			 json_encode_number(s->dt_s), row->cap_pct, row->initial_cap_pct,
			 encode_if(s->busy_valid, 100 * s->load),
			 encode_if(s->busy_valid, 100 * s->util),
			 encode_if(!work && s->fps_valid, s->fps),
			 encode_if(!work, row->target_fps), row->broken, row->gap,
			 encode_if(work && s->fps_valid, s->fps), encode_if(work, row->target_fps));
}

/*
 * Appends a sample to the page. Returns 1 if the page is full: the sample is then not appended, and
 * the next page begins with the tick of this sample.
 */
static int take_sample(void *userdata, const void *row)
{
	const struct db_sample *sample = row;
	struct samples_fetch *s = userdata;
	bool is_new_tick = sample->ts_ms != s->last_ms;
	int index;

	if (s->n_rows >= PAGE_ROWS && is_new_tick) {
		s->next_from_ms = sample->ts_ms;
		return 1;
	}
	index = name_index(s, sample->vgpu);
	if (index < 0 && !is_new_tick)
		return -E2BIG; /* this single tick has more than NAMES_MAX vGPUs */
	if (index < 0) {
		s->next_from_ms = sample->ts_ms;
		return 1;
	}
	json_array_append_new(s->rows, encode_row(index, sample, s->work));
	s->last_ms = sample->ts_ms;
	s->n_rows++;
	return 0;
}

static json_t *encode_names(const struct samples_fetch *s)
{
	json_t *list = json_array();

	for (int i = 0; i < s->n_names; i++)
		json_array_append_new(list, json_encode_text(s->names[i]));
	return list;
}

static json_t *encode_columns(void)
{
	json_t *list = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		json_array_append_new(list, json_string(columns[i]));
	return list;
}

static int read_samples(struct api_fetch *fetch, struct db_reader *reader)
{
	struct samples_fetch *s = (struct samples_fetch *)fetch;
	json_t *o = fetch->document;
	int r;

	s->rows = json_array();
	r = db_query_samples(reader, s->gpu, fetch->from_ms, fetch->to_ms, take_sample, s,
			     &s->kept_from_ms);
	json_encode_add(o, "gpu", json_string(s->gpu));
	json_encode_add(o, "from", json_encode_moment(fetch->from_ms));
	json_encode_add(o, "to", json_encode_moment(fetch->to_ms));
	json_encode_add(o, "kept_from", json_encode_time(s->kept_from_ms));
	json_encode_add(o, "next_from", json_encode_time(s->next_from_ms));
	json_encode_add(o, "vgpus", encode_names(s));
	json_encode_add(o, "columns", encode_columns());
	json_encode_add(o, "rows", s->rows);
	return r < 0 ? r : 0;
}

static void get_samples(struct api *api, struct api_request *request)
{
	const struct host_gpu *gpu = api_find_gpu(api, request, request->param);
	struct samples_fetch *s;
	int64_t from_ms, to_ms;

	if (!gpu || api_fetch_range(request, RANGE_DEFAULT_MS, &from_ms, &to_ms) < 0)
		return;
	s = api_fetch_new(api, request, "history", sizeof(*s), read_samples);
	s->fetch.from_ms = from_ms;
	s->fetch.to_ms = to_ms;
	s->fetch.old_only = to_ms <= clock_now().wall_ms - NEWEST_MS;
	s->work = host_gpu_unit(gpu, NULL) == GPU_WORK;
	(void)id_copy(s->gpu, request->param); /* cannot fail: the value was checked above */
	api_fetch_submit(api, request, &s->fetch);
}

const struct api_route history_routes[] = {
	{"GET", "/v1/gpus/{name}/history", get_samples, ACCESS_READ, 0, {"from", "to"}},
	{"GET", "/v1/gpus/{name}/load", get_gpu_load, ACCESS_READ, 0, {"from", "to", "step"}},
	{"GET", "/v1/vgpus/{id}/history", get_history, ACCESS_READ, 0, {"from", "to", "step"}},
	{.method = NULL},
};
