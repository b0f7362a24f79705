/* SPDX-License-Identifier: MIT */
/*
 * The decisions: one period's sample and the contracts in, new caps and their reasons out.
 *
 * Pure: no I/O, no clock, no log, no allocation, no library; the caller owns every struct. All
 * vGPUs of one GPU are handed in at once; the order in which they stand changes no decision (ties
 * go to the lowest id). Source: gOver (IEEE TC 2022) sections 3.3 and Algorithm 1; where the paper
 * is silent, design.md section 4, cited here as "rule N".
 */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>

#define POLICY_VGPUS_MAX     256 /* on one GPU */
#define POLICY_WINDOW_MAX    300 /* periods of use remembered for funding (rule 9) */
#define POLICY_LEVELS	     16	 /* of demand, in which a vGPU's habits are learnt */
#define POLICY_DEMAND_WINDOW 120 /* periods of demand remembered for selling */
#define POLICY_DECISIONS_MAX 16	 /* in one call */
#define POLICY_MOVES_MAX     (2 * POLICY_VGPUS_MAX)
#define POLICY_NUMBERS_MAX   12
#define POLICY_WHY_MAX	     400

/* Parameters; names, units and defaults are those of the configuration section [policy]. */
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
	int none_vgpus;		     /* 3: what a GPU is set up for, of policy none */
	double static_ratio;	     /* 2: sold in GPUs, of policy static */
	int predict_periods;	     /* 300, at most POLICY_WINDOW_MAX; of p99, nsigma and max */
	int predict_warm_periods;    /* 30: seen for less counts at its contract */
	double predict_sigmas;	     /* 5 */
	int demand_periods;	     /* 5: use remembered as demand, of credit and fair */
	double demand_probe;	     /* 0.25: tried beyond a cap that is all used */
	double deadband_pct;	     /* 2: what caps by demand are not moved for */
	double price_per_cap_hour;   /* of the whole GPU sold for an hour, 1; in any currency */
	double penalty_per_broken_s; /* owed for a broken vGPU-second, 0.01; the same currency */
};

/* The numbers of a contract. */
struct policy_terms {
	int initial_cap_pct; /* 1..100: what was sold, the ceiling unless burst */
	int min_cap_pct;     /* floor of this contract; 0: cap_floor_pct */
	double target_fps;   /* 0: no promise */
	double weight;	     /* > 0; of policy fair */
	bool burst;	     /* may pass initial_cap_pct */
};

/* How what a vGPU wants is known. */
enum policy_demand_source {
	POLICY_DEMAND_SEEN,	/* it is not guessed */
	POLICY_DEMAND_BY_HABIT, /* by the most it wanted then before */
	POLICY_DEMAND_PROBED,	/* it never wanted so much before */
};

/* What was learnt of how much of the GPU one vGPU wants (policy/qos/demand.h). All zero: nothing.
 */
struct policy_demand {
	int age;    /* periods seen */
	bool known; /* enough of them; until then it is cold */
	enum policy_demand_source
		source;	  /* whether its cap cut off what it wanted in the last one */
	int level;	  /* of the last one that was seen */
	float now_pct;	  /* wanted in the last one, of the GPU, within the contract */
	float need_pct;	  /* what it was then expected to want at most in the next */
	float margin_pct; /* on top of what was seen, learnt from what was expected too little */
	float peak_pct[POLICY_LEVELS];		     /* most wanted on each level */
	float follows[POLICY_LEVELS][POLICY_LEVELS]; /* from level to level, old ones fading */
	int ring_next, ring_fill;
	unsigned char ring_pct[POLICY_DEMAND_WINDOW]; /* wanted in the last periods */
};

/* What the policy remembers of one vGPU between periods. All zero: a vGPU just seen. Only policy/
 * reads or writes it; it lives as long as its vGPU, in the caller's keeping. */
struct policy_track {
	int overload_run; /* consecutive periods with u above the line */
	int short_run;	  /* consecutive periods short and GPU-bound */
	int window_next;  /* ring of use */
	int window_fill;
	float window_load[POLICY_WINDOW_MAX]; /* load, fraction of the GPU */
	struct policy_demand demand;
	int claim_pct; /* of policy credit */
};

