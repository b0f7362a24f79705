/* SPDX-License-Identifier: MIT */
/*
 * Learns whether, and how fast, vGPUs that should leave the host are migrated. A vGPU is named by a
 * severe overload, because it failed its probation, or because a cloud was asked to migrate it. A
 * naming is answered if this vGPU departs in time. After a named vGPU has stayed, no migrations are
 * expected until a named vGPU departs.
 */
#ifndef POLICY_QOS_MOVING_H
#define POLICY_QOS_MOVING_H

#include "policy/policy.h"

/* Learns from one period: the departures of named vGPUs, the time that the others wait, and the
 * newcomer that failed its probation. Without on_migrate, everything is forgotten. */
void moving_learn(struct policy_gpu *gpu);

/* Records that vGPU @index should leave the host. If it was named before, that time counts. */
void moving_name(struct policy_gpu *gpu, int index);

/* Records that a cloud was asked to migrate vGPU @id. If it was named before, that time counts. */
void moving_note_requested(struct policy_gpu *gpu, const char *id);

/* Records that the migration of vGPU @id has failed: its naming counts as not answered at once. Has
 * no effect if the vGPU is not named. */
void moving_note_failed(struct policy_gpu *gpu, const char *id);

/*
 * Returns the probability that a named vGPU is migrated: 0 without on_migrate, before the first
 * answer, and after a naming that was not answered. It approaches 1 with each answer.
 */
double moving_trust(const struct policy_gpu *gpu);

/* Returns true if the last namings were answered. */
bool moving_is_known(const struct policy_gpu *gpu);

/* Returns the estimated time in seconds from a naming to the departure. */
double moving_delay_s(const struct policy_gpu *gpu);

/* The estimate learned from earlier namings, without pending namings. All members are 0 if nothing
 * was learned. */
struct moving_estimate {
	bool unanswered; /* a named vGPU stayed for too long */
	int answered;	 /* number of namings answered since then */
	double delay_s;	 /* estimated time from a naming to the departure; 0: unknown */
};

/* Returns the present estimate, so that the caller can store it across a restart. */
struct moving_estimate moving_save(const struct policy_moving *moving);

/* Sets an estimate that was saved earlier. Numbers out of range are replaced by the nearest allowed
 * ones. Pending namings do not change. */
void moving_load(struct policy_moving *moving, const struct moving_estimate *estimate);

#endif
