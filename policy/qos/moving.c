/* SPDX-License-Identifier: MIT */
/* The delay is unknown before the first answer. Until then, a naming times out after
 * PATIENCE_MAX_S. */
#include <math.h>

#include "base/id.h"
#include "base/number.h"
#include "policy/qos/moving.h"

#define DOUBT	       0.03 /* weighs as much as this number of namings without an answer */
#define DELAY_AT_FIRST 10   /* seconds */
#define PATIENCE       3    /* a naming times out after this multiple of the delay */
#define PATIENCE_MIN_S 60
#define PATIENCE_MAX_S 180
#define FORGET_S       (2 * PATIENCE_MAX_S) /* a later departure has other causes */
#define NEWEST_WEIGHT  0.3		    /* weight of the newest delay in the estimate */
#define ANSWERED_MAX   1000

static bool is_present(const struct policy_gpu *gpu, uint64_t hash)
{
	for (int i = 0; i < gpu->n_vgpus; i++)
		if (id_hash(gpu->vgpus[i].id) == hash)
			return true;
	return false;
}

static uint64_t find_newcomer(const struct policy_gpu *gpu)
{
	for (int i = 0; i < gpu->n_vgpus; i++)
		if (gpu->vgpus[i].newcomer)
			return id_hash(gpu->vgpus[i].id);
	return 0;
}

static double patience_s(const struct policy_moving *moving)
{
	if (moving->answered == 0)
		return PATIENCE_MAX_S;
	return fmin(fmax(PATIENCE * moving->delay_s, PATIENCE_MIN_S), PATIENCE_MAX_S);
}

/* A departure after the patience shows that vGPUs are migrated, but not that they are migrated in
 * time. */
static void record_answer(struct policy_moving *moving, double waits_s)
{
	double weight = moving->delay_s > 0 ? NEWEST_WEIGHT : 1;

	if (waits_s <= patience_s(moving) && moving->answered < ANSWERED_MAX)
		moving->answered++;
	moving->delay_s += weight * (waits_s - moving->delay_s);
	moving->unanswered = false;
}

static void record_timeout(struct policy_moving *moving)
{
	moving->unanswered = true;
	moving->answered = 0;
}

/* Replaces the oldest naming if all are in use. */
static void name(struct policy_moving *moving, uint64_t hash)
{
	struct policy_naming *slot = &moving->namings[0];

	for (int i = 0; i < POLICY_NAMINGS_MAX; i++) {
		struct policy_naming *naming = &moving->namings[i];

		if (naming->vgpu == hash)
			return;
		if (slot->vgpu && (!naming->vgpu || naming->waits_s > slot->waits_s))
			slot = naming;
	}
	*slot = (struct policy_naming){.vgpu = hash};
}

static void learn_naming(struct policy_gpu *gpu, struct policy_naming *naming)
{
	struct policy_moving *moving = &gpu->moving;
	double before_s = naming->waits_s;

	if (!naming->vgpu)
		return;
	naming->waits_s += gpu->period_s;
	/* An absent vGPU has not left: its contract is still here. */
	if (!is_present(gpu, naming->vgpu) && gpu->absent.n == 0) {
		record_answer(moving, naming->waits_s);
		naming->vgpu = 0;
		return;
	}
	if (before_s <= patience_s(moving) && naming->waits_s > patience_s(moving))
		record_timeout(moving);
	if (naming->waits_s > FORGET_S)
		naming->vgpu = 0;
}

void moving_learn(struct policy_gpu *gpu)
{
	struct policy_moving *moving = &gpu->moving;
	uint64_t newcomer = find_newcomer(gpu);

	if (!gpu->migrates) {
		*moving = (struct policy_moving){.newcomer = newcomer};
		return;
	}
	/* An offer that is live after the probation has failed (offer_is_live()). */
	if (moving->newcomer && !newcomer && gpu->offered && is_present(gpu, moving->newcomer))
		name(moving, moving->newcomer);
	moving->newcomer = newcomer;
	for (int i = 0; i < POLICY_NAMINGS_MAX; i++)
		learn_naming(gpu, &moving->namings[i]);
}

void moving_name(struct policy_gpu *gpu, int index)
{
	if (gpu->migrates)
		name(&gpu->moving, id_hash(gpu->vgpus[index].id));
}

void moving_note_requested(struct policy_gpu *gpu, const char *id)
{
	if (gpu->migrates)
		name(&gpu->moving, id_hash(id));
}

void moving_note_failed(struct policy_gpu *gpu, const char *id)
{
	struct policy_moving *moving = &gpu->moving;

	for (int i = 0; i < POLICY_NAMINGS_MAX; i++) {
		if (moving->namings[i].vgpu == id_hash(id)) {
			moving->namings[i].vgpu = 0;
			record_timeout(moving);
		}
	}
}

bool moving_is_known(const struct policy_gpu *gpu)
{
	return gpu->migrates && !gpu->moving.unanswered && gpu->moving.answered > 0;
}

double moving_trust(const struct policy_gpu *gpu)
{
	if (!moving_is_known(gpu))
		return 0;
	return gpu->moving.answered / (DOUBT + gpu->moving.answered);
}

double moving_delay_s(const struct policy_gpu *gpu)
{
	return gpu->moving.delay_s > 0 ? gpu->moving.delay_s : DELAY_AT_FIRST;
}

struct moving_estimate moving_save(const struct policy_moving *moving)
{
	return (struct moving_estimate){
		.unanswered = moving->unanswered,
		.answered = moving->answered,
		.delay_s = moving->delay_s,
	};
}

void moving_load(struct policy_moving *moving, const struct moving_estimate *estimate)
{
	moving->unanswered = estimate->unanswered;
	moving->answered = min_int(max_int(estimate->answered, 0), ANSWERED_MAX);
	moving->delay_s = fmax(0, estimate->delay_s);
}
