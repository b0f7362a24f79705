/* SPDX-License-Identifier: MIT */
/*
 * Keeps contracts and domains equal, in a thread: claims for a domain that runs without a contract,
 * and ends the contract of a domain that no longer exists. It decides by whole lists, not by
 * events.
 */
#ifndef GOVER_FLEET_CLAIM_RECONCILER_H
#define GOVER_FLEET_CLAIM_RECONCILER_H

#include "gover-fleet/claim/claim.h"
#include "gover-fleet/claim/domains.h"
#include "gover-fleet/host/follower.h"
#include "gover-fleet/model/bell.h"

struct reconciler;

struct reconciler_counts {
	/* domains that run without the contract that they want, and unverified contracts */
	int unverified;
	unsigned int claimed; /* contracts made for running domains */
	unsigned int ended;   /* contracts ended */
};

/*
 * Starts the thread. @bell is rung after a change of the domains or of the state of gover-d.
 * @domains, @follower and @bell are used until reconciler_free(). The reconciler owns @claimer,
 * also after an error. @grace_s: a contract younger than this is not ended, because its domain may
 * still be on its way. @changed is called in the thread after a change of the counts.
 */
int reconciler_new(struct domains *domains, struct follower *follower, struct claimer *claimer,
		   struct bell *bell, int grace_s, void (*changed)(void *userdata), void *userdata,
		   struct reconciler **ret_reconciler, struct err *reterr);
/* Stops the bell and ends the thread, within the time limit of a request. Accepts NULL; returns
 * NULL. */
struct reconciler *reconciler_free(struct reconciler *reconciler);

void reconciler_count(struct reconciler *reconciler, struct reconciler_counts *ret_counts);

#endif
