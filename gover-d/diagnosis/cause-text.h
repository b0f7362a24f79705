/* SPDX-License-Identifier: MIT */
/* The words for each cause of a broken or unknown promise. */
#ifndef GOVER_D_DIAGNOSIS_CAUSE_TEXT_H
#define GOVER_D_DIAGNOSIS_CAUSE_TEXT_H

#include "gover-d/diagnosis/diagnosis.h"

struct subject {
	const struct config *config;
	const struct host_gpu *gpu;
	const struct vgpu *vgpu;
	struct policy_terms terms; /* in the unit of the GPU */
	const char *unit;	   /* of rates: "FPS" or "units/s" */
	int digits;		   /* decimal places of rates */
};

/* Appends the cause to the text, and sets fix and command. */
void cause_text_add(const struct subject *subject, enum promise_cause cause, struct diagnosis *d);

#endif