/* Conditions that hold in this period; the daemon turns their edges into alerts. */
enum policy_condition {
	POLICY_QOS_NOT_GPU_BOUND = 1 << 0, /* short, but no cap can help */
	POLICY_CONTRACT_LIMIT = 1 << 1,	   /* overloaded at its ceiling */
	POLICY_HELD_OVERLOADED = 1 << 2,   /* overloaded and held by an operator */
	POLICY_FPS_MISSING = 1 << 3,	   /* has a target and no valid FPS */
	/* of the GPU: */
	POLICY_SEVERE_OVERLOAD = 1 << 4, /* two receivers or more */
	POLICY_SUM_OVER_100 = 1 << 5,
};

/* One vGPU in one period. */
struct policy_vgpu {
	/* in */
	const char *id;
	struct policy_terms terms;
	struct policy_track *track;
	bool held;	 /* the policy leaves its cap alone */
	bool newcomer;	 /* sold on probation */
	int cap_pct;	 /* in force now, whole steps; "no limit" is handed in as 100 */
	bool busy_valid; /* load and util may be read */
	double load;	 /* busy / dt, fraction of the physical GPU */
	double util;	 /* u = busy / allotted, fraction; may pass 1 a little */
	bool fps_valid;
	double fps;
	/* out */
	int want_cap_pct;	 /* == cap_pct where nothing moves */
	unsigned int conditions; /* enum policy_condition */
	bool short_of_target;	 /* fps < target by more than the tolerance */
	bool overloaded;	 /* its signal is up */
	bool receiver;		 /* overloaded and can take a step */
	bool in_doubt;		 /* its signal is down, but it was not seen to be quiet: a gap, an
				    invalid reading, or breaches too few as yet */
	bool broken;		 /* this period counts as broken time */
	double e;		 /* (target - fps) / target when short and GPU-bound, else 0 */
};

/* One GPU in one period. */
struct policy_gpu {
	/* in */
	const char *name;
	int step_pct;	 /* of the backend, >= 1 */
	int floor_pct;	 /* of the backend; the floor of a vGPU is the largest that applies */
	bool gap;	 /* the tick was late by more than half a period: runs break (section 4) */
	double period_s; /* nominal length of a period */
	double clock;	 /* of the GPU in this period, share of its highest; 0: not known */
	bool migrates;	 /* somebody moves a vGPU away when told to (rule 7) */
	bool selling;	 /* on sale, and room for one more */
	bool offered; /* an offer is open, on probation, or failed with its newcomer still there */
	struct policy_terms flavor; /* what an offer would sell */
	struct policy_vgpu *vgpus;
	int n_vgpus;
	/* kept between periods, all zero at first; only policy/ writes it */
	int calm_run;	  /* consecutive periods without a receiver, and without an offer */
	int severe_run;	  /* periods of this severe overload, 0: none; the first is a decision */
	int severe_quiet; /* periods since that saw it gone; enough of them end it */
	int severe_vgpus; /* vGPUs there were when the last victim was named (qos) */
	int overcommitted_run; /* consecutive periods in which more was wanted than there is (qos)
				*/
	double broken_s;       /* broken vGPU-seconds of the last hour, old ones fading (qos) */
	/* out */
	unsigned int conditions;
	bool severe_without_newcomer; /* of severe overload: it would be there without it too */
	bool severe_in_doubt;	      /* severe overload is not seen now, nor seen to be over */
	double total_load;	      /* sum of u x cap, fraction of the GPU (rule 4) */
	int free_pct;		      /* before the decisions of this period */
};

enum policy_kind {
	POLICY_STEAL,  /* rule 6 */
	POLICY_POOL,   /* rule 5: free pool given to the receivers */
	POLICY_WAKE,   /* rule 11 */
	POLICY_OFFER,  /* rule 4: sell one more */
	POLICY_SEVERE, /* rule 7: vgpu is the one whose move relieves most */
	POLICY_FUND,   /* rule 9: vGPUs give to a newcomer */
	POLICY_RETURN, /* rule 10: what a leaver freed */
	POLICY_FIT,    /* rules 8, 12: shrunk until the sum fits */
	POLICY_HOLD,   /* rule 12: an operator fixed a cap */
	POLICY_SET,    /* a changed contract allows the cap no longer */
	POLICY_SHARE,  /* caps of all, by a rule that says what each should have */
	POLICY_KINDS
};

/* "steal", "pool", ...: as in REST, database and man page. */
const char *policy_kind_name(enum policy_kind kind);

struct policy_number {
	const char *name; /* static text with its unit: "u_pct", "unused_pct" */
	double value;
};

struct policy_move {
	int vgpu; /* index into policy_gpu.vgpus */
	int from_pct;
	int to_pct;
};

