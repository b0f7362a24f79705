/* SPDX-License-Identifier: MIT */
/* The interface between source.c and the sources. Only source*.c include it. */
#ifndef GPU_DRM_SOURCE_H
#define GPU_DRM_SOURCE_H

#include "gpu/drm/truth.h"

/* Samples after which truth_tenant_fn is called again for a user, because a process can move. */
#define TRUTH_TENANT_SAMPLES 16

/* Where a source writes its sample; owned by source.c. */
struct truth_sheet {
	struct truth_user users[TRUTH_USERS_MAX];
	size_t n_users;
	struct truth_counts counts; /* without clients and outside, which source.c counts */
	struct err problem;	    /* see struct truth_report; "" before each sample */
};

struct truth_state; /* of a source */

struct truth_source {
	const char *name;
	int (*open)(const struct truth_config *config, struct truth_state **ret_state,
		    struct err *reterr);
	void (*close)(struct truth_state *state);
	/* Replaces the users and the counts of the sheet. @passed_ns: time since the last sample
	 * without an error; 0: the first. Returns a negative errno with sheet->problem. */
	int (*sample)(struct truth_state *state, uint64_t now_ns, uint64_t passed_ns,
		      struct truth_sheet *sheet);
};

extern const struct truth_source truth_fdinfo, truth_nvml;

#endif
