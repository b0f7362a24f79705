/* SPDX-License-Identifier: MIT */
/*
 * The policies: they decide the caps of all vGPUs of one GPU from one period's sample and the
 * contracts, and explain each decision.
 *
 * Pure: no I/O, clock, log or memory allocation. The caller owns every struct. The order of the
 * vGPUs changes no decision: a tie goes to the lowest id. Source: gOver (IEEE TC 2022), section 3.3
 * and Algorithm 1. "Rule N" refers to docs/design.md, section 4, which fills the paper's gaps.
 */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>

#define POLICY_VGPUS_MAX     256 /* on one GPU */
#define POLICY_WINDOW_MAX    300 /* periods of use remembered for funding (rule 9) */
#define POLICY_LEVELS	     16	 /* number of levels of demand (policy/qos/demand.h) */
#define POLICY_DEMAND_WINDOW 120 /* periods of demand remembered for admission */
#define POLICY_DECISIONS_MAX 16	 /* in one call */
#define POLICY_MOVES_MAX     (2 * POLICY_VGPUS_MAX)
#define POLICY_NUMBERS_MAX   12
#define POLICY_WHY_MAX	     400

/* Parameters, with the names, units and defaults of section [policy] of the configuration. */
struct policy_params {
	double overload_pct;	     /* U_o, 95 */
	int overload_periods;	     /* 3 */
	int qos_periods;	     /* 1 */
	double qos_gpu_bound_pct;    /* 70 */
	double lowload_pct;	     /* U_l, 60 */
	int quiet_periods;	     /* 3 */
	double steal_fraction;	     /* 0.2 */
	double weight_util;	     /* w_u, 1 */
	double weight_qos;	     /* w_e, 1 */
	int cap_floor_pct;	     /* 1 */
	double fund_fraction;	     /* 0.8 */
	int fund_window_periods;     /* fund_window_s in periods, at most POLICY_WINDOW_MAX */
	int min_newcomer_pct;	     /* 10 */
	bool use_ignores_met_target; /* on */
	bool paper_mode;	     /* off */
	int none_vgpus;		     /* 3; policy none: vGPUs that a GPU is set up for */
	double static_ratio;	     /* 2; policy static: sum of contracts, in GPUs */
	int predict_periods;	     /* 300, at most POLICY_WINDOW_MAX; p99, nsigma, max */
	int predict_warm_periods;    /* 30; a younger vGPU counts at its contract */
	double predict_sigmas;	     /* 5 */
	int demand_periods;	     /* 5; credit and fair: use remembered as demand */
	double demand_probe;	     /* 0.25; extra cap to probe a fully used cap */
	double deadband_pct;	     /* 2; smaller changes move no cap */
	double price_per_cap_hour;   /* 1; for a whole GPU, in any currency */
	double penalty_per_broken_s; /* 0.01; for a broken vGPU-second, same currency */
};

/* The numbers of a contract. */
struct policy_terms {
	int initial_cap_pct; /* 1..100: the cap sold, and the ceiling unless burst */
	int min_cap_pct;     /* floor of this contract; 0: cap_floor_pct applies */
	double target_fps;   /* 0: none */
	double weight;	     /* greater than 0; only for policy fair */
	bool burst;	     /* true: the cap may exceed initial_cap_pct */
};

/* The source of a vGPU's demand value. */
enum policy_demand_source {
	POLICY_DEMAND_SEEN,	/* measured */
	POLICY_DEMAND_BY_HABIT, /* estimated: the largest demand in the same situation so far */
	POLICY_DEMAND_PROBED,	/* estimated: a multiple of its use, to be probed */
};

/* What a policy has learnt about the demand of one vGPU (policy/qos/demand.h). All members are 0
 * for a new vGPU. */
struct policy_demand {
	int age;			  /* number of periods seen */
	bool known;			  /* true: seen for long enough; false: the vGPU is cold */
	enum policy_demand_source source; /* source of now_pct */
	int level;			  /* level of the last measured demand */
	float now_pct;			  /* demand of the last period, at most the contract */
	float need_pct;			  /* cap that was planned to serve that demand */
	float margin_pct; /* added to a predicted demand; grows with each demand above need_pct */
	float peak_pct[POLICY_LEVELS];		     /* largest demand on each level */
	float follows[POLICY_LEVELS][POLICY_LEVELS]; /* number of transitions from each level to
							each other; older ones weigh less */
	int ring_next, ring_fill; /* position in ring_pct, and number of valid entries */
	unsigned char ring_pct[POLICY_DEMAND_WINDOW]; /* demand of the last periods */
};

/* What a policy remembers of one vGPU between periods. All members are 0 for a new vGPU. The caller
 * stores the struct for the life of the vGPU, and only policy/ reads and writes the members. */
