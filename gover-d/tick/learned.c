/* SPDX-License-Identifier: MIT */
/*
 * The demand of a sample is its load. It is corrected in two cases, as in policy/qos/demand.c: with
 * a target and a rate, it is the GPU time for the target, and if a cap or another vGPU limited the
 * load, it is the whole contract.
 *
 * Samples are read in parts, the newest part first, so that the time limit cuts off the oldest
 * ones. A slot without any sample of the GPU is left out, because the daemon did not run. A vGPU
 * without a sample in a slot keeps its demand.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/xalloc.h"
#include "db/db.h"
#include "gover-d/store/save.h"
#include "gover-d/tick/learned.h"
#include "gover-d/tick/round.h"
#include "gover-d/util/log.h"
#include "policy/qos/demand.h"
#include "policy/qos/futures.h"

#define READ_MS	     500  /* limit of the time that reading takes, for all GPUs together */
#define PART_SLOTS   64	  /* slots that are read at a time */
#define LIMITED_UTIL 97.0 /* at this use of the cap and above, the demand is unknown */

_Static_assert(POLICY_PAST_SLOTS % PART_SLOTS == 0, "parts cover all slots");

/* The past of one GPU. Slot 0 is the oldest one. */
struct past {
	struct host_gpu *gpu;
	int64_t begin_ms; /* wall clock at the begin of slot 0 */
	double slot_ms;
	int slots_of_sample; /* number of slots that a period covers */
	int n, last;	     /* vGPUs; index of the vGPU of the last sample */
	struct vgpu *vgpus[POLICY_VGPUS_MAX];
	bool sampled[POLICY_PAST_SLOTS];
	/* 1 + largest demand in percent; 0: no sample */
	unsigned char demand[POLICY_VGPUS_MAX][POLICY_PAST_SLOTS];
};

/* --- one sample --- */

static double demand_pct(const struct host_gpu *gpu, const struct policy_vgpu *vgpu,
			 const struct db_sample *row)
{
	const struct sample *sample = &row->sample;
	double contract_pct = policy_terms_ceiling_pct(&vgpu->terms), load_pct = 100 * sample->load;
	bool limited = row->broken;

	if (sample->fps_valid && sample->fps > 0 && vgpu->terms.target_fps > 0)
		return fmin(load_pct * vgpu->terms.target_fps / sample->fps, contract_pct);
	if (!gpu->traits.guarantees)
		limited |= 100 * sample->util >= LIMITED_UTIL && row->cap_pct < contract_pct;
	return limited ? contract_pct : fmin(load_pct, contract_pct);
}

/* Returns what policy/qos/futures.c would have stored for this period. */
static int tolerated_pct(const struct host_gpu *gpu, struct vgpu *v, const struct db_sample *row)
{
	struct policy_vgpu vgpu = {
		.id = v->contract.id,
		.terms = host_terms(gpu, &v->contract),
		.track = &v->policy,
		.sample = row->sample,
	};

	if (v->contract.held)
		return max_int(0, min_int(row->cap_pct, 100));
	return (int)fmax(
		0, fmin(100, ceil(demand_tolerance(&vgpu) * demand_pct(gpu, &vgpu, row) - 1e-6)));
}

/* Samples of one time have the order of the numbers of the vGPUs, so the next vGPU is near. */
static int find_vgpu(struct past *past, const char *id)
{
	for (int i = 0; i < past->n; i++) {
		int at = (past->last + 1 + i) % past->n;

		if (strcmp(past->vgpus[at]->contract.id, id) == 0)
			return past->last = at;
	}
	return -1;
}

static int take_sample(void *userdata, const void *row)
{
	const struct db_sample *sample = row;
	struct past *past = userdata;
	int slot = (int)((double)(sample->ts_ms - past->begin_ms) / past->slot_ms), index, pct;

	if (slot < 0 || slot >= POLICY_PAST_SLOTS)
		return 0;
	past->sampled[slot] = true;
	index = find_vgpu(past, sample->vgpu);
	if (index < 0 || !sample->sample.busy_valid ||
	    sample->ts_ms < past->vgpus[index]->contract.created_ms)
		return 0;
	pct = tolerated_pct(past->gpu, past->vgpus[index], sample);
	for (int i = 0; i < past->slots_of_sample && i <= slot; i++) {
		unsigned char *demand = &past->demand[index][slot - i];

		past->sampled[slot - i] = true;
		*demand = (unsigned char)max_int(*demand, 1 + pct);
	}
	return 0;
}

