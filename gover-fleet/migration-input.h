/* SPDX-License-Identifier: MIT */
/* What the migration of vGPUs needs to know of the state of gover-d. Pure. */
#ifndef GOVER_FLEET_MIGRATION_INPUT_H
#define GOVER_FLEET_MIGRATION_INPUT_H

#include "gover-fleet/migrate/advice.h"
#include "gover-fleet/model/host-state.h"

/* The arrays that a struct advice_host uses. All members are zero before migration_input_fill(). */
struct migration_input {
	struct advice_host host;
	struct advice_vgpu *vgpus;
	struct advice_alert *alerts;
	struct advice_failed_offer *failed_offers;
};

/*
 * Fills @input with the vGPUs of gover-fleet's contracts, the alerts and the failed offers.
 * @published: the cloud knows the overload of this state. Returns 0 or -ENOMEM. The caller calls
 * migration_input_fini() in both cases.
 */
int migration_input_fill(struct migration_input *input, const struct host_state *state,
			 bool published);
void migration_input_fini(struct migration_input *input);

#endif
