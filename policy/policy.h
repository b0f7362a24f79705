/* SPDX-License-Identifier: MIT */
/*
 * The policies decide the caps of all vGPUs of one GPU from the contracts and from the sample of
 * one period, and explain each decision.
 *
 * The functions are pure: no I/O, clock, log or memory allocation. The caller owns every struct.
 * The order of the vGPUs changes no decision: a tie goes to the lowest id. Source: gOver (IEEE TC
 * 2022), section 3.3 and Algorithm 1. "Rule N" refers to docs/design.md, section 4, which defines
 * what the paper leaves open.
 */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sample.h"

#define POLICY_VGPUS_MAX     256  /* largest number of vGPUs on one GPU */
#define POLICY_WINDOW_MAX    300  /* largest number of stored loads of a vGPU (rule 9) */
#define POLICY_LEVELS	     16	  /* number of levels of demand (policy/qos/demand.h) */
#define POLICY_DEMAND_WINDOW 120  /* number of stored demands of a vGPU, one per second */
#define POLICY_PAST_SLOTS    1024 /* number of stored slots of a vGPU's past */
#define POLICY_RATES_MAX     120  /* largest number of periods over which a rate is judged */
#define POLICY_NAMINGS_MAX   8	  /* number of named vGPUs whose departure is awaited */
#define POLICY_FLAVORS_MAX   8	  /* largest number of contracts that are offered at once */
#define POLICY_DECISIONS_MAX 16	  /* largest number of decisions in one call */
#define POLICY_MOVES_MAX     (2 * POLICY_VGPUS_MAX)
#define POLICY_NUMBERS_MAX   14
#define POLICY_WHY_MAX	     400

/* Parameters, with the names, units and defaults of section [policy] of the configuration.
 * fund_window_periods and predict_periods are at most POLICY_WINDOW_MAX. */
struct policy_params {
	double overload_pct;	     /* U_o; default 95 */
	int overload_periods;	     /* default 3 */
	int qos_periods;	     /* default 1 */
	double qos_gpu_bound_pct;    /* default 70 */
	double lowload_pct;	     /* U_l; default 60 */
	int quiet_periods;	     /* default 3 */
	double steal_fraction;	     /* default 0.2 */
	double weight_util;	     /* w_u; default 1 */
	double weight_qos;	     /* w_e; default 1 */
	int cap_floor_pct;	     /* default 1 */
	double fund_fraction;	     /* default 0.8 */
	int fund_window_periods;     /* fund_window_s in periods */
	int min_newcomer_pct;	     /* default 10 */
	bool use_ignores_met_target; /* default on */
	bool paper_mode;	     /* default off */
	int none_vgpus;		     /* policy none: number of equal shares; default 3 */
	double static_ratio;	     /* policy static: largest overbooking ratio; default 2 */
	int predict_periods; /* p99, nsigma, max: use this many of the last periods; default 300 */
	int predict_warm_periods; /* p99, nsigma, max: a vGPU starts cold, for this many periods;
				     default 30 */
	double predict_sigmas;	  /* default 5 */
	double sale_risk_pct;	  /* qos: largest expected broken time after a sale if vGPUs are not
				     migrated, percent; default 1.5 */
	int demand_periods;	  /* credit, fair: the demand is the largest use in this many last
				     periods; default 5 */
	double demand_probe; /* credit, fair: a probe adds this fraction to the cap; default 0.25 */
	double deadband_pct; /* smaller changes of a cap are not made; default 2 */
	double price_per_cap_hour;   /* price of the whole GPU per hour; default 1 */
	double penalty_per_broken_s; /* penalty per broken vGPU-second; default 0.01 */
	double price_per_move;	     /* cost of a move to another host; default 0 */
};

/*
 * The keys of section [policy]: name, minimum, maximum, unit. The daemon's configuration and the
 * scenarios of experiments use the same table. Each row names a member of struct policy_params. The
 * only exception is the row SECONDS, for which the caller converts fund_window_s to the member
 * fund_window_periods.
 */
