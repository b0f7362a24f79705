/* SPDX-License-Identifier: MIT */
/*
 * The account of a run. Broken time is defined in design.md, section 2. For a vGPU with frames, a
 * period is broken if the vGPU is GPU-bound and its frame rate is below the target by more than 2 %
 * and 1.5 frames per second. For a vGPU without frames, a period is broken if less than 98 % of
 * min(demand, contract) is served. Work queued in earlier periods is not part of this demand.
 *
 * The shortfall of a period is max(0, 1 - served / promised), without a tolerance. Work that is
 * served after its period remains a shortfall of that period. A vGPU with frames that is not
 * GPU-bound has no shortfall: its guest is the limit. With guarantees, a vGPU below its ceiling has
 * no work while the GPU idles, so it is not GPU-bound if the GPU idles for more than 30 % of the
 * period.
 *
 * Fairness compares a run with an ideal: in each period, the GPU is divided in proportion to
 * contract times weight. No vGPU gets more than min(demand, contract). The remaining capacity is
 * divided again among the other vGPUs. For each vGPU, T is the demand served in the whole run, and
 * O is the sum of the ideal shares.
 *
 * FairGV (TPDS 2017) defines MMR = min(T/O) / max(T/O). VMCG (TPDS 2018) defines lambda as the sum
 * of |w - w'| over all vGPUs, where w' = T / (sum of all T) and w = O / (sum of all O).
 */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "sim/experiment/account.h"

/* the default of qos_gpu_bound_pct, but used for all policies */
#define GPU_BOUND    0.70
#define TARGET_SHARE 0.02
#define TARGET_FPS   1.5
#define SERVED_SHARE 0.98
#define SECONDS_HOUR 3600.0
#define ROUNDING     1e-9

static const struct {
	double below; /* upper limit of the shortfall in this range */
	const char *name;
} depths[ACCOUNT_DEPTHS] = {
	{0.05, "under_5_pct"},	     {0.10, "from_5_to_10_pct"}, {0.20, "from_10_to_20_pct"},
	{0.50, "from_20_to_50_pct"}, {INFINITY, "over_50_pct"},
};

const char *account_depth_name(int depth)
{
	return depths[depth].name;
}

void account_init(struct account *account, double seconds)
{
	*account = (struct account){.from_final_s = 0.9 * seconds, .vgpus_start = -1};
}

static double owed(const struct account_sample *s)
{
	return fmin(s->demand, s->contract_pct / 100.0);
}

static bool is_gpu_bound(const struct account_sample *s, double gpu_util)
{
	if (s->util < GPU_BOUND)
		return false;
	return s->ceiling_pct == 0 || gpu_util >= GPU_BOUND ||
	       s->load >= GPU_BOUND * s->ceiling_pct / 100.0;
}

static void judge(struct account_sample *s, double gpu_util)
{
	double promised = s->target_fps, given = s->fps;

	if (s->target_fps > 0 && s->makes_frames) {
		if (!is_gpu_bound(s, gpu_util))
			given = promised;
		s->broken = promised - given > fmax(TARGET_SHARE * promised, TARGET_FPS);
	} else {
		promised = owed(s);
		given = s->load;
		s->broken = given < SERVED_SHARE * promised - ROUNDING;
	}
	s->promised = promised > ROUNDING;
	s->shortfall = s->promised ? fmax(0, 1 - given / promised) : 0;
}

/*
 * Water-filling: each round divides the remaining capacity in proportion to the weights, and serves
 * the vGPUs that need at most their share. When no such vGPU remains, each other vGPU gets its
 * share.
 */
static void set_ideals(struct account_sample *samples, int n)
{
	double left = 1, weights = 0;
	bool served = true;

	for (int i = 0; i < n; i++) {
		samples[i].ideal = -1;
		weights += samples[i].contract_pct * samples[i].weight;
	}
	while (served) {
		double share = weights > 0 ? left / weights : 0;

		served = false;
		for (int i = 0; i < n; i++) {
			struct account_sample *s = &samples[i];
			double weight = s->contract_pct * s->weight;

			if (s->ideal >= 0 || owed(s) > share * weight)
				continue;
			s->ideal = owed(s);
			left -= s->ideal;
			weights -= weight;
			served = true;
		}
	}
	for (int i = 0; i < n; i++)
		if (samples[i].ideal < 0)
			samples[i].ideal =
				left / weights * samples[i].contract_pct * samples[i].weight;
}

static void add_promised(struct account_vgpu *sum, double dt_s, double shortfall)
{
	sum->promised_s += dt_s;
	sum->shortfall_s += shortfall * dt_s;
}

static void add_broken(struct account_vgpu *sum, double dt_s, double shortfall,
		       double penalty_per_broken_s)
{
	double penalty = penalty_per_broken_s * dt_s;
	int depth = 0;

	while (shortfall >= depths[depth].below)
		depth++;
	sum->broken_s += dt_s;
	sum->depth_s[depth] += dt_s;
	sum->penalty += penalty;
	sum->shortfall_penalty += shortfall * penalty;
}