struct policy_track {
	int overload_run; /* consecutive periods with util above overload_pct */
	int short_run;	  /* consecutive periods short of target and GPU-bound */
	int window_next;  /* next position in window_load, which is a ring */
	int window_fill;
	float window_load[POLICY_WINDOW_MAX]; /* load, fraction of the GPU */
	struct policy_demand demand;
	int claim_pct; /* claim of the vGPU under policy credit */
};

/* Conditions of a vGPU in this period. The daemon raises and clears alerts from these bits. */
enum policy_condition {
	POLICY_QOS_NOT_GPU_BOUND = 1 << 0, /* short of target, but not for lack of GPU time */
	POLICY_CONTRACT_LIMIT = 1 << 1,	   /* overloaded at its ceiling */
	POLICY_HELD_OVERLOADED = 1 << 2,   /* overloaded and held by an operator */
	POLICY_FPS_MISSING = 1 << 3,	   /* has a target, but no valid FPS reading */
	/* of the GPU: */
	POLICY_SEVERE_OVERLOAD = 1 << 4, /* rule 7 */
	POLICY_SUM_OVER_100 = 1 << 5,
};

/* The input and result for one vGPU in one period. */
struct policy_vgpu {
	/* in */
	const char *id;
	struct policy_terms terms;
	struct policy_track *track;
	bool held;	 /* held: the cap is fixed and no policy changes it */
	bool newcomer;	 /* the newcomer of an offer, on probation */
	int cap_pct;	 /* cap in force now, in whole steps; 100 if there is no limit */
	bool busy_valid; /* true: load and util are valid */
	double load;	 /* busy / dt, fraction of the physical GPU */
	double util;	 /* u = busy / allotted, fraction; may exceed 1 slightly */
	bool fps_valid;
	double fps;
	/* out */
	int want_cap_pct;	 /* the decided cap */
	unsigned int conditions; /* bits of enum policy_condition */
	bool short_of_target;	 /* fps < target by more than the tolerance */
	bool overloaded;	 /* true: its overload signal is set (rules 1, 2, 11) */
	bool receiver;		 /* overloaded, and its cap can grow by a step */
	bool in_doubt; /* not known to be overloaded: a gap, an invalid reading or too few breaches
			  can hide it */
	bool broken;   /* this period counts as broken time */
	double e;      /* (target - fps) / target when short and GPU-bound, else 0 */
};

/* The input and result for one GPU in one period. */
struct policy_gpu {
	/* in */
	const char *name;
	int step_pct;	 /* cap step of the backend, at least 1 */
	int floor_pct;	 /* smallest cap of the backend; the largest floor of a vGPU applies */
	bool gap;	 /* the tick was late by more than half a period, so runs start again */
	double period_s; /* nominal length of a period */
	double clock;	 /* fraction of the highest clock rate; 0: unknown */
	bool migrates;	 /* a severe overload migrates a vGPU (on_migrate is set) */
	bool selling;	 /* one more vGPU may be offered */
	bool offered;	 /* result of offer_is_live() */
	struct policy_terms flavor; /* the contract that an offer sells */
	struct policy_vgpu *vgpus;
	int n_vgpus;
	/* Kept between periods, all 0 at first. Only policy/ writes these members. */
	int calm_run;	  /* consecutive periods without an overload signal and without an offer */
	int severe_run;	  /* number of periods of the current severe overload; 0: no overload */
	int severe_quiet; /* periods without severe overload since then; enough of them end the
			     overload */
	int severe_vgpus; /* number of vGPUs in the last period (qos) */
	int overcommitted_run; /* consecutive periods with a demand above 100 % (qos) */
	double broken_s; /* broken vGPU-seconds of the last hour; older ones weigh less (qos) */
	/* out */
	unsigned int conditions;
	bool severe_without_newcomer; /* a severe overload that the newcomer does not cause */
	bool severe_in_doubt; /* the severe overload is neither present nor certainly over */
	double total_load;    /* sum of u x cap, fraction of the GPU (rule 4) */
	int free_pct; /* percent that belongs to no cap, before the decisions of this period */
};

enum policy_kind {
	POLICY_STEAL,  /* rule 6: one donor gives to one receiver */
	POLICY_POOL,   /* rule 5: receivers share the free pool */
	POLICY_WAKE,   /* rule 11: help for a vGPU overloaded at its floor */
	POLICY_OFFER,  /* rule 4: sell one more vGPU */
	POLICY_SEVERE, /* rule 7: severe overload; names the vGPU whose migration relieves most */
	POLICY_FUND,   /* rule 9: vGPUs give to a newcomer */
	POLICY_RETURN, /* rule 10: a removed vGPU's cap is redistributed */
	POLICY_FIT,    /* rules 8, 12: caps are cut until their sum is 100 % */
	POLICY_HOLD,   /* rule 12: an operator fixes a cap */
	POLICY_SET,    /* a changed contract requires another cap */
	POLICY_SHARE,  /* a rule assigns all caps */
	POLICY_KINDS
};

