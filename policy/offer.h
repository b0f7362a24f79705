/* SPDX-License-Identifier: MIT */
/*
 * The life of an offer to sell one more vGPU: open, then on probation, then kept or failed. The
 * daemon and the experiments follow the same rules. Times are monotonic and in nanoseconds.
 */
#ifndef POLICY_OFFER_H
#define POLICY_OFFER_H

#include <stdint.h>

#include "policy/policy.h"

#define OFFER_SEVERE_PERIODS 3 /* a probation fails after this many consecutive severe periods */
#define OFFER_REASON_MAX     512

enum offer_state {
	OFFER_OPEN,
	OFFER_PROBATION, /* claimed: the newcomer exists and is watched */
	OFFER_KEPT,
	OFFER_FAILED, /* no further offers until the newcomer is removed */
	OFFER_EXPIRED,
	OFFER_CLOSED, /* withdrawn, no longer fundable, or the newcomer was removed during its
			 probation */
	OFFER_STATES
};

/* Returns the name of a state in REST, database and log: "open", "probation", ... */
const char *offer_state_name(enum offer_state state);
int offer_state_parse(const char *name, enum offer_state *ret_state); /* -EINVAL */

enum offer_end {
	OFFER_NOT_ENDED,
	OFFER_END_UNCLAIMED,
	OFFER_END_UNFUNDABLE,
	OFFER_END_REMOVED,
	OFFER_END_SEVERE,
	OFFER_END_BROKEN,
	OFFER_END_PASSED,
};

struct offer_life {
	enum offer_state state;
	enum offer_end end; /* why the offer ended */
	uint64_t expires_ns, probation_ends_ns;
	double watched_s; /* vGPU-seconds observed on probation */
	double broken_s;  /* broken vGPU-seconds on probation */
	int severe_run;	  /* consecutive periods of severe overload on probation */
	bool newcomer_gone;
};

struct offer_limits {
	int min_newcomer_pct; /* smallest first cap of a newcomer; if less can be funded, the offer
				 is closed */
	double broken_pct;    /* largest broken time with which a probation passes, percent */
};

/* The observations on one GPU in one period. */
struct offer_period {
	double watched_s; /* vGPU-seconds with a valid reading */
	double broken_s;  /* vGPU-seconds for which offer_counts_broken() is true */
	bool severe;	  /* result of offer_is_severe() */
	/* time in which the readings show nothing about the newcomer; 0 if this period is not such
	 * a time. It does not count, and the probation ends later by it */
	uint64_t unserved_ns;
};

/* Returns true while the offer prevents another offer on its GPU. */
bool offer_is_live(const struct offer_life *life);

/* Returns true if @gpu is severely overloaded because of its newcomer. */
bool offer_is_severe(const struct policy_gpu *gpu);

/*
 * Returns true if @vgpu is broken and more GPU time could help it. A vGPU that has the cap of its
 * contract, or uses all the time of its contract, is broken because its target cannot be reached
 * with this contract. A held vGPU is broken because of the hold. Neither is the newcomer's fault.
 */
bool offer_counts_broken(const struct policy_gpu *gpu, const struct policy_vgpu *vgpu);

void offer_claim(struct offer_life *life, uint64_t probation_ends_ns);

/* The functions below return true if they ended the offer. */

/* Closes an open offer if @funded_pct, the result of policy.fund(), is a negative errno. */
bool offer_restate(struct offer_life *life, int funded_pct);

/* Updates an offer after one period. An open offer may expire; a probation may fail or pass. A
 * probation in which no reading was valid continues. */
bool offer_update(struct offer_life *life, const struct offer_period *period,
		  const struct offer_limits *limits, uint64_t now_ns);

/* Updates an offer after its newcomer was removed. An offer on probation is closed. A failed offer
 * no longer prevents further offers. */
bool offer_remove_newcomer(struct offer_life *life);

/* Writes the reason why the offer ended, as text for operators. */
void offer_explain(const struct offer_life *life, const struct offer_limits *limits,
		   const char *newcomer, char text[OFFER_REASON_MAX]);

#endif
