/* SPDX-License-Identifier: MIT */
/*
 * Counts revenue and penalties in memory and stores them in the history, once a minute together
 * with the sums of each vGPU.
 */
#include <math.h>
#include <string.h>

#include "db/db.h"
#include "gover-d/config/flavor.h"
#include "gover-d/tick/ledger.h"
#include "gover-d/util/log.h"

/* --- sums --- */

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

static int load(void *userdata, const void *data)
{
	const struct db_tally *row = data;
	struct tick *tick = userdata;
	struct vgpu *v = host_find_vgpu(tick->host, row->vgpu, NULL);

	if (!v || v->contract.created_ms != row->contract_ms)
		return 0; /* an earlier contract */
	if (!is_valid(row)) {
		log_warning("%s: the sums of vGPU %s are invalid; they begin again",
			    tick->recorder->history.path, row->vgpu);
		return 0;
	}
	promise_restore_slow(&v->promise, &tick->settings->config.promise, row->slow_bad_s,
			     row->slow_burns);
	v->tally = (struct vgpu_tally){
		.since_ms = row->since_ms,
		.seen_s = row->seen_s,
		.broken_s = row->broken_s,
		.steals_in = (uint64_t)row->steals_in,
		.steals_out = (uint64_t)row->steals_out,
		.cap_writes = (uint64_t)row->cap_writes,
		.fps_sum_s = row->fps_sum_s,
		.fps_s = row->fps_s,
		.cap_error_pct_s = row->cap_error_pct_s,
		.cap_error_s = row->cap_error_s,
	};
	return 0;
}

void ledger_load_tallies(struct tick *tick)
{
	struct db_reader *reader =
		tick->recorder->history.db ? history_open_reader(&tick->recorder->history) : NULL;

	if (reader && db_query_tallies(reader, load, tick) < 0)
		log_warning("%s: the sums of the vGPUs cannot be read; they begin again",
			    tick->recorder->history.path);
	db_reader_close(reader);
}

static void store(const struct tick *tick, const struct vgpu *v, int64_t now_ms)
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
		.cap_writes = (int64_t)vgpu_cap_writes(v),
		.slow_bad_s = promise_slow_bad_s(&v->promise),
		.slow_burns = burn->slow_burns,
	};

	if (t->since_ms == 0)
		return;
	memcpy(row.vgpu, v->contract.id, sizeof(row.vgpu));
	(void)db_append_tally(tick->recorder->history.db, &row); /* stored again after a minute */
}

void ledger_store_tallies(const struct tick *tick, int64_t now_ms)
{
	for (int i = 0; i < tick->host->n_gpus && tick->recorder->history.db; i++)
		for (const struct vgpu *v = tick->host->gpus[i].vgpus; v; v = v->next)
			store(tick, v, now_ms);
}

void ledger_count_steals(const struct actuate_move *moves, int n)
{
	for (int i = 0; i < n; i++) {
		struct vgpu_tally *tally = &moves[i].vgpu->tally;

		if (moves[i].read_back_pct < 0)
			continue;
		tally->steals_in += moves[i].read_back_pct > moves[i].from_pct;
		tally->steals_out += moves[i].read_back_pct < moves[i].from_pct;
	}
}

#define MINUTE_MS  60000
#define S_PER_HOUR 3600

/* --- storing --- */

void ledger_flush_vgpu(struct tick *tick, struct vgpu *v)
{
	struct ledger_open *open = &v->ledger;
	struct db_ledger row = {
		.ts_ms = tick->host->ledger_ms,
		.sold = open->sold,
		.kept = open->kept,
	};

	if (open->flavor[0] && tick->recorder->history.db) {
		memcpy(row.vgpu, v->contract.id, sizeof(row.vgpu));
		memcpy(row.gpu, v->contract.gpu, sizeof(row.gpu));
		memcpy(row.flavor, open->flavor, sizeof(row.flavor));
		/* db/ counts the row as dropped if its queue is full */
		(void)db_append_ledger(tick->recorder->history.db, &row);
	}
	memset(open, 0, sizeof(*open));
}

static void flush_gpu(struct tick *tick, struct host_gpu *gpu)
{
	struct db_ledger_gpu row = {.ts_ms = tick->host->ledger_ms, .watched_s = gpu->watched_s};

	if (gpu->watched_s > 0 && tick->recorder->history.db) {
		memcpy(row.gpu, gpu->config.name, sizeof(row.gpu));
		(void)db_append_ledger_gpu(tick->recorder->history.db, &row);
	}
	gpu->watched_s = 0;
}

void ledger_flush(struct tick *tick)
{
	for (int i = 0; i < tick->host->n_gpus; i++) {
		flush_gpu(tick, &tick->host->gpus[i]);
		for (struct vgpu *v = tick->host->gpus[i].vgpus; v; v = v->next)
			ledger_flush_vgpu(tick, v);
	}
}

void ledger_store_prices(struct tick *tick)
{
	struct flavor flavor;

	for (int i = 0;
	     tick->recorder->history.db && flavor_at(&tick->settings->config, i, &flavor); i++) {
		struct db_price price = {
			.ts_ms = clock_now().wall_ms,
			.price_per_cap_hour = flavor.price_per_cap_hour,
			.penalty_per_broken_s = flavor.penalty_per_broken_s,
		};

		memcpy(price.flavor, flavor.name, sizeof(price.flavor));
		(void)db_append_price(tick->recorder->history.db, &price);
	}
}

