/* SPDX-License-Identifier: MIT */
/* Stores the sums of each vGPU once a minute, and loads them at the start. */
#include <math.h>
#include <string.h>

#include "db/db.h"
#include "gover-d/core/state.h"
#include "gover-d/core/tallies.h"
#include "gover-d/util/log.h"

static bool is_sum(double value)
{
	return isfinite(value) && value >= 0;
}

/* The file may have been changed by another program: a row with invalid sums is ignored. */
static bool is_valid(const struct db_tally *row)
{
	return row->since_ms > 0 && is_sum(row->seen_s) && is_sum(row->slow_bad_s) &&
	       is_sum(row->broken_s) && is_sum(row->fps_sum_s) && is_sum(row->fps_s) &&
	       is_sum(row->cap_error_pct_s) && is_sum(row->cap_error_s) && row->steals_in >= 0 &&
	       row->steals_out >= 0 && row->cap_writes >= 0;
}

static int load(void *userdata, const struct db_tally *row)
{
	struct manager *m = userdata;
	struct vgpu *v = host_find_vgpu(&m->host, row->vgpu, NULL);

	if (!v || v->contract.created_ms != row->contract_ms)
		return 0; /* an earlier contract */
	if (!is_valid(row)) {
		log_warning("%s: the sums of vGPU %s are invalid; they begin again",
			    m->history.path, row->vgpu);
		return 0;
	}
	promise_restore_slow(&v->promise, &m->config.promise, row->slow_bad_s, row->slow_burns);
	v->tally = (struct vgpu_tally){
		.since_ms = row->since_ms,
		.seen_s = row->seen_s,
		.broken_s = row->broken_s,
		.steals_in = (uint64_t)row->steals_in,
		.steals_out = (uint64_t)row->steals_out,
		.cap_writes = v->tally.cap_writes + (uint64_t)row->cap_writes,
		.fps_sum_s = row->fps_sum_s,
		.fps_s = row->fps_s,
		.cap_error_pct_s = row->cap_error_pct_s,
		.cap_error_s = row->cap_error_s,
	};
	return 0;
}

void tallies_load(struct manager *m)
{
	struct db_reader *reader = m->history.db ? history_open_reader(&m->history) : NULL;

	if (reader && db_query_tallies(reader, load, m) < 0)
		log_warning("%s: the sums of the vGPUs cannot be read; they begin again",
			    m->history.path);
	db_reader_close(reader);
}

static void store(const struct manager *m, const struct vgpu *v, int64_t now_ms)
{
	const struct vgpu_tally *t = &v->tally;
	const struct promise_burn *burn = &v->promise.track.burn[PROMISE_HOST];
	struct db_tally row = {
		.ts_ms = now_ms,
		.contract_ms = v->contract.created_ms,
		.since_ms = t->since_ms,
		.seen_s = t->seen_s,
		.broken_s = t->broken_s,
		.fps_sum_s = t->fps_sum_s,
		.fps_s = t->fps_s,
		.cap_error_pct_s = t->cap_error_pct_s,
		.cap_error_s = t->cap_error_s,
		.steals_in = (int64_t)t->steals_in,
		.steals_out = (int64_t)t->steals_out,
		.cap_writes = (int64_t)t->cap_writes,
		.slow_bad_s = promise_slow_bad_s(&v->promise),
		.slow_burns = burn->slow_burns,
	};

	if (t->since_ms == 0)
		return;
	memcpy(row.vgpu, v->contract.id, sizeof(row.vgpu));
	(void)db_append_tally(m->history.db, &row); /* stored again after a minute */
}

void tallies_store(const struct manager *m, int64_t now_ms)
{
	for (int i = 0; i < m->host.n_gpus && m->history.db; i++)
		for (const struct vgpu *v = m->host.gpus[i].vgpus; v; v = v->next)
			store(m, v, now_ms);
}