/* clang-format off */
#define POLICY_KEYS(INT, NUMBER, FLAG, SECONDS)			\
	NUMBER(overload_pct, 1, 100, " percent"),		\
	INT(overload_periods, 1, 1000, " periods"),		\
	INT(qos_periods, 1, 1000, " periods"),			\
	NUMBER(qos_gpu_bound_pct, 0, 100, " percent"),		\
	NUMBER(lowload_pct, 0, 100, " percent"),		\
	INT(quiet_periods, 1, 1000, " periods"),		\
	NUMBER(steal_fraction, 0.01, 1, ""),			\
	NUMBER(weight_util, 0, 1000, ""),			\
	NUMBER(weight_qos, 0, 1000, ""),			\
	INT(cap_floor_pct, 1, 100, " percent"),			\
	NUMBER(fund_fraction, 0, 1, ""),			\
	SECONDS(fund_window_s, 1, 3000, " s"),			\
	INT(min_newcomer_pct, 1, 100, " percent"),		\
	FLAG(use_ignores_met_target),				\
	FLAG(paper_mode),					\
	INT(none_vgpus, 1, 256, " vGPUs"),			\
	NUMBER(static_ratio, 1, 100, ""),			\
	INT(demand_periods, 1, 300, " periods"),		\
	NUMBER(demand_probe, 0.01, 10, ""),			\
	NUMBER(deadband_pct, 0, 50, " percent"),		\
	INT(predict_periods, 1, 300, " periods"),		\
	INT(predict_warm_periods, 1, 300, " periods"),		\
	NUMBER(predict_sigmas, 0, 100, ""),			\
	NUMBER(sale_risk_pct, 0, 100, " percent")
/* clang-format on */

/*
 * The numbers of a contract. A policy compares the target of a vGPU with its rate, and the unit of
 * both changes no decision: on a GPU that counts units of work instead of frames, target_fps and
 * the fps of a sample are units of work per second. Only texts and names of numbers depend on the
 * unit.
 */
struct policy_terms {
	int initial_cap_pct; /* the cap sold, 1..100; also the ceiling unless burst is set */
	int min_cap_pct;     /* floor of this contract; 0: the floor is cap_floor_pct */
	double target_fps;   /* 0: no target */
	bool counts_work;    /* true: rates are in units of work per second */
	double weight;	     /* share relative to other vGPUs, above 0; only for policy fair */
	bool burst;	     /* true: the cap may exceed initial_cap_pct */
};

/* The source of a vGPU's demand value. */
enum policy_demand_source {
	POLICY_DEMAND_SEEN,	/* measured */
	POLICY_DEMAND_BY_HABIT, /* estimated from earlier changes of the demand */
	POLICY_DEMAND_PROBED,	/* estimated as a multiple of the use */
};

/* The GPU time of a frame of one vGPU. */
struct policy_cost {
	float frames, busy_s; /* of the last seconds; older ones weigh less; 0: unknown */
	float block_frames, block_busy_s, block_s; /* of the present second */
	float age_s;	  /* time since the GPU time of a frame last changed */
	bool settles;	  /* true: age_s has just become long enough for an exact mean */
	int short_blocks; /* consecutive seconds below target with a cap that should suffice */
};

/* The demand of one vGPU as learnt by policy qos (policy/qos/demand.h). All members are 0 for a new
 * vGPU. */
