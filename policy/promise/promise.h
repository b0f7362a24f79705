/* SPDX-License-Identifier: MIT */
/*
 * The promise of a vGPU: whether it is kept, for how long it has been broken, and why.
 *
 * A vGPU with a target is promised this rate. A vGPU without a target is promised the smaller of
 * its demand and its contract (docs/design.md, section 2, "broken"). A period is bad if the vGPU
 * got less. A bad period counts for the guest if a larger cap would not help, and for the host
 * otherwise.
 *
 * An alarm begins if the bad time is a stated share of a fast or a slow window, as in chapter 5 of
 * the Google SRE Workbook ("multiwindow, multi-burn-rate alerts"). The newest twelfth of the slow
 * window must be bad too. The newest sixth of this window ends its alarm, so that the alarm does
 * not outlast its cause by the whole window.
 *
 * The functions are pure, as all of policy/. The caller owns every struct.
 */
#ifndef POLICY_PROMISE_PROMISE_H
#define POLICY_PROMISE_PROMISE_H

#include "policy/promise/service.h"

enum promise_state {
	PROMISE_UNKNOWN, /* readings are missing */
	PROMISE_KEPT,
	PROMISE_BROKEN,
};

/* How soon an operator must act. */
enum promise_urgency {
	PROMISE_INFO,	  /* the guest is the limit: nothing on the host helps */
	PROMISE_WARNING,  /* gover-d can still help */
	PROMISE_CRITICAL, /* nothing that gover-d may do helps */
};

/*
 * CAUSE(name in the code, name in REST and in the history, urgency)
 * If several causes apply, the first row is the cause (promise.c).
 */
#define PROMISE_CAUSES(CAUSE)                                                 \
	CAUSE(TELEMETRY_STALE, "telemetry_stale", CRITICAL)                   \
	CAUSE(GPU_STALLED, "gpu_stalled", CRITICAL)                           \
	CAUSE(CAPS_NOT_ENFORCED, "caps_not_enforced", CRITICAL)               \
	CAUSE(GUEST_LIMIT, "guest_limit", INFO)                               \
	CAUSE(FOREIGN_CAP, "foreign_cap", CRITICAL)                           \
	CAUSE(HELD, "held", CRITICAL)                                         \
	CAUSE(CONTRACT_TOO_SMALL, "contract_too_small", CRITICAL)             \
	CAUSE(NOT_ACTING, "not_acting", CRITICAL)                             \
	CAUSE(CAP_WRITE_FAILED, "cap_write_failed", CRITICAL)                 \
	CAUSE(GPU_OVERCOMMITTED, "gpu_overcommitted", CRITICAL)               \
	CAUSE(DONORS_AT_FLOOR, "donors_at_floor", CRITICAL)                   \
	CAUSE(POLICY_IDLE, "policy_idle", CRITICAL)                           \
	CAUSE(ADJUSTING, "adjusting", WARNING)                                \
	/* The rate is missing, so the promise is neither kept nor broken. */ \
	CAUSE(FRAMES_MISSING, "frames_missing", WARNING)                      \
	/* It gets nothing, and may want nothing. */                          \
	CAUSE(SERVICE_UNKNOWN, "service_unknown", WARNING)

#define PROMISE_CAUSE_ID(name, ...) PROMISE_##name,
/* PROMISE_NO_CAUSE is 0, so that a new vGPU has none. */
enum promise_cause { PROMISE_NO_CAUSE, PROMISE_CAUSES(PROMISE_CAUSE_ID) PROMISE_CAUSE_COUNT };
#undef PROMISE_CAUSE_ID

/* Returns the name of a cause; NULL for PROMISE_NO_CAUSE. */
const char *promise_cause_name(enum promise_cause cause);
/* Returns the cause with this name; PROMISE_NO_CAUSE if there is none. */
enum promise_cause promise_cause_find(const char *name);
enum promise_urgency promise_cause_urgency(enum promise_cause cause);

/* When an alarm begins: section [alerts] of the configuration. */
struct promise_limits {
	double fast_pct;      /* share of the fast window, 1 to 100; default 50 */
	double fast_window_s; /* 10 to 3600; default 60 */
	double slow_pct;      /* share of the slow window, 0.1 to 100; default 5 */
	double slow_window_s; /* fast_window_s to 86400; default 3600 */
};
void promise_limits_default(struct promise_limits *limits);

/* The bad seconds of the last window, as a ring of slots. All members are 0 at first. */
#define PROMISE_SLOTS 60
struct promise_window {
	double slot_s; /* length of a slot; 0: not in use yet */
	double in_slot_s;
	int at;				 /* the present slot */
	double bad_s[PROMISE_SLOTS + 1]; /* the complete slots and the present one */
};

