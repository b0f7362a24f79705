/* SPDX-License-Identifier: MIT */
/* Rules 1 to 3 and 11: which vGPUs are overloaded, why, and whether more cap can help them. */
#ifndef POLICY_SIGNAL_H
#define POLICY_SIGNAL_H

#include "policy/policy.h"

/*
 * The rules in force. Paper mode switches off every rule of gover that moves caps differently from
 * the paper. This list is complete: nothing else reads params->paper_mode.
 */
struct rules {
	bool met_target_excuses; /* rule 1: a vGPU that meets its target FPS is not overloaded by
				    use */
	double gpu_bound;      /* rule 2: smallest u with which more cap can help, as a fraction */
	bool helpless_count;   /* rules 4, 6 and 7 also count vGPUs that cannot receive (rule 3 is
				  off) */
	bool pool_first;       /* rule 5: the free pool gives cap before donors do */
	bool donor_below_line; /* rule 6: a donor stays below overload_pct */
	bool wake;	       /* rule 11 */
};

struct rules rules_in_force(const struct policy_params *params);

enum signal_cause {
	SIGNAL_NONE,
	SIGNAL_USE,  /* rule 1 */
	SIGNAL_QOS,  /* rule 2: short of the target FPS; has priority over SIGNAL_USE */
	SIGNAL_WAKE, /* rule 11 */
};

/* Reads one period: updates the runs and the window of every vGPU, and sets all "out" fields of the
 * GPU and its vGPUs. Sets want_cap_pct to cap_pct. */
void signal_read(const struct policy_params *params, struct policy_gpu *gpu);

/*
 * Returns the use of the time that was available to @vgpu; the busy reading must be valid. With
 * POLICY_SHARING_HARD, this is u. With POLICY_SHARING_GUARANTEE, a vGPU can use spare time, so that
 * less than the ceiling is available only if the GPU did not idle. Then all vGPUs that want more
 * have the same u, which is available to each of them.
 */
double signal_use(const struct policy_gpu *gpu, const struct policy_vgpu *vgpu);

/* Returns true if @vgpu uses its whole ceiling by spare time: a larger cap does not help.
 * Always false with POLICY_SHARING_HARD. */
bool signal_fills_ceiling(const struct policy_gpu *gpu, const struct policy_vgpu *vgpu);

/*
 * Returns true if @vgpu is GPU-bound: u is at least @line, a fraction. With
 * POLICY_SHARING_GUARANTEE, a vGPU below its ceiling has no work while the GPU idles. It is
 * therefore GPU-bound only if the GPU idled for less than 1 - @line of the time, or if it uses
 * @line of its ceiling.
 */
bool signal_gpu_bound(double line, const struct policy_gpu *gpu, const struct policy_vgpu *vgpu);

/* Returns true if every busy reading is valid and shows a demand, and the tick was not late. */
bool signal_all_read(const struct policy_gpu *gpu);

/* Returns why @vgpu is overloaded, from its last reading. */
enum signal_cause signal_cause(const struct policy_params *params, const struct policy_gpu *gpu,
			       const struct policy_vgpu *vgpu);

/* Returns the whole steps by which the cap can grow; 0 for a held vGPU, or if the vGPU fills its
 * ceiling. */
int signal_room_steps(const struct policy_gpu *gpu, const struct policy_vgpu *vgpu);

#endif
