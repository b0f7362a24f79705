/* SPDX-License-Identifier: MIT */
/* The life of an offer. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/offer.h"

#define CONTRACT_USED 0.98 /* a load of this part of the contract uses all of it */

static const char *const state_names[OFFER_STATES] = {
	[OFFER_OPEN] = "open",	   [OFFER_PROBATION] = "probation", [OFFER_KEPT] = "kept",
	[OFFER_FAILED] = "failed", [OFFER_EXPIRED] = "expired",	    [OFFER_CLOSED] = "closed",
};

const char *offer_state_name(enum offer_state state)
{
	return state_names[state];
}

int offer_state_parse(const char *name, enum offer_state *ret_state)
{
	for (int i = 0; i < OFFER_STATES; i++) {
		if (strcmp(state_names[i], name) == 0) {
			*ret_state = (enum offer_state)i;
			return 0;
		}
	}
	return -EINVAL;
}

bool offer_is_live(const struct offer_life *life)
{
	return life->state == OFFER_OPEN || life->state == OFFER_PROBATION ||
	       (life->state == OFFER_FAILED && !life->newcomer_gone);
}

bool offer_is_severe(const struct policy_gpu *gpu)
{
	return gpu->conditions & POLICY_SEVERE_OVERLOAD && !gpu->severe_without_newcomer;
}

bool offer_counts_broken(const struct policy_gpu *gpu, const struct policy_vgpu *vgpu)
{
	int ceiling_pct = policy_ceiling_pct(gpu, &vgpu->terms);

	return vgpu->broken && !vgpu->held && vgpu->cap_pct < ceiling_pct &&
	       100 * vgpu->sample.load < CONTRACT_USED * ceiling_pct;
}

void offer_claim(struct offer_life *life, uint64_t probation_ends_ns)
{
	life->state = OFFER_PROBATION;
	life->probation_ends_ns = probation_ends_ns;
}

static bool finish(struct offer_life *life, enum offer_state state, enum offer_end end)
{
	life->state = state;
	life->end = end;
	return true;
}

bool offer_restate(struct offer_life *life, int funded_pct)
{
	return funded_pct < 0 && finish(life, OFFER_CLOSED, OFFER_END_UNFUNDABLE);
}

static double broken_pct(const struct offer_life *life)
{
	return 100 * life->broken_s / life->watched_s;
}

bool offer_update(struct offer_life *life, const struct offer_period *period,
		  const struct offer_limits *limits, uint64_t now_ns)
{
	if (life->state == OFFER_OPEN && now_ns >= life->expires_ns)
		return finish(life, OFFER_EXPIRED, OFFER_END_UNCLAIMED);
	if (life->state != OFFER_PROBATION)
		return false;
	if (period->unserved_ns) {
		life->probation_ends_ns += period->unserved_ns;
		return false;
	}
	life->watched_s += period->watched_s;
	life->broken_s += period->broken_s;
	life->severe_run = period->severe ? life->severe_run + 1 : 0;
	if (life->severe_run >= OFFER_SEVERE_PERIODS)
		return finish(life, OFFER_FAILED, OFFER_END_SEVERE);
	if (now_ns < life->probation_ends_ns || life->watched_s <= 0)
		return false;
	if (broken_pct(life) > limits->broken_pct)
		return finish(life, OFFER_FAILED, OFFER_END_BROKEN);
	return finish(life, OFFER_KEPT, OFFER_END_PASSED);
}

bool offer_remove_newcomer(struct offer_life *life)
{
	life->newcomer_gone = true;
	return life->state == OFFER_PROBATION && finish(life, OFFER_CLOSED, OFFER_END_REMOVED);
}

void offer_explain(const struct offer_life *life, const struct offer_limits *limits,
		   const char *newcomer, char text[OFFER_REASON_MAX])
{
	text[0] = '\0';
	switch (life->end) {
	case OFFER_NOT_ENDED:
		break;
	case OFFER_END_UNCLAIMED:
		snprintf(text, OFFER_REASON_MAX, "not claimed in time");
		break;
	case OFFER_END_UNFUNDABLE:
		snprintf(text, OFFER_REASON_MAX, "less than %d %% of the GPU can be funded now",
			 limits->min_newcomer_pct);
		break;
	case OFFER_END_REMOVED:
		snprintf(text, OFFER_REASON_MAX, "vGPU %s was removed during its probation",
			 newcomer);
		break;
	case OFFER_END_SEVERE:
		snprintf(text, OFFER_REASON_MAX,
			 "severe overload in %d consecutive periods of the probation of vGPU %s",
			 life->severe_run, newcomer);
		break;
	case OFFER_END_BROKEN:
	case OFFER_END_PASSED:
		snprintf(text, OFFER_REASON_MAX,
			 "vGPU %s %s its probation: %.1f %% of all vGPU-seconds were broken "
			 "(limit %.1f %%)",
			 newcomer, life->end == OFFER_END_PASSED ? "passed" : "failed",
			 broken_pct(life), limits->broken_pct);
		break;
	}
}
