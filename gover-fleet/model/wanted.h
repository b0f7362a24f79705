/* SPDX-License-Identifier: MIT */
/*
 * The state that a cloud must have: for each GPU a provider with a class of slots per flavour.
 * Computed from the state of gover-d.
 */
#ifndef GOVER_FLEET_MODEL_WANTED_H
#define GOVER_FLEET_MODEL_WANTED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/id.h"

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

#endif
