/* SPDX-License-Identifier: MIT */
/*
 * What a run comes to: broken time, what was sold, how fairly, and for how much. Counts what really
 * was, which a simulation knows: nothing here is estimated. Pure: no I/O, no clock, no allocation.
 */
#ifndef SIM_EXPERIMENT_ACCOUNT_H
#define SIM_EXPERIMENT_ACCOUNT_H

#include <stdbool.h>

#define ACCOUNT_DEPTHS 5 /* shortfall below 5, 10, 20, 50 %, and above */

/* One vGPU in one period. */
struct account_sample {
	/* in */
	int contract_pct;
	double target_fps; /* 0: none promised */
	double weight;	   /* of its contract */
	bool makes_frames;
	double fps;
	double load;   /* fraction of the GPU it used */
	double util;   /* of what was allotted to it */
	double demand; /* fraction of the GPU that it asked for in this period: with a promise,
			  its target times the GPU time of its frames */
	double price_per_cap_hour, penalty_per_broken_s;
	/* out */
	bool broken;
	double shortfall; /* 0..1 of what was promised, where broken */
	double ideal;	  /* fraction of the GPU that is its fair share */
};

/* One vGPU from its first to its last period. All zero at first. */
struct account_vgpu {
	double seen_s, broken_s;
	double depth_s[ACCOUNT_DEPTHS];
	double served_s; /* GPU seconds it got of those it asked for */
	double ideal_s;
	double sold_pct_s; /* contract x time */
	double revenue, penalty;
};

struct account {
	double from_final_s; /* where the last tenth of the run begins */
	double now_s;
	double vgpu_s, broken_s;
	double depth_s[ACCOUNT_DEPTHS];
	double util_s, final_util_s, final_s;
	double sold_pct_s, final_sold_pct_s;
	double revenue, penalty;
	int vgpus_start, vgpus_end, vgpus_most;
};

/* A run of @seconds. */
void account_init(struct account *account, double seconds);

/*
 * Counts one period of @dt_s with the @n vGPUs that were there all of it; @util is what the GPU was
 * busy. Fills the "out" fields of @samples, and adds to @vgpus, which stand in the same order.
 */
void account_period(struct account *account, double dt_s, double util,
		    struct account_sample *samples, struct account_vgpu *const *vgpus, int n);

/* The totals. */
struct account_summary {
	double seconds, vgpu_s, broken_s, broken_pct, depth_s[ACCOUNT_DEPTHS];
	double util_avg_pct, util_final_pct;
	double vgpus_avg;
	int vgpus_start, vgpus_end, vgpus_most;
	double overbooking_avg, overbooking_final; /* sum of contracts over the GPU */
	double sold_cap_pct_s;			   /* the integral of contracts in force */
	double revenue, penalty, profit;
	double mmr;		 /* FairGV's min-max ratio */
	double lambda;		 /* VMCG's */
	double worst_broken_pct; /* of one vGPU */
};

void account_summarize(const struct account *account, const struct account_vgpu *vgpus, int n,
		       struct account_summary *ret_summary);

/* "under_5_pct", ...: the key of a depth in reports. */
const char *account_depth_name(int depth);

#endif
