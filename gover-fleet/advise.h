/* SPDX-License-Identifier: MIT */
/* What the migration of vGPUs needs to know of the state of gover-d. Pure. */
#ifndef GOVER_FLEET_ADVISE_H
#define GOVER_FLEET_ADVISE_H

#include "gover-fleet/migrate/advice.h"
#include "gover-fleet/model/host-state.h"

/* The arrays that a struct advice_host uses. All members are zero before advise_fill(). */
struct advise {
	struct advice_host host;
	struct advice_vgpu *vgpus;
	struct advice_alert *alerts;
	struct advice_failed_offer *failed_offers;
};

/*
 * Fills @advise with the vGPUs of gover-fleet's contracts, the alerts and the failed offers.
 * @published: the cloud knows the overload of this state. Returns 0 or -ENOMEM. The caller calls
 * advise_fini() in both cases.
 */
int advise_fill(struct advise *advise, const struct host_state *state, bool published);
void advise_fini(struct advise *advise);

#endif