static void add_sample(struct account_vgpu *sum, double dt_s, const struct account_sample *s)
{
	sum->seen_s += dt_s;
	/* Frames above the target do not count as served demand. Work without frames counts when
	 * it is served, even if it was queued in an earlier period. */
	sum->served_s += dt_s * (s->makes_frames ? fmin(s->load, owed(s)) : s->load);
	sum->ideal_s += dt_s * s->ideal;
	sum->sold_pct_s += dt_s * s->contract_pct;
	sum->revenue += s->price_per_cap_hour * s->contract_pct / 100.0 * dt_s / SECONDS_HOUR;
	if (s->promised)
		add_promised(sum, dt_s, s->shortfall);
	if (s->broken)
		add_broken(sum, dt_s, s->shortfall, s->penalty_per_broken_s);
}

void account_period(struct account *account, double dt_s, double util,
		    struct account_sample *samples, struct account_vgpu *const *vgpus, int n)
{
	/* true: the whole period is in the last tenth of the run */
	bool final = account->now_s >= account->from_final_s - ROUNDING;
	double sold_pct_s = account->all.sold_pct_s;

	set_ideals(samples, n);
	for (int i = 0; i < n; i++) {
		judge(&samples[i], util);
		add_sample(vgpus[i], dt_s, &samples[i]);
		add_sample(&account->all, dt_s, &samples[i]);
	}
	account->now_s += dt_s;
	account->util_s += dt_s * util;
	if (final) {
		account->final_s += dt_s;
		account->final_util_s += dt_s * util;
		account->final_sold_pct_s += account->all.sold_pct_s - sold_pct_s;
	}
	if (account->vgpus_start < 0)
		account->vgpus_start = n;
	account->vgpus_end = n;
	if (n > account->vgpus_most)
		account->vgpus_most = n;
}

void account_move(struct account *account, double blackout_s, double penalty_per_broken_s,
		  double price, struct account_vgpu *vgpu)
{
	struct account_vgpu *const sums[] = {vgpu, &account->all};

	for (size_t i = 0; i < ARRAY_SIZE(sums); i++) {
		add_promised(sums[i], blackout_s, 1);
		add_broken(sums[i], blackout_s, 1, penalty_per_broken_s);
		sums[i]->seen_s += blackout_s;
		sums[i]->move_cost += price;
	}
	account->blackout_s += blackout_s;
	account->moves++;
}

/* vGPUs without demand are not compared. */
static void sum_fairness(const struct account_vgpu *vgpus, int n, struct account_summary *sum)
{
	double least = INFINITY, most = 0, served_s = 0, ideal_s = 0;

	sum->mmr = 1;
	sum->lambda = 0;
	for (int i = 0; i < n; i++) {
		double x = vgpus[i].served_s / vgpus[i].ideal_s;

		if (vgpus[i].ideal_s <= ROUNDING)
			continue;
		least = fmin(least, x);
		most = fmax(most, x);
		served_s += vgpus[i].served_s;
		ideal_s += vgpus[i].ideal_s;
	}
	if (most > 0)
		sum->mmr = least / most;
	for (int i = 0; served_s > 0 && i < n; i++)
		if (vgpus[i].ideal_s > ROUNDING)
			sum->lambda +=
				fabs(vgpus[i].ideal_s / ideal_s - vgpus[i].served_s / served_s);
}

static double over(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

void account_summarize(const struct account *account, const struct account_vgpu *vgpus, int n,
		       struct account_summary *ret_summary)
{
	const struct account_vgpu *all = &account->all;

	*ret_summary = (struct account_summary){
		.seconds = account->now_s,
		.vgpu_s = all->seen_s,
		.broken_s = all->broken_s,
		.broken_pct = 100 * over(all->broken_s, all->seen_s),
		.promised_s = all->promised_s,
		.shortfall_s = all->shortfall_s,
		.shortfall_pct = 100 * over(all->shortfall_s, all->promised_s),
		.util_avg_pct = 100 * over(account->util_s, account->now_s),
		.util_final_pct = 100 * over(account->final_util_s, account->final_s),
		.vgpus_avg = over(all->seen_s - account->blackout_s, account->now_s),
		.vgpus_start = account->vgpus_start < 0 ? 0 : account->vgpus_start,
		.vgpus_end = account->vgpus_end,
		.vgpus_most = account->vgpus_most,
		.overbooking_avg = over(all->sold_pct_s, account->now_s) / 100,
		.overbooking_final = over(account->final_sold_pct_s, account->final_s) / 100,
		.sold_cap_pct_s = all->sold_pct_s,
		.revenue = all->revenue,
		.penalty = all->penalty,
		.profit = all->revenue - all->penalty,
		.moves = account->moves,
		.blackout_s = account->blackout_s,
		.shortfall_penalty = all->shortfall_penalty,
		.move_cost = all->move_cost,
		.net_income = all->revenue - all->shortfall_penalty - all->move_cost,
	};
	memcpy(ret_summary->depth_s, all->depth_s, sizeof(all->depth_s));
	for (int i = 0; i < n; i++) {
		double shortfall_pct = 100 * over(vgpus[i].shortfall_s, vgpus[i].promised_s);

		ret_summary->worst_broken_pct =
			fmax(ret_summary->worst_broken_pct,
			     100 * over(vgpus[i].broken_s, vgpus[i].seen_s));
		ret_summary->worst_shortfall_pct =
			fmax(ret_summary->worst_shortfall_pct, shortfall_pct);
	}
	sum_fairness(vgpus, n, ret_summary);
}
