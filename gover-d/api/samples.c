/* SPDX-License-Identifier: MIT */
/* GET /v1/gpus/{name}/history: all samples of a GPU in pages, for replays. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "db/db.h"
#include "gover-d/api/fetch.h"
#include "gover-d/api/problem.h"
#include "gover-d/model/host.h"
#include "gover-d/util/json-encode.h"

#define RANGE_DEFAULT_MS (3600 * 1000)
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

/* One of the numbers in frames and in units of work is null. */
static json_t *encode_if(bool valid, double value)
{
	return json_encode_number(valid ? value : NAN);
}

static json_t *encode_row(int index, const struct db_sample *sample, bool work)
{
	return json_pack("[I, i, o, i, i, o, o, o, o, i, i, o, o]", (json_int_t)sample->ts_ms,
			 index, json_encode_number(sample->dt_s), sample->cap_pct,
			 sample->initial_cap_pct, json_encode_number(sample->load_pct),
			 json_encode_number(sample->util_pct), encode_if(!work, sample->fps),
			 encode_if(!work, sample->target_fps), sample->broken, sample->gap,
			 encode_if(work, sample->fps), encode_if(work, sample->target_fps));
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

void api_get_samples(struct api *api, struct api_request *request)
{
	const struct host_gpu *gpu = api_find_gpu(api, request, request->param);
	struct samples_fetch *s;
	int64_t from_ms, to_ms;

	if (!gpu || api_fetch_range(request, RANGE_DEFAULT_MS, &from_ms, &to_ms) < 0)
		return;
	s = api_fetch_new(api, request, "history", sizeof(*s), read_samples);
	if (!s)
		return;
	s->fetch.from_ms = from_ms;
	s->fetch.to_ms = to_ms;
	s->fetch.old_only = to_ms <= clock_now().wall_ms - NEWEST_MS;
	s->work = host_gpu_unit(gpu, NULL) == GPU_WORK;
	(void)id_copy(s->gpu, request->param); /* cannot fail: the value was checked above */
	api_fetch_submit(api, request, &s->fetch);
}
