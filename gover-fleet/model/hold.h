/* SPDX-License-Identifier: MIT */
/*
 * Decides which offers are held: an allocation of the cloud that waits for the start of its domain
 * needs an offer that does not expire before. Pure. Times are in ms since 1970, by gover-d's clock.
 */
#ifndef GOVER_FLEET_MODEL_HOLD_H
#define GOVER_FLEET_MODEL_HOLD_H

#include "gover-fleet/model/host-state.h"
#include "gover-fleet/model/mapping.h"

/* A consumer in Placement with a slot of a GPU: the UUID of a server, or of a migration. */
struct hold_consumer {
	char uuid[HOST_STATE_UUID_MAX];
	char slot[WANTED_CLASS_MAX];
};

/* Size of a holder with its NUL: the UUID of the server, a slash and the id of the offer. */
#define HOLD_HOLDER_MAX (HOST_STATE_UUID_MAX + 21)

struct hold_choice {
	int64_t offer;
	char holder[HOLD_HOLDER_MAX];
};

/*
 * Writes the holder of offer @offer for server @uuid. It is also the idempotency key of the claim.
 * gover-d accepts a key for one sale, and a server that returns to this host needs another sale.
 */
void hold_make_holder(const char *uuid, int64_t offer, char ret_holder[HOLD_HOLDER_MAX]);
/*
 * True if @offer is held for server @uuid: by gover-fleet, or by another program, whose holder is
 * the UUID.
 */
bool hold_is_for(const struct state_offer *offer, const char *uuid);

/*
 * Returns true if an open offer of @slot on @gpu expires soon and has no holder: within 30 s, or
 * within a quarter of the life of an offer if that is shorter.
 */
bool hold_due(const struct host_state *state, const char *gpu, const char *slot, int64_t now_ms);

/*
 * Returns the time in ms after which hold_due() may have another result, an offer is to be
 * withdrawn (see mapping_ending_ms()), or new allocations should be considered: more often the
 * nearer the end of an offer is, but at most every 500 ms. INT_MAX: no offer can be held.
 */
int hold_next_ms(const struct host_state *state, int64_t now_ms);

/*
 * Chooses offers of @slot on @gpu for the consumers that have neither a contract nor a held offer;
 * the offer that expires first is chosen first. @consumers: all of this GPU. Chooses nothing if
 * more consumers have no contract than allocations are without one: during a migration, the
 * allocation of a contract belongs to the migration, and it is not known which consumer waits.
 * An offer with a holder is never chosen, so an allocation without a domain prolongs an offer once.
 * Returns the number of choices, at most @max.
 */
size_t hold_choose(const struct host_state *state, const char *gpu, const char *slot,
		   const struct hold_consumer *consumers, size_t n_consumers, int64_t now_ms,
		   struct hold_choice *ret_choices, size_t max);

#endif