struct policy_demand {
	float age_s;			  /* time seen */
	bool known;			  /* true: observed for long enough; false: cold */
	enum policy_demand_source source; /* source of now_pct */
	float limited_s;	 /* time for which the demand still counts as limited by the GPU */
	int level;		 /* level of the last measured demand */
	bool counted;		 /* true: counted_level is valid */
	int counted_level;	 /* level of the last second that was counted */
	float second_s;		 /* part of the present second that has passed */
	float second_pct;	 /* largest measured demand of the present second */
	float second_lately_pct; /* the same, with the contract for an estimated demand */
	bool second_seen;	 /* true: a demand was measured in the present second */
	struct policy_cost cost;
	float now_pct;	  /* demand of the last period, at most the contract */
	float need_pct;	  /* cap that was expected to serve the last period */
	float margin_pct; /* added to a predicted demand; grows with each demand above need_pct */
	float peak_pct[POLICY_LEVELS];		      /* largest demand on each level */
	float follows[POLICY_LEVELS][POLICY_LEVELS];  /* [a][b]: number of transitions from level a
							 to level b; older transitions weigh less */
	int ring_next;				      /* next position in ring_pct */
	int ring_fill;				      /* number of valid entries in ring_pct */
	unsigned char ring_pct[POLICY_DEMAND_WINDOW]; /* largest demands of the last seconds */
};

/* The past demands of one vGPU (policy/qos/futures.h), one for each slot of some seconds. The slots
 * of all vGPUs of a GPU begin at the same time. All members are 0 for a new vGPU. */
struct policy_past {
	double seen_s;			      /* time since the first demand */
	int slots;			      /* number of valid slots, including the present one */
	unsigned char peak_pct;		      /* largest demand, percent */
	unsigned char pct[POLICY_PAST_SLOTS]; /* largest demand of each slot, percent. Slot n has
						 the index n % POLICY_PAST_SLOTS */
};

/* The last readings of a vGPU that delivers units of work and has a target (policy/window.h). */
struct policy_rates {
	int next, fill;	 /* position and number of valid entries of the rings below */
	int periods;	 /* the newest periods that are judged together; 0: only the present one */
	float tolerated; /* tolerance that follows from counting in these periods */
	float rate[POLICY_RATES_MAX];
	float load[POLICY_RATES_MAX], util[POLICY_RATES_MAX]; /* NAN: invalid reading */
};

/* The state of one vGPU between periods. All members are 0 for a new vGPU. The caller stores the
 * struct for the life of the vGPU, and only policy/ reads and writes the members. */
struct policy_track {
	int overload_run; /* consecutive periods with util above overload_pct */
	int short_run;	  /* consecutive periods below target and GPU-bound */
	int window_next;  /* next position in window_load, which is a ring */
	int window_fill;
	float window_load[POLICY_WINDOW_MAX]; /* loads of the last periods, fractions of the GPU */
	struct policy_rates rates;
	struct policy_demand demand;
	struct policy_past past;
	int claim_pct; /* policy credit: estimated demand (claim), percent of the GPU */
};

/* Conditions of a vGPU in this period. The daemon raises and clears alerts from these bits. */
enum policy_condition {
	POLICY_QOS_NOT_GPU_BOUND = 1 << 0, /* below target, but not GPU-bound */
	POLICY_CONTRACT_LIMIT = 1 << 1,	   /* overloaded at its ceiling */
	POLICY_HELD_OVERLOADED = 1 << 2,   /* overloaded and held by an operator */
	POLICY_FPS_MISSING = 1 << 3,	   /* has a target, but no valid rate */
	/* conditions of the GPU: */
	POLICY_SEVERE_OVERLOAD = 1 << 4, /* rule 7 */
	POLICY_SUM_OVER_100 = 1 << 5,
};

/* Whether a vGPU with a promised rate is served (policy/promise/service.h). */
enum policy_service {
	POLICY_SERVED,	 /* it gets something, or wants nothing as far as the readings show */
	POLICY_UNSERVED, /* it gets nothing, and no reading shows that it wants nothing */
	POLICY_STALLED,	 /* it gets nothing, and other vGPUs stopped at the same time */
};