/* --- counting --- */

static void count_sample(const struct tick *tick, const struct host_gpu *gpu, struct vgpu *v,
			 struct instant now)
{
	struct vgpu_tally *t = &v->tally;
	double dt_s = v->row.sample.dt_s;

	if (t->since_ms == 0)
		t->since_ms = now.wall_ms;
	if (v->row.sample.busy_valid) {
		t->seen_s += dt_s;
		if (v->view.broken)
			t->broken_s += dt_s;
		if (v->row.sample.util * 100 > tick->settings->params.overload_pct) {
			double error_pct = v->row.sample.load * 100 - v->sampled_cap_pct;

			/* With guarantees, a load above the cap is not an error. */
			if (error_pct > 0 && gpu->traits.guarantees)
				error_pct = 0;
			t->cap_error_s += dt_s;
			t->cap_error_pct_s += dt_s * fabs(error_pct);
		}
	}
	if (v->row.sample.fps_valid) {
		t->fps_s += dt_s;
		t->fps_sum_s += dt_s * v->row.sample.fps;
	}
}

static bool is_earlier(const struct vgpu *a, const struct vgpu *b)
{
	if (a->contract.created_ms != b->contract.created_ms)
		return a->contract.created_ms < b->contract.created_ms;
	return id_compare(a->contract.id, b->contract.id) < 0;
}

/* Lists the vGPUs that exist, the oldest contract first. */
static int sort_by_age(const struct host_gpu *gpu, struct vgpu *order[POLICY_VGPUS_MAX])
{
	int n = 0;

	for (struct vgpu *v = gpu->vgpus; v && n < POLICY_VGPUS_MAX; v = v->next) {
		int at = n;

		if (!v->device)
			continue;
		for (; at > 0 && is_earlier(v, order[at - 1]); at--)
			order[at] = order[at - 1];
		order[at] = v;
		n++;
	}
	return n;
}

static void earn(struct db_money *money, const struct flavor *flavor, double cap_s)
{
	money->cap_s += cap_s;
	if (flavor->price_per_cap_hour > 0)
		money->revenue += cap_s * flavor->price_per_cap_hour / S_PER_HOUR;
}

static void owe(struct db_money *money, const struct flavor *flavor, double broken_s)
{
	money->broken_s += broken_s;
	if (flavor->penalty_per_broken_s > 0)
		money->penalty += broken_s * flavor->penalty_per_broken_s;
}

/* Counts one vGPU. @fits: the vGPU would also exist on a host without overselling. */
static void count_vgpu(struct tick *tick, struct vgpu *v, bool fits, double dt_s)
{
	const struct flavor *flavor = settings_flavor(tick->settings, v->contract.flavor);
	int sold_pct = v->contract.terms.initial_cap_pct;
	double cap_s = dt_s * sold_pct / 100;
	struct db_money now = {0};

	if (strcmp(v->ledger.flavor, flavor->name) != 0)
		ledger_flush_vgpu(tick, v);
	memcpy(v->ledger.flavor, flavor->name, sizeof(v->ledger.flavor));
	earn(&now, flavor, cap_s);
	if (v->view.broken && v->row.sample.busy_valid)
		owe(&now, flavor, v->row.sample.dt_s);
	tick->host->revenue += now.revenue;
	tick->host->penalty += now.penalty;
	earn(&v->ledger.sold, flavor, cap_s);
	owe(&v->ledger.sold, flavor, now.broken_s);
	if (!fits)
		return;
	earn(&v->ledger.kept, flavor, cap_s);
	if (v->sampled_cap_pct >= sold_pct)
		owe(&v->ledger.kept, flavor, now.broken_s);
}

/* A vGPU without a contract occupies capacity but earns nothing. */
static void count_gpu(struct tick *tick, struct host_gpu *gpu, double dt_s)
{
	struct vgpu *order[POLICY_VGPUS_MAX];
	int n = sort_by_age(gpu, order), left_pct = 100;

	gpu->watched_s += dt_s;
	for (int i = 0; i < n; i++) {
		int sold_pct = order[i]->contract.terms.initial_cap_pct;
		bool fits = sold_pct <= left_pct;

		if (fits)
			left_pct -= sold_pct;
		if (!order[i]->found)
			count_vgpu(tick, order[i], fits, dt_s);
	}
}

void ledger_count_samples(struct tick *tick, struct instant now)
{
	for (int i = 0; i < tick->host->n_gpus; i++)
		for (struct vgpu *v = tick->host->gpus[i].vgpus; v; v = v->next)
			if (v->device)
				count_sample(tick, &tick->host->gpus[i], v, now);
}

void ledger_tick(struct tick *tick, struct instant now)
{
	int64_t minute_ms = now.wall_ms - now.wall_ms % MINUTE_MS;

	if (minute_ms != tick->host->ledger_ms) {
		ledger_flush(tick);
		ledger_store_tallies(tick, now.wall_ms);
	}
	tick->host->ledger_ms = minute_ms;
	for (int i = 0; i < tick->host->n_gpus && tick->host->ready; i++) {
		struct host_gpu *gpu = &tick->host->gpus[i];
		double passed_s = (double)(now.mono_ns - tick->host->ticked.mono_ns) / NS_PER_S;

		count_gpu(tick, gpu, passed_s * gpu_speed(&gpu->config));
	}
}
