/* SPDX-License-Identifier: MIT */
/*
 * The state that a cloud must have, computed from the state of gover-d: for each GPU a provider
 * with a class of slots per flavour. Pure.
 */
#ifndef GOVER_FLEET_MODEL_MAPPING_H
#define GOVER_FLEET_MODEL_MAPPING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/id.h"
#include "gover-fleet/model/host-state.h"

#define WANTED_GPUS_MAX	   16
#define WANTED_CLASSES_MAX 17 /* of sixteen flavours, and the common class */
#define WANTED_CLASS_MAX   64 /* size of the name of a class with its NUL */
#define WANTED_POLICY_MAX  32 /* size of the name of a policy with its NUL */

#define WANTED_CLASS_PREFIX	"CUSTOM_GOVER_SLOT_"
#define WANTED_CLASS_COMMON	"CUSTOM_GOVER_SLOT" /* a unit of any flavour */
#define WANTED_TRAIT_PREFIX	"CUSTOM_GOVER_"
#define WANTED_TRAIT_OVERLOADED "CUSTOM_GOVER_OVERLOADED"
#define WANTED_TRAIT_DRAINING	"CUSTOM_GOVER_DRAINING"
#define WANTED_TRAIT_POLICY	"CUSTOM_GOVER_POLICY_" /* prefix of the name of the policy */

/*
 * The slots of a flavour on a GPU, or those of all flavours. The cloud may allocate contracts +
 * offers - ending of them. An offer counts in the class of each flavour that it lists, and once in
 * the common class, so that a server which takes a unit of both cannot take an offer that is
 * already taken.
 */
struct wanted_class {
	/* WANTED_CLASS_COMMON, or CUSTOM_GOVER_SLOT_<FLAVOUR>; characters A-Z, 0-9 and _ */
	char name[WANTED_CLASS_MAX];
	int contracts; /* >= 0 */
	int offers;    /* open offers, >= 0 */
	int ending;    /* of the offers: those too near their end for an allocation, >= 0 */
};

struct wanted_gpu {
	char name[ID_MAX]; /* id of the GPU in gover-d; unique in struct wanted */
	struct wanted_class classes[WANTED_CLASSES_MAX];
	size_t n_classes;
	bool overloaded, draining;	/* traits */
	char policy[WANTED_POLICY_MAX]; /* trait; "": no such trait */
};

struct wanted {
	struct wanted_gpu gpus[WANTED_GPUS_MAX];
	size_t n_gpus;
};

/*
 * Writes the name of a class or a trait: @prefix, then @name in upper case, with '_' for each
 * character that Placement does not allow. Returns -EINVAL if @name is empty, or -ENAMETOOLONG.
 */
int wanted_word(const char *prefix, const char *name, char *ret_word, size_t size);

/* Returns true for the class of a flavour. */
bool wanted_is_slot(const char *class_name);

/* Returns true for the common class of all flavours. */
bool wanted_is_common(const char *class_name);

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