/* The input and result for one vGPU in one period. */
struct policy_vgpu {
	/* in */
	const char *id;
	struct policy_terms terms;
	struct policy_track *track;
	bool held;	      /* an operator fixed the cap: no policy changes it */
	bool newcomer;	      /* this vGPU claimed an offer and is on probation */
	int cap_pct;	      /* cap in force now, in whole steps; 100 if there is no limit */
	struct sample sample; /* util is u; fps is in the unit of terms.target_fps */
	enum policy_service service; /* not POLICY_SERVED: its load is not its demand */
	/* out */
	int want_cap_pct;	 /* the decided cap */
	unsigned int conditions; /* bits of enum policy_condition */
	double rate; /* mean fps of the periods that are judged together; for frames equal to fps */
	bool short_of_target; /* rate is below target by more than the tolerance */
	bool overloaded;      /* true: its overload signal is set (rules 1, 2, 11) */
	bool receiver;	      /* overloaded, and its cap can grow by a step */
	bool in_doubt;	      /* the readings do not show whether it is overloaded */
	bool broken;	      /* this period counts as broken time */
	double e;	      /* (target - rate) / target if below target and GPU-bound, else 0 */
};

/*
 * The meaning of a cap (docs/design.md, section 4). POLICY_SHARING_HARD: a limit. The time of an
 * idle vGPU stays unused. POLICY_SHARING_GUARANTEE: a share that is always available. A vGPU may
 * use more, up to its contract or, with burst, up to the whole GPU, while other vGPUs leave time
 * unused.
 */
enum policy_sharing { POLICY_SHARING_HARD, POLICY_SHARING_GUARANTEE };

/* Returns the word of configurations, sysfs and REST: "hard" or "guarantee". */
const char *policy_sharing_name(enum policy_sharing sharing);

/* A vGPU that was named and should leave the host. */
struct policy_naming {
	uint64_t vgpu;	/* id_hash(); 0: unused */
	double waits_s; /* time since it was named */
};

/* The learned estimate of migrations of named vGPUs (policy/qos/moving.h). All members are 0 at
 * first. */
struct policy_moving {
	bool unanswered; /* a named vGPU stayed for too long */
	int answered;	 /* number of named vGPUs that left in time since then */
	double delay_s;	 /* estimated time from a naming to the departure; 0: unknown */
	struct policy_naming namings[POLICY_NAMINGS_MAX];
	uint64_t newcomer; /* the vGPU on probation in the last period; 0: none */
};

/*
 * The contracts whose vGPUs do not exist now, for example because a virtual machine restarts. They
 * may return at any time: their caps are reserved, and each of them may want all that it has
 * bought. A policy knows only their sums.
 */
struct policy_absent {
	int n;
	int cap_pct;	/* sum of the caps that they will have when they return */
	int demand_pct; /* sum of their largest possible demands (policy_add_absent()) */
};

/* The input and result for one GPU in one period. */
struct policy_gpu {
	/* in */
	const char *name;
	int step_pct;  /* cap step of the backend, at least 1 */
	int floor_pct; /* smallest cap of the backend: no vGPU has a lower floor */
	enum policy_sharing sharing;
	bool gap; /* the tick was late by more than half a period: counts of consecutive periods
		     restart at 0 */
	double period_s; /* nominal length of a period */
	double clock;	 /* clock rate as a fraction of the highest; 0: unknown */
	bool migrates;	 /* a program or a cloud may migrate a vGPU of a severe overload */
	bool selling;	 /* one more vGPU may be offered */
	bool offered;	 /* result of offer_is_live() */
	struct policy_terms flavors[POLICY_FLAVORS_MAX]; /* contracts to offer, the largest first */
	int n_flavors;
	struct policy_vgpu *vgpus;
	int n_vgpus;
	struct policy_absent absent;
	/* State between periods, 0 at first. Only policy/ writes these members. */
	int calm_run;	     /* consecutive calm periods: no vGPU lacked capacity of its
				contract, and no offer existed */
	int severe_run;	     /* number of periods of the current severe overload; 0: no overload */
	double name_again_s; /* qos: time until a vGPU can be named again */
	int severe_quiet;    /* periods without severe overload since the last severe period */
	int severe_vgpus;    /* qos: number of vGPUs in the last period */
	int overcommitted_run; /* qos: consecutive periods with a total demand above 100 % */
	double overload_cost;  /* qos: penalties of the overload since a vGPU was named */
	double past_s;	       /* qos: time for which demands were stored */
	int risen;	       /* qos: number of demands that rose far above all earlier ones */
	long long quiet; /* qos: time without such a rise on a logarithmic scale, millionths */
	struct policy_moving moving;
	double broken_s; /* qos: broken vGPU-seconds of the last hour; older seconds weigh less */
	/* out */
	unsigned int conditions;
	bool severe_without_newcomer; /* the severe overload would exist without the newcomer */
	bool severe_in_doubt; /* the readings do not show whether a severe overload exists */
	double total_load;    /* sum of all loads, fraction of the GPU (rule 4) */
	bool saturated;	      /* POLICY_SHARING_GUARANTEE: the GPU did not idle */
	/* POLICY_SHARING_GUARANTEE: u of a vGPU that wants more time, if saturated; at least 1 */
	double held_util;
	int free_pct; /* free pool before the decisions of this period, percent of the GPU */
};

