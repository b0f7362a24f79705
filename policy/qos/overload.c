/* SPDX-License-Identifier: MIT */
/* Sums independent demands by convolution, in whole percent. */
#include <string.h>

#include "base/number.h"
#include "policy/qos/demand.h"
#include "policy/qos/overload.h"
#include "policy/sort.h"

#define MORE OVERLOAD_PCTS /* index of the element for all totals above 100 % */

static void add(struct overload *overload, const double share[OVERLOAD_PCTS])
{
	struct overload next = {.top = 0};

	for (int a = 0; a <= overload->top; a++) {
		if (overload->share[a] <= 0)
			continue;
		for (int b = 0; b < OVERLOAD_PCTS; b++) {
			int both = a + b < MORE ? a + b : MORE;

			if (share[b] <= 0)
				continue;
			next.share[both] += overload->share[a] * share[b];
			next.top = both > next.top ? both : next.top;
		}
	}
	*overload = next;
}

void overload_demand_of(const struct policy_params *params, const struct policy_gpu *gpu, int index,
			double ret_share[OVERLOAD_PCTS])
{
	const struct policy_vgpu *vgpu = &gpu->vgpus[index];
	int floor_pct = policy_floor_pct(params, gpu, &vgpu->terms);

	if (vgpu->held) {
		memset(ret_share, 0, OVERLOAD_PCTS * sizeof(*ret_share));
		ret_share[vgpu->cap_pct < 100 ? vgpu->cap_pct : 100] = 1;
	} else {
		demand_distribution(vgpu, ret_share);
	}
	for (int i = 0; i < floor_pct; i++) {
		ret_share[floor_pct] += ret_share[i];
		ret_share[i] = 0;
	}
}

void overload_sum_demands(const struct policy_params *params, const struct policy_gpu *gpu,
			  struct overload *ret_overload)
{
	double share[OVERLOAD_PCTS];
	int by_id[POLICY_VGPUS_MAX];

	*ret_overload = (struct overload){.top = min_int(gpu->absent.demand_pct, MORE)};
	ret_overload->share[ret_overload->top] = 1;
	sort_all_by_id(gpu, by_id);
	for (int i = 0; i < gpu->n_vgpus; i++) {
		overload_demand_of(params, gpu, by_id[i], share);
		add(ret_overload, share);
	}
}

double overload_probability(const struct overload *overload, const double share[OVERLOAD_PCTS])
{
	double more = overload->share[MORE], at_most[MORE] = {share[0]};

	for (int i = 1; i < OVERLOAD_PCTS; i++)
		at_most[i] = at_most[i - 1] + share[i];
	for (int sum = 0; sum <= overload->top && sum < MORE; sum++)
		more += overload->share[sum] * (1 - at_most[100 - sum]);
	return more > 1e-12 ? more : 0;
}
