/* SPDX-License-Identifier: MIT */
/* Maps the state of gover-d to what Placement should contain. Pure. */
#ifndef GOVER_FLEET_MODEL_MAPPING_H
#define GOVER_FLEET_MODEL_MAPPING_H

#include "gover-fleet/model/host-state.h"
#include "gover-fleet/model/wanted.h"

/*
 * Counts the contracts made by gover-fleet and the open offers of each GPU, by flavour and
 * together. Contracts of others are not counted, because no allocation of the cloud uses them.
 * @with_offers: false if the offers may have expired, because gover-d did not answer for longer
 * than the life of an offer. @now_ms: ms since 1970, by gover-d's clock. Returns the number of
 * flavours of offers, of contracts and of GPUs that @ret_wanted could not take: too many GPUs or
 * flavours, or a flavour with a name that is too long.
 */
size_t mapping_want(const struct host_state *state, bool with_offers, int64_t now_ms,
		    struct wanted *ret_wanted);

/*
 * Returns how long before the end of an offer no new allocation is allowed, in ms: 1 s, or a
 * twentieth of the life of an offer if that is shorter. The write that withdraws the offer is
 * refused by Placement if an allocation was made since the last read, so each allocation is known
 * before the offer ends, and the offer can be held for it. An offer that is held has an allocation:
 * it is not withdrawn before its end.
 */
int64_t mapping_ending_ms(const struct host_state *state);

/* Returns true if @class_name is the class of this flavour. */
bool mapping_class_fits(const char *class_name, const char *flavor);

/*
 * Returns true if @offer is open and lists the flavour of this class on this GPU. @gpu "": on any
 * GPU.
 */
bool mapping_offer_fits(const struct state_offer *offer, const char *class_name, const char *gpu);

/* Returns the flavour of this class that @offer lists; NULL: none. It belongs to @offer. */
const char *mapping_offered_flavor(const struct state_offer *offer, const char *class_name);

/* Writes the class of a flavour. Errors are those of wanted_word(). */
int mapping_class_name(const char *flavor, char ret_name[WANTED_CLASS_MAX]);

/*
 * Returns the name of the flavour of a class, as the offers and contracts of @state have it; it
 * belongs to @state. For an unknown class, returns @class_name, without the prefix of slots.
 */
const char *mapping_flavor_of(const struct host_state *state, const char *class_name);

#endif
