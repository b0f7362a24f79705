/* SPDX-License-Identifier: MIT */
/* Compares the members, because the bytes behind the end of a text can differ. */
#include <string.h>

#include "gover-fleet/model/wanted.h"

static bool gpus_equal(const struct wanted_gpu *a, const struct wanted_gpu *b)
{
	if (strcmp(a->name, b->name) != 0 || strcmp(a->policy, b->policy) != 0 ||
	    a->overloaded != b->overloaded || a->draining != b->draining ||
	    a->n_classes != b->n_classes)
		return false;
	for (size_t i = 0; i < a->n_classes; i++)
		if (strcmp(a->classes[i].name, b->classes[i].name) != 0 ||
		    a->classes[i].contracts != b->classes[i].contracts ||
		    a->classes[i].offers != b->classes[i].offers)
			return false;
	return true;
}

bool wanted_equal(const struct wanted *a, const struct wanted *b)
{
	if (a->n_gpus != b->n_gpus)
		return false;
	for (size_t i = 0; i < a->n_gpus; i++)
		if (!gpus_equal(&a->gpus[i], &b->gpus[i]))
			return false;
	return true;
}