enum policy_kind {
	POLICY_STEAL,  /* rule 6: one donor gives to one receiver */
	POLICY_POOL,   /* rule 5: receivers share the free pool */
	POLICY_WAKE,   /* rule 11: a vGPU overloaded at its floor gets cap */
	POLICY_OFFER,  /* rule 4: one more vGPU can be sold */
	POLICY_SEVERE, /* rule 7: severe overload; names the best vGPU to migrate */
	POLICY_FUND,   /* rule 9: vGPUs give cap to a newcomer */
	POLICY_RETURN, /* rule 10: a removed vGPU's cap is redistributed */
	POLICY_FIT,    /* rules 8, 12: caps are cut until their sum is 100 % */
	POLICY_HOLD,   /* rule 12: an operator fixes a cap */
	POLICY_SET,    /* a changed contract requires another cap */
	POLICY_SHARE,  /* a policy's rule assigns all caps */
	POLICY_KINDS
};

/* Returns the name of a kind in REST, database and manual: "steal", "pool", ... */
const char *policy_kind_name(enum policy_kind kind);

struct policy_number {
	const char *name; /* static text with the unit at its end: "u_pct", "unused_pct" */
	double value;
};

struct policy_move {
	int vgpu; /* index into policy_gpu.vgpus */
	int from_pct;
	int to_pct;
};

