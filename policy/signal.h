/* SPDX-License-Identifier: MIT */
/* Rules 1 to 3 and 11: who is overloaded, why, and who of them can be helped. */
#ifndef POLICY_SIGNAL_H
#define POLICY_SIGNAL_H

#include "policy/rules.h"

enum signal_cause {
	SIGNAL_NONE,
	SIGNAL_USE,  /* rule 1 */
	SIGNAL_QOS,  /* rule 2; stands before use: it is what the customer sees */
	SIGNAL_WAKE, /* rule 11 */
};

/* Takes in one period: advances the runs and the window of every vGPU, sets all "out" fields of the
 * GPU and its vGPUs, and want_cap_pct to cap_pct. */
void signal_read(const struct policy_params *params, struct policy_gpu *gpu);

/* True where the busy time of all could be read, and the tick was not late. */
bool signal_all_read(const struct policy_gpu *gpu);

/* Why the signal of @vgpu is up, by its last reading. */
enum signal_cause signal_cause(const struct policy_params *params, const struct policy_gpu *gpu,
			       const struct policy_vgpu *vgpu);

/* By how many frames a second less than @target_fps is still not short of it (design.md section 2).
 */
double signal_tolerated_fps(double target_fps);

/* By how many whole steps the cap can grow: 0 at the ceiling and for a held vGPU. */
int signal_room_steps(const struct policy_gpu *gpu, const struct policy_vgpu *vgpu);

#endif