struct policy_decision {
	enum policy_kind kind;
	int vgpu;		 /* whom it is for (receiver, victim); -1: nobody, or a newcomer */
	int donor;		 /* from whom; -1: nobody or several */
	int first_move, n_moves; /* its moves, in policy_out.moves */
	int fundable_pct;	 /* POLICY_OFFER: the first cap that a newcomer would get now */
	/* The explanation, for output only: */
	int n_numbers;
	struct policy_number numbers[POLICY_NUMBERS_MAX];
	char why[POLICY_WHY_MAX]; /* one sentence with the numbers used */
};

/* Filled by every call below; large: keep one and use it again. */
struct policy_out {
	int n_decisions;
	struct policy_decision decisions[POLICY_DECISIONS_MAX];
	int n_moves;
	struct policy_move moves[POLICY_MOVES_MAX];
};

/* Fills in the defaults of design.md section 4 (fund_window_periods 30). */
void policy_params_default(struct policy_params *params);

/* One period of one GPU: sets every "out" field of @gpu and its vGPUs and fills @out. Moves of a
 * step always conserve: Σ want_cap_pct <= max(100, Σ cap_pct). */
typedef void (*policy_step_fn)(const struct policy_params *params, struct policy_gpu *gpu,
			       struct policy_out *out);

/* How a newcomer of @terms is funded: what policy_fund() does, or the policy's own way. */
typedef int (*policy_fund_fn)(const struct policy_params *params, struct policy_gpu *gpu,
			      const struct policy_terms *terms, struct policy_out *out);

/* What becomes of the GPU time that a leaver freed: policy_return(), or the policy's own way. */
typedef void (*policy_return_fn)(const struct policy_params *params, struct policy_gpu *gpu,
				 struct policy_out *out);

struct policy {
	const char *name;
	const char *summary; /* one line for people */
	policy_step_fn step;
	policy_fund_fn fund;
	policy_return_fn give_back;
};

/* The table of policies; NULL for an unknown name. @index past the end gives NULL. */
const struct policy *policy_find(const char *name);
const struct policy *policy_at(size_t index);

/*
 * Rule 9: how a newcomer of @terms would be funded now. Returns its first cap in percent (whole
 * steps, up to its contract) with the givers' shrinking in @out (POLICY_FUND), or -ENOSPC when that
 * would be below min_newcomer_pct or the newcomer's own floor (who may go lower hands in params of
 * its own). Changes want_cap_pct, nothing else. Who is held, overloaded or has an invalid busy
 * reading gives nothing.
 */
int policy_fund(const struct policy_params *params, struct policy_gpu *gpu,
		const struct policy_terms *terms, struct policy_out *out);

/* Rule 10: gives the free pool to those below their contract in proportion to what they lack. Call
 * it after the leaver was taken out of @gpu. */
void policy_return(const struct policy_params *params, struct policy_gpu *gpu,
		   struct policy_out *out);

/* Rules 8 and 12: shrinks who is not held until Σ cap <= 100, first by what they do not use, then
 * in proportion, never below floors. Returns 0, or -ENOSPC when floors and holds alone pass 100
 * (all that can be was shrunk). */
int policy_fit(const struct policy_params *params, struct policy_gpu *gpu, struct policy_out *out);

/*
 * Rule 12: an operator fixes vGPU @index at @cap_pct (the caller has checked step and ceiling).
 * Plans the hold and the others' shrinking. Returns 0, or -ENOSPC for a raise that does not fit,
 * with *ret_largest_pct = the largest cap that would fit now.
 */
int policy_hold(const struct policy_params *params, struct policy_gpu *gpu, int index, int cap_pct,
		struct policy_out *out, int *ret_largest_pct);

/*
 * The contract of vGPU @index becomes @terms: plans the nearest cap between its new floor and
 * ceiling, and the others' shrinking for a raise; nothing where the cap it has will do. Returns as
 * policy_hold() does.
 */
int policy_set(const struct policy_params *params, struct policy_gpu *gpu, int index,
	       const struct policy_terms *terms, struct policy_out *out, int *ret_largest_pct);

/* Floor and ceiling of a vGPU on this GPU, in whole steps. */
int policy_floor_pct(const struct policy_params *params, const struct policy_gpu *gpu,
		     const struct policy_terms *terms);
int policy_ceiling_pct(const struct policy_gpu *gpu, const struct policy_terms *terms);

#endif
