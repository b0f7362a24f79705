/* SPDX-License-Identifier: MIT */
/* Holds the offers whose allocation waits for the start of its domain. */
#ifndef GOVER_FLEET_HOLD_OFFERS_H
#define GOVER_FLEET_HOLD_OFFERS_H

#include "client/client.h"
#include "gover-fleet/cloud.h"
#include "gover-fleet/model/host-state.h"

/*
 * Holds offers for @hold_s seconds, for classes with more allocations than contracts, and only
 * offers that expire soon: see hold_due(). @wanted: as last published with @cloud. @client: to
 * gover-d. @now_ms: see model/hold.h. Failures are logged; the next call tries again.
 */
void hold_offers_for_servers(struct cloud *cloud, struct client *client,
			     const struct host_state *state, const struct wanted *wanted,
			     int64_t now_ms, int hold_s);

#endif