/* Returns the name of a kind in REST, database and manual: "steal", "pool", ... */
const char *policy_kind_name(enum policy_kind kind);

struct policy_number {
	const char *name; /* static text that ends with the unit: "u_pct", "unused_pct" */
	double value;
};

struct policy_move {
	int vgpu; /* index into policy_gpu.vgpus */
	int from_pct;
	int to_pct;
};

struct policy_decision {
	enum policy_kind kind;
	int vgpu;  /* the receiver or the vGPU to migrate; -1: no vGPU, or a newcomer */
	int donor; /* -1: no donor or several donors */
	int first_move, n_moves; /* position in policy_out.moves */
	int fundable_pct;	 /* POLICY_OFFER: the first cap that a newcomer would get now */
	/* The explanation, for output only: */
	int n_numbers;
	struct policy_number numbers[POLICY_NUMBERS_MAX];
	char why[POLICY_WHY_MAX]; /* one sentence with the numbers used */
};

/* The result of the calls below. The struct is large, so allocate one and use it for all calls. */
struct policy_out {
	int n_decisions;
	struct policy_decision decisions[POLICY_DECISIONS_MAX];
	int n_moves;
	struct policy_move moves[POLICY_MOVES_MAX];
};

/* Sets the defaults of docs/design.md, section 4. */
void policy_params_default(struct policy_params *params);

/* Decides one period of one GPU: sets every "out" field of @gpu and its vGPUs, and @out. The sum of
 * want_cap_pct is at most 100, or at most the sum of cap_pct where that exceeds 100. */
typedef void policy_step_fn(const struct policy_params *params, struct policy_gpu *gpu,
			    struct policy_out *out);

/* Funds a newcomer of @terms by policy_fund(), or by a policy's own rule. Both return the same
 * values. */
typedef int policy_fund_fn(const struct policy_params *params, struct policy_gpu *gpu,
			   const struct policy_terms *terms, struct policy_out *out);

/* Redistributes the cap of a removed vGPU by policy_return(), or by a policy's own rule. */
typedef void policy_return_fn(const struct policy_params *params, struct policy_gpu *gpu,
			      struct policy_out *out);

struct policy {
	const char *name;
	const char *summary; /* description in one line for operators */
	policy_step_fn *step;
	policy_fund_fn *fund;
	policy_return_fn *give_back;
};

/* Returns the policy with that name or index, or NULL if no policy has it. */
const struct policy *policy_find(const char *name);
const struct policy *policy_at(size_t index);

/*
 * Rule 9: funds a newcomer of @terms from the free pool and from donors. Returns its first cap in
 * percent (whole steps, at most its contract), with the donors' moves in @out (POLICY_FUND), or
 * -ENOSPC if that cap would be below min_newcomer_pct or the newcomer's floor. Changes want_cap_pct
 * only. A vGPU gives nothing if it is held, is overloaded or has an invalid busy reading.
 */
policy_fund_fn policy_fund;

/* Rule 10: gives the free pool to the vGPUs below their contract, in proportion to the missing part
 * of each contract. The removed vGPU is no longer in @gpu. */
policy_return_fn policy_return;

/* Rules 8 and 12: cuts the caps of vGPUs that are not held until their sum is 100 % or less: first
 * the unused part, then in proportion, never below a floor. Returns 0, or -ENOSPC if floors and
 * holds alone exceed 100 %. The possible cuts are planned in both cases. */
int policy_fit(const struct policy_params *params, struct policy_gpu *gpu, struct policy_out *out);

/*
 * Rule 12: an operator fixes the cap of vGPU @index at @cap_pct, which the caller has checked
 * against step and ceiling. Plans that cap, and the cuts of other vGPUs that pay for a raise.
 * Returns 0, or -ENOSPC for a raise that does not fit, with the largest cap that fits in
 * *ret_largest_pct.
 */
int policy_hold(const struct policy_params *params, struct policy_gpu *gpu, int index, int cap_pct,
		struct policy_out *out, int *ret_largest_pct);

/* The contract of vGPU @index becomes @terms: if its cap is outside the new floor and ceiling,
 * plans the nearest allowed cap, and the cuts of other vGPUs that pay for a raise. Returns the same
 * values as policy_hold(). */
int policy_set(const struct policy_params *params, struct policy_gpu *gpu, int index,
	       const struct policy_terms *terms, struct policy_out *out, int *ret_largest_pct);

/* Return the floor and the ceiling of a vGPU on this GPU, in whole steps. */
int policy_floor_pct(const struct policy_params *params, const struct policy_gpu *gpu,
		     const struct policy_terms *terms);
int policy_ceiling_pct(const struct policy_gpu *gpu, const struct policy_terms *terms);

#endif