struct promise_burn {
	struct promise_window fast, slow;
	bool fast_burns, slow_burns; /* the alarm of each window, with hysteresis */
};

enum promise_side { PROMISE_HOST, PROMISE_GUEST, PROMISE_SIDES };

/* State of one vGPU between periods, 0 for a new vGPU. Only policy/promise/ changes it. */
struct promise_track {
	struct promise_burn burn[PROMISE_SIDES];
	double weight[PROMISE_CAUSE_COUNT]; /* how often each cause applied lately, 0 to 1 */
	double bad;			    /* share of bad time lately, 0 to 1 */
	/* The members below are means of the last seconds. */
	bool seen;		   /* load_pct, allotted_pct and want_pct are valid */
	double load_pct;	   /* share of the GPU in use */
	double allotted_pct;	   /* cap in the same periods */
	double want_pct, sure_pct; /* demand, at most the ceiling; the measured part of it */
	bool rate_seen;
	double rate;
	int highest_cap_pct; /* largest cap since the service is bad */
	double unraised_s;   /* consecutive bad seconds since the cap was raised */
};

/* Facts about one vGPU that the policy does not know, and the result. */
struct promise_vgpu {
	bool foreign;	   /* held because another program wrote its cap */
	bool write_failed; /* its cap could not be written lately */
	/* input and result of service_step(), which is called before promise_step() */
	struct service_vgpu service;
	struct promise_track track;
	/* out */
	enum promise_state state;
	enum promise_cause cause; /* why it is broken or unknown; PROMISE_NO_CAUSE: it is kept */
	/* The cause in this period; PROMISE_NO_CAUSE: none, or not judged. @cause may be older. */
	enum promise_cause found;
	bool alarm; /* too much bad time in a window */
	/* Bad time of the host has priority. PROMISE_NO_CAUSE: no alarm, or the cause is unknown */
	enum promise_cause alarm_cause;
};

/* Facts about the GPU, and the result. */
struct promise_gpu {
	struct service_gpu service; /* result of service_step() */
	bool telemetry_valid;	    /* false: the busy time of the GPU cannot be read */
	bool acts;		    /* false: mode observe or frozen, or a dry run */
	bool observes;		    /* the GPU cannot be steered: caps are a measure and no limit */
	bool hard_caps;		    /* a cap is a hard limit, so that a use above it is an error */
	/* out */
	double wanted_pct; /* sum of want_pct */
	double sure_pct;   /* sum of sure_pct; less if contracts are assumed as demands */
	int spare_pct; /* free pool, and the cap that donors can give without being overloaded */
};

/*
 * Judges one period. Call it after the step of the policy, which sets the "out" members of
 * @gpu->vgpus. @vgpus[i] belongs to gpu->vgpus[i].
 */
void promise_step(const struct policy_params *params, const struct promise_limits *limits,
		  const struct policy_gpu *gpu, struct promise_gpu *host,
		  struct promise_vgpu *const vgpus[]);

/* Bad shares of the windows in percent: of the host or, during an alarm of the guest, of the guest.
 */
double promise_fast_pct(const struct promise_vgpu *vgpu);
double promise_slow_pct(const struct promise_vgpu *vgpu);

/* Bad seconds of the host in the slow window. */
double promise_slow_bad_s(const struct promise_vgpu *vgpu);

/* True if the demands exceed the GPU: the measured ones, or all of them by a margin. */
bool promise_is_overcommitted(const struct promise_gpu *gpu);

/* Forgets the bad time of @vgpu, because its target changed. */
void promise_reset(struct promise_vgpu *vgpu);

/*
 * Restores the slow window of the host, of which @bad_s seconds were bad. @burns: its alarm holds.
 * The time at which they were bad is not known, so they are spread over the window.
 */
void promise_restore_slow(struct promise_vgpu *vgpu, const struct promise_limits *limits,
			  double bad_s, bool burns);

/* Continues the alarm of an earlier run of the daemon: the fast window counts as bad. */
void promise_resume(struct promise_vgpu *vgpu, const struct promise_limits *limits,
		    enum promise_cause cause);

/* Adds @dt_s seconds, of which @bad_s were bad, and updates both alarms. */
void burn_add(struct promise_burn *burn, const struct promise_limits *limits, double dt_s,
	      double bad_s);

/* Returns the bad share of the newest @slots slots, in percent of the length of these slots. */
double burn_share_pct(const struct promise_window *window, int slots);

#endif
