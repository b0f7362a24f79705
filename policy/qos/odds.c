/* SPDX-License-Identifier: MIT */
/* Sums of independent demands, by convolution in whole percent. Must never depend on an order. */
#include <string.h>

#include "policy/qos/demand.h"
#include "policy/qos/odds.h"
#include "policy/order.h"

#define MORE ODDS_WANTS /* the last of a sum: more than there is */

static void add(struct odds *odds, const double share[ODDS_WANTS])
{
	struct odds next = {.top = 0};

	for (int a = 0; a <= odds->top; a++) {
		if (odds->share[a] <= 0)
			continue;
		for (int b = 0; b < ODDS_WANTS; b++) {
			int both = a + b < MORE ? a + b : MORE;

			if (share[b] <= 0)
				continue;
			next.share[both] += odds->share[a] * share[b];
			next.top = both > next.top ? both : next.top;
		}
	}
	*odds = next;
}

void odds_of(const struct policy_params *params, const struct policy_gpu *gpu, int index,
	     double ret_share[ODDS_WANTS])
{
	const struct policy_vgpu *vgpu = &gpu->vgpus[index];
	int floor_pct = policy_floor_pct(params, gpu, &vgpu->terms);

	if (vgpu->held) {
		memset(ret_share, 0, ODDS_WANTS * sizeof(*ret_share));
		ret_share[vgpu->cap_pct < 100 ? vgpu->cap_pct : 100] = 1;
	} else {
		demand_spread(vgpu, !gpu->migrates, ret_share);
	}
	for (int i = 0; i < floor_pct; i++) {
		ret_share[floor_pct] += ret_share[i];
		ret_share[i] = 0;
	}
}

void odds_sum(const struct policy_params *params, const struct policy_gpu *gpu,
	      struct odds *ret_odds)
{
	double share[ODDS_WANTS];
	int by_id[POLICY_VGPUS_MAX];

	*ret_odds = (struct odds){.share = {1}, .top = 0};
	for (int i = 0; i < gpu->n_vgpus; i++)
		by_id[i] = i;
	order_by_id(gpu, by_id, gpu->n_vgpus);
	for (int i = 0; i < gpu->n_vgpus; i++) {
		odds_of(params, gpu, by_id[i], share);
		add(ret_odds, share);
	}
}

double odds_crowded(const struct odds *odds, const double share[ODDS_WANTS])
{
	double crowded = odds->share[MORE], at_most[MORE] = {share[0]};

	for (int i = 1; i < ODDS_WANTS; i++)
		at_most[i] = at_most[i - 1] + share[i];
	for (int sum = 0; sum <= odds->top && sum < MORE; sum++)
		crowded += odds->share[sum] * (1 - at_most[100 - sum]);
	return crowded > 1e-12 ? crowded : 0;
}
