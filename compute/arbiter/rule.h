/* SPDX-License-Identifier: MIT */
/*
 * The interface between turn.c and the disciplines, and the functions that both use. Only
 * compute/arbiter/ includes this file. A discipline decides the order and the slices. Turns,
 * leases, caps and accounting are the same in all disciplines.
 */
#ifndef COMPUTE_ARBITER_RULE_H
#define COMPUTE_ARBITER_RULE_H

#include "compute/arbiter/arbiter.h"

/* What a discipline does. NULL: nothing. */
struct arbiter_rule {
	/* A tenant is added, or the discipline begins. */
	void (*join)(struct arbiter *arbiter, struct arbiter_tenant *tenant);
	/* @tenant has work again. @rested: after a real idle period, not a short gap. */
	void (*wake)(struct arbiter *arbiter, struct arbiter_tenant *tenant, bool rested);
	/* @tenant has become idle. */
	void (*sleep)(struct arbiter *arbiter, struct arbiter_tenant *tenant);
	/* arbiter::now_ns has increased. */
	void (*advance)(struct arbiter *arbiter);
	/* Returns the next tenant. Called only if at least one tenant can run. */
	struct arbiter_tenant *(*choose)(struct arbiter *arbiter);
	/* Returns the slice of the turn that begins. NULL: options.slice_ns. */
	uint64_t (*slice)(const struct arbiter *arbiter, const struct arbiter_tenant *tenant);
	void (*charge)(struct arbiter *arbiter, struct arbiter_tenant *tenant, uint64_t device_ns,
		       uint32_t units);
	/* Returns whether the turn is over for another reason than its slice. */
	bool (*is_spent)(const struct arbiter_tenant *tenant);
	/* The turn of @tenant has ended. */
	void (*end)(struct arbiter *arbiter, struct arbiter_tenant *tenant);
	uint32_t units;		  /* of arbiter_turn::units, while another tenant can run */
	uint32_t units_in_flight; /* of arbiter_turn::units_in_flight */
};

extern const struct arbiter_rule arbiter_rule_fair, arbiter_rule_cap, arbiter_rule_guarantee,
	arbiter_rule_credit, arbiter_rule_vmcg, arbiter_rule_rr, arbiter_rule_fcfs;

/* Visits all tenants once, in the order of the round: the tenant of the last turn comes last. */
#define ARBITER_FOR_EACH(tenant, arbiter)                                                  \
	for (struct arbiter_tenant *tenant = arbiter_round_first(arbiter); tenant != NULL; \
	     tenant = arbiter_round_next(arbiter, tenant))

static inline struct arbiter_tenant *arbiter_round_first(const struct arbiter *arbiter)
{
	return arbiter->last ? arbiter->last->next : NULL;
}

static inline struct arbiter_tenant *arbiter_round_next(const struct arbiter *arbiter,
							const struct arbiter_tenant *tenant)
{
	return tenant == arbiter->last ? NULL : tenant->next;
}

static inline uint64_t arbiter_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t arbiter_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t arbiter_clamp(uint64_t value, uint64_t min, uint64_t max)
{
	return value < min ? min : arbiter_min(value, max);
}

/* Returns the smallest budget, in percent x ns, with which a turn begins. @pct > 0. */
int64_t arbiter_budget_min(const struct arbiter *arbiter, unsigned int pct);

/* Takes device time, at most ARBITER_CHARGE_MAX_NS, from a budget. */
void arbiter_spend(int64_t *budget, uint64_t device_ns);

/* Returns whether @tenant could begin a turn now. */
bool arbiter_can_run(const struct arbiter *arbiter, const struct arbiter_tenant *tenant);

/* Returns whether @tenant has the turn. */
bool arbiter_holds(const struct arbiter *arbiter, const struct arbiter_tenant *tenant);

#endif
