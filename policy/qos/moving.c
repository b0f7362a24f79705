/* SPDX-License-Identifier: MIT */
/* A call begins without a known delay, so the first one is pending for PATIENCE_MAX_S. */
#include <math.h>

#include "base/id.h"
#include "base/number.h"
#include "policy/qos/moving.h"

#define TRUST_AT_FIRST 0.1
#define DELAY_AT_FIRST 10 /* seconds */
#define PATIENCE       3  /* a call is not answered after this multiple of the delay */
#define PATIENCE_MIN_S 60
#define PATIENCE_MAX_S 180
#define NEWEST_WEIGHT  0.3 /* weight of the newest delay in the estimate */
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

static void note_answer(struct policy_moving *moving)
{
	double weight = moving->delay_s > 0 ? NEWEST_WEIGHT : 1;

	moving->delay_s += weight * (moving->waits_s - moving->delay_s);
	moving->nobody = false;
	if (moving->answered < ANSWERED_MAX)
		moving->answered++;
	moving->asked = 0;
}

/* The call stays pending, because a late departure is evidence too. */
static void note_silence(struct policy_moving *moving)
{
	moving->nobody = true;
	moving->answered = 0;
}

static void call(struct policy_moving *moving, uint64_t hash)
{
	if (moving->asked == hash)
		return;
	moving->asked = hash;
	moving->waits_s = 0;
}

void moving_learn(struct policy_gpu *gpu)
{
	struct policy_moving *moving = &gpu->moving;
	uint64_t newcomer = find_newcomer(gpu);

	/* An offer that is live after the probation has failed (offer_is_live()). */
	if (moving->newcomer && !newcomer && gpu->offered && is_present(gpu, moving->newcomer))
		call(moving, moving->newcomer);
	moving->newcomer = newcomer;
	if (!moving->asked)
		return;
	moving->waits_s += gpu->period_s;
	if (!is_present(gpu, moving->asked))
		note_answer(moving);
	else if (moving->waits_s > patience_s(moving))
		note_silence(moving);
}

void moving_call(struct policy_gpu *gpu, int index)
{
	call(&gpu->moving, id_hash(gpu->vgpus[index].id));
}

double moving_trust(const struct policy_gpu *gpu)
{
	if (!gpu->migrates || gpu->moving.nobody)
		return 0;
	return gpu->moving.answered > 0 ? 1 : TRUST_AT_FIRST;
}

double moving_delay_s(const struct policy_gpu *gpu)
{
	return gpu->moving.delay_s > 0 ? gpu->moving.delay_s : DELAY_AT_FIRST;
}

struct moving_estimate moving_save(const struct policy_moving *moving)
{
	return (struct moving_estimate){
		.unanswered = moving->nobody,
		.answered = moving->answered,
		.delay_s = moving->delay_s,
	};
}

void moving_load(struct policy_moving *moving, const struct moving_estimate *estimate)
{
	moving->nobody = estimate->unanswered;
	moving->answered = min_int(max_int(estimate->answered, 0), ANSWERED_MAX);
	moving->delay_s = fmax(0, estimate->delay_s);
}
