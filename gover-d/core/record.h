/* SPDX-License-Identifier: MIT */
/* Records decisions: stores them in memory and passes them to the observers. */
#ifndef GOVER_D_CORE_RECORD_H
#define GOVER_D_CORE_RECORD_H

#include "gover-d/model/decisions.h"

struct manager;

/* Records @decision and returns its new id. Takes ownership of its JSON. */
int64_t record_add(struct manager *manager, struct decision *decision);

/* Records a decision that the policy did not make. @vgpu may be NULL. @format: the reason. */
void record_decision(struct manager *manager, const struct host_gpu *gpu, struct vgpu *vgpu,
		     enum decision_kind kind, enum decision_result result, struct instant now,
		     const char *format, ...) __attribute__((format(printf, 7, 8)));

#endif