struct policy_decision {
	enum policy_kind kind;
	int vgpu;  /* the receiver, or the vGPU to migrate; -1: a newcomer, or no vGPU */
	int donor; /* the only donor; -1: no donor or several donors */
	int first_move, n_moves; /* the moves of this decision in policy_out.moves */
	/* POLICY_OFFER: for each of policy_gpu.flavors, the first cap that a newcomer would get
	 * now; 0: the contract is not admitted. The first admitted contract leads the offer, and
	 * the explanation is about it. */
	int fundable_pct[POLICY_FLAVORS_MAX];
	/* The explanation. No policy reads these members. */
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

/*
 * With some keys above the cap of the flavor on sale, no offer can be funded. Returns the name of
 * the first such key and sets *@ret_pct to its value, or returns NULL. @flavor_cap_pct: percent of
 * the GPU, 1 to 100.
 */
const char *policy_params_above_flavor(const struct policy_params *params, int flavor_cap_pct,
				       int *ret_pct);

/* Decides one period of one GPU: sets every "out" field of @gpu and its vGPUs, and @out. The sum
 * of want_cap_pct is at most 100 or, if the sum of cap_pct already exceeds 100, at most the sum
 * of cap_pct. */
typedef void policy_step_fn(const struct policy_params *params, struct policy_gpu *gpu,
			    struct policy_out *out);

/* Funds a newcomer with the contract @terms: policy_fund(), or a function of the policy with the
 * same return values. */
typedef int policy_fund_fn(const struct policy_params *params, struct policy_gpu *gpu,
			   const struct policy_terms *terms, struct policy_out *out);

/* Redistributes the cap of a removed vGPU: policy_return(), or a function of the policy. */
typedef void policy_return_fn(const struct policy_params *params, struct policy_gpu *gpu,
			      struct policy_out *out);

struct policy {
	const char *name;
	const char *summary; /* description in one line for operators */
	policy_step_fn *step;
	policy_fund_fn *fund;
	policy_return_fn *give_back;
};

/* Return the policy with this name or index, or NULL if there is no such policy. */
const struct policy *policy_find(const char *name);
const struct policy *policy_at(size_t index);

/*
 * Rule 9: funds a newcomer with the contract @terms from the free pool and from donors. Adds a
 * decision POLICY_FUND with the donors' moves to @out and changes want_cap_pct only. Returns the
 * newcomer's first cap in percent (whole steps, at most its contract), or -ENOSPC if that cap would
 * be below min_newcomer_pct or below the newcomer's floor. A vGPU gives nothing if it is held, is
 * overloaded or has an invalid busy reading.
 */
policy_fund_fn policy_fund;

/* Rule 10: gives the free pool to the vGPUs below their contract, in proportion to the shortfall of
 * each. The caller has already removed the vGPU from @gpu. */
policy_return_fn policy_return;

/* Rules 8 and 12: cuts the caps of vGPUs that are not held until all caps add up to at most 100 %.
 * Unused cap is cut first, then all caps in proportion, never below a floor. Returns 0, or -ENOSPC
 * if floors and holds alone exceed 100 %. The possible cuts are planned in both cases. */
int policy_fit(const struct policy_params *params, struct policy_gpu *gpu, struct policy_out *out);

/*
 * Rule 12: an operator fixes the cap of vGPU @index at @cap_pct, which the caller has checked
 * against step and ceiling. Plans that cap and, if this is a raise, the necessary cuts of other
 * vGPUs. Returns 0, or -ENOSPC if the raise does not fit; *ret_largest_pct is then the largest cap
 * that fits.
 */
int policy_hold(const struct policy_params *params, struct policy_gpu *gpu, int index, int cap_pct,
		struct policy_out *out, int *ret_largest_pct);

/* Adapts the cap of vGPU @index to a new contract @terms. If the cap is below the new floor or
 * above the new ceiling, plans the nearest allowed cap and, if this is a raise, the necessary
 * cuts of other vGPUs. Returns the same values as policy_hold(). */
int policy_set(const struct policy_params *params, struct policy_gpu *gpu, int index,
	       const struct policy_terms *terms, struct policy_out *out, int *ret_largest_pct);

/*
 * Rule 12 for a vGPU that does not exist now: plans the cuts of other vGPUs that reserve @cap_pct
 * instead of @reserved_pct for its return. Returns the same values as policy_hold().
 */
int policy_reserve(const struct policy_params *params, struct policy_gpu *gpu, int reserved_pct,
		   int cap_pct, struct policy_out *out, int *ret_largest_pct);

/*
 * Adds a contract whose vGPU does not exist now to @gpu->absent. Its demand is the largest of its
 * contract, of @cap_pct, which is reserved for it, and of the demands that @track contains.
 */
void policy_add_absent(struct policy_gpu *gpu, const struct policy_terms *terms,
		       const struct policy_track *track, int cap_pct);

/* Return the floor and the ceiling of a vGPU on this GPU, in whole steps. */
int policy_floor_pct(const struct policy_params *params, const struct policy_gpu *gpu,
		     const struct policy_terms *terms);
int policy_ceiling_pct(const struct policy_gpu *gpu, const struct policy_terms *terms);

/* Returns the largest share of the GPU that the contract allows, in percent: 100 with burst. */
int policy_terms_ceiling_pct(const struct policy_terms *terms);

#endif