/* --- one GPU --- */

/* Passes the slots from @first on to the policy. */
static void fill(const struct past *past, int index, int first)
{
	struct policy_vgpu vgpu = {.track = &past->vgpus[index]->policy};
	unsigned char pct[POLICY_PAST_SLOTS];
	int n = 0, demand = 0;

	for (int i = first; i < POLICY_PAST_SLOTS; i++) {
		if (!past->sampled[i])
			continue;
		if (past->demand[index][i])
			demand = past->demand[index][i];
		if (demand)
			pct[n++] = (unsigned char)(demand - 1);
	}
	if (n > 0)
		futures_fill(&past->gpu->view, &vgpu, pct, n);
}

static int64_t begin_of(const struct past *past, int slot)
{
	return past->begin_ms + (int64_t)(slot * past->slot_ms);
}

/* Returns the first slot that was read completely. *@ret_error: 0 or why reading ended. */
static int read_slots(struct db_reader *reader, struct past *past, int *ret_error)
{
	int first = POLICY_PAST_SLOTS;
	int64_t kept_from_ms;

	*ret_error = 0;
	while (first > 0 && *ret_error == 0) {
		*ret_error = db_query_samples(
			reader, past->gpu->config.name, begin_of(past, first - PART_SLOTS),
			begin_of(past, first), take_sample, past, &kept_from_ms);
		if (*ret_error == 0)
			first -= PART_SLOTS;
	}
	return first;
}

static void load_gpu(struct tick *tick, struct db_reader *reader, struct past *past,
		     struct host_gpu *gpu, struct instant now)
{
	double speed = gpu_speed(&gpu->config);
	int first, error;

	memset(past, 0, sizeof(*past));
	past->gpu = gpu;
	past->slot_ms = FUTURES_SLOT_S * 1000 / speed;
	past->begin_ms = now.wall_ms - (int64_t)(POLICY_PAST_SLOTS * past->slot_ms);
	past->slots_of_sample = (int)ceil(round_period_s(tick, gpu) / FUTURES_SLOT_S);
	for (struct vgpu *v = gpu->vgpus; v && past->n < POLICY_VGPUS_MAX; v = v->next)
		past->vgpus[past->n++] = v;
	if (past->n == 0)
		return;
	first = read_slots(reader, past, &error);
	if (error < 0)
		log_warning("GPU %s: %s: past demands could be read for %.0f s only: %s",
			    gpu->config.name, tick->recorder->history.path,
			    (POLICY_PAST_SLOTS - first) * FUTURES_SLOT_S, strerror(-error));
	for (int i = 0; i < past->n; i++)
		fill(past, i, first);
}

void learned_load(struct tick *tick, struct instant now)
{
	bool learns = strcmp(tick->settings->config.policy, "qos") == 0;
	struct db_reader *reader = learns && tick->recorder->history.db
					   ? history_open_reader(&tick->recorder->history)
					   : NULL;
	struct past *past = reader ? xmalloc(sizeof(*past)) : NULL;
	uint64_t begun_ns = clock_now().mono_ns;

	/* Each GPU has an equal part of the time. */
	for (int i = 0; past && i < tick->host->n_gpus; i++) {
		struct db_limit limit = {.end_ns = begun_ns + READ_MS * NS_PER_MS *
								      (uint64_t)(i + 1) /
								      (uint64_t)tick->host->n_gpus};

		db_reader_limit(reader, &limit);
		load_gpu(tick, reader, past, &tick->host->gpus[i], now);
	}
	free(past);
	db_reader_close(reader);
}

/* --- migrations --- */

void learned_load_migrations(struct tick *tick, const struct contracts *contracts)
{
	for (int i = 0; i < contracts->n_gpus; i++) {
		struct host_gpu *gpu = host_find_gpu(tick->host, contracts->gpus[i].name);

		if (!gpu)
			continue;
		moving_load(&gpu->view.moving, &contracts->gpus[i].migrations);
		gpu->migrations_saved = moving_save(&gpu->view.moving);
	}
}

void learned_save(struct tick *tick, struct host_gpu *gpu)
{
	gpu->migrations_saved = moving_save(&gpu->view.moving);
	save_soon(tick->store);
}
