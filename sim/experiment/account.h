/* SPDX-License-Identifier: MIT */
/*
 * The account of a run: broken time, sold capacity, fairness and money. It uses the true demand,
 * which a simulation knows, not an estimate.
 */
#ifndef SIM_EXPERIMENT_ACCOUNT_H
#define SIM_EXPERIMENT_ACCOUNT_H

#include <stdbool.h>

#define ACCOUNT_DEPTHS 5 /* ranges of the shortfall: below 5, 10, 20 and 50 %, and above 50 % */

/* One vGPU in one period. */
struct account_sample {
	/* in */
	int contract_pct;
	double target_fps; /* 0: no target */
	double weight;	   /* weight of the contract */
	bool makes_frames;
	double fps;
	double load;   /* used fraction of the GPU */
	double util;   /* used fraction of the allotted time */
	double demand; /* demand of this period, fraction of the GPU; with a target: target_fps
			  times the GPU time of a frame */
	double price_per_cap_hour, penalty_per_broken_s;
	/* out */
	bool broken;
	double shortfall; /* if broken: missing fraction of the promise, 0..1 */
	double ideal;	  /* fair share, fraction of the GPU */
};

/* One vGPU from its first to its last period. Initially all zero. */
struct account_vgpu {
	double seen_s, broken_s;
	double depth_s[ACCOUNT_DEPTHS];
	double served_s; /* GPU seconds of its demand that were served */
	double ideal_s;
	double sold_pct_s; /* contract times time */
	double revenue, penalty;
};

struct account {
	double from_final_s; /* start of the last tenth of the run */
	double now_s;
	double vgpu_s, broken_s;
	double depth_s[ACCOUNT_DEPTHS];
	double util_s, final_util_s, final_s;
	double sold_pct_s, final_sold_pct_s;
	double revenue, penalty;
	int vgpus_start, vgpus_end, vgpus_most;
};

/* @seconds: length of the run. */
void account_init(struct account *account, double seconds);

/*
 * Accounts one period of @dt_s with the @n vGPUs that were present in all of it. @util: busy
 * fraction of the GPU. Sets the "out" fields of @samples and adds them to @vgpus, which has the
 * same order.
 */
void account_period(struct account *account, double dt_s, double util,
		    struct account_sample *samples, struct account_vgpu *const *vgpus, int n);

struct account_summary {
	double seconds, vgpu_s, broken_s, broken_pct, depth_s[ACCOUNT_DEPTHS];
	double util_avg_pct, util_final_pct;
	double vgpus_avg;
	int vgpus_start, vgpus_end, vgpus_most;
	double overbooking_avg, overbooking_final; /* sum of contracts, divided by the GPU */
	double sold_cap_pct_s;			   /* integral of the sum of contracts */
	double revenue, penalty, profit;
	double mmr;		 /* min-max ratio as in FairGV */
	double lambda;		 /* lambda as in VMCG */
	double worst_broken_pct; /* of the worst vGPU */
};

void account_summarize(const struct account *account, const struct account_vgpu *vgpus, int n,
		       struct account_summary *ret_summary);

/* Returns the key of a shortfall range in reports, "under_5_pct" to "over_50_pct". */
const char *account_depth_name(int depth);

#endif
