/* SPDX-License-Identifier: MIT */
/*
 * The account of a run: broken time, shortfall, sold capacity, fairness and money. The account uses
 * the true demand, which only a simulation knows.
 */
#ifndef SIM_EXPERIMENT_ACCOUNT_H
#define SIM_EXPERIMENT_ACCOUNT_H

#include <stdbool.h>

/* number of shortfall ranges: below 5, 10, 20 and 50 %, and above 50 % */
#define ACCOUNT_DEPTHS 5

/* One vGPU in one period. */
struct account_sample {
	/* in */
	int contract_pct;
	int ceiling_pct;   /* with guarantees: largest share of the GPU; 0: caps are hard limits */
	double target_fps; /* target frame rate; 0: no target */
	double weight;	   /* weight of the contract */
	bool makes_frames;
	double fps;
	double load; /* GPU time used, as a fraction of the GPU */
	double util; /* GPU time used, as a fraction of the allotted time */
	/* demand of this period, as a fraction of the GPU; with a target: target_fps x GPU time
	 * of a frame */
	double demand;
	double price_per_cap_hour, penalty_per_broken_s;
	/* out */
	bool promised; /* FPS or work are promised in this period */
	bool broken;
	double shortfall; /* missing fraction of the promised FPS or work, 0 to 1 */
	double ideal;	  /* ideal (fair) share, as a fraction of the GPU */
};

/* The sums over one vGPU from its first to its last period, or over all vGPUs. Zero-initialised. */
struct account_vgpu {
	double seen_s; /* vGPU-seconds */
	double broken_s;
	double promised_s, shortfall_s;
	double depth_s[ACCOUNT_DEPTHS];
	double served_s; /* served part of the demand, GPU seconds */
	double ideal_s;
	double sold_pct_s; /* sold capacity: contract x time */
	double revenue, penalty;
	double shortfall_penalty; /* penalty of the broken time, weighted by the shortfall */
	double move_cost;
};

struct account {
	double from_final_s; /* time at which the last tenth of the run begins */
	double now_s;
	struct account_vgpu all;
	double util_s, final_util_s, final_s, final_sold_pct_s;
	double blackout_s;
	int moves;
	int vgpus_start, vgpus_end, vgpus_most;
};

/* @seconds: length of the run. */
void account_init(struct account *account, double seconds);

/*
 * Accounts one period of @dt_s seconds. @samples: the @n vGPUs that were present in the whole
 * period. The "out" fields of @samples are set. @vgpus: the accounts of these vGPUs in the same
 * order, to which the samples are added. @util: busy fraction of the GPU.
 */
void account_period(struct account *account, double dt_s, double util,
		    struct account_sample *samples, struct account_vgpu *const *vgpus, int n);

/*
 * Accounts a move of a vGPU to another host. For @blackout_s seconds the vGPU gets nothing: these
 * seconds are added to the time of the vGPU as promised and broken, with a shortfall of 1. Capacity
 * is not sold in this time. @price: cost of the move. @vgpu: the account of the vGPU.
 */
void account_move(struct account *account, double blackout_s, double penalty_per_broken_s,
		  double price, struct account_vgpu *vgpu);

struct account_summary {
	double seconds, vgpu_s, broken_s, broken_pct, depth_s[ACCOUNT_DEPTHS];
	/* Time in which something is promised, and the integral of the shortfall over it. */
	double promised_s, shortfall_s, shortfall_pct;
	double util_avg_pct, util_final_pct;
	double vgpus_avg;
	int vgpus_start, vgpus_end, vgpus_most;
	double overbooking_avg, overbooking_final; /* sum of contracts / GPU */
	double sold_cap_pct_s;			   /* sold capacity: sum of contracts x time */
	double revenue, penalty, profit;
	int moves;		  /* vGPUs that moved to another host */
	double blackout_s;	  /* total length of the blackouts of these moves */
	double shortfall_penalty; /* as penalty, but each broken second weighted by its shortfall */
	double move_cost;
	double net_income;	    /* revenue - shortfall_penalty - move_cost */
	double mmr;		    /* min-max ratio of FairGV, see account.c */
	double lambda;		    /* lambda of VMCG, see account.c */
	double worst_broken_pct;    /* broken time of the worst vGPU */
	double worst_shortfall_pct; /* shortfall of the worst vGPU */
};

void account_summarize(const struct account *account, const struct account_vgpu *vgpus, int n,
		       struct account_summary *ret_summary);

/* Returns the key of a shortfall range in reports, "under_5_pct" to "over_50_pct". */
const char *account_depth_name(int depth);

#endif
