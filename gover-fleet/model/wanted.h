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
#define WANTED_CLASSES_MAX 16
#define WANTED_CLASS_MAX   64 /* size of the name of a class with its NUL */
#define WANTED_POLICY_MAX  32 /* size of the name of a policy with its NUL */

#define WANTED_CLASS_PREFIX "CUSTOM_GOVER_SLOT_"

/* The slots of a flavour on a GPU. The cloud may allocate contracts + offers of them. */
struct wanted_class {
	char name[WANTED_CLASS_MAX]; /* CUSTOM_GOVER_SLOT_<FLAVOUR>; characters A-Z, 0-9 and _ */
	int contracts;		     /* >= 0 */
	int offers;		     /* open offers, >= 0 */
};

struct wanted_gpu {
	char name[ID_MAX]; /* id of the GPU in gover-d; unique in struct wanted */
	struct wanted_class classes[WANTED_CLASSES_MAX];
	size_t n_classes;
	/* traits: CUSTOM_GOVER_OVERLOADED, CUSTOM_GOVER_DRAINING */
	bool overloaded, draining;
	char policy[WANTED_POLICY_MAX]; /* trait CUSTOM_GOVER_POLICY_<NAME>; "": no such trait */
};

struct wanted {
	struct wanted_gpu gpus[WANTED_GPUS_MAX];
	size_t n_gpus;
};

/* Returns true if both contain the same GPUs and classes in the same order. */
bool wanted_equal(const struct wanted *a, const struct wanted *b);

#endif
