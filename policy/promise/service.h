/* SPDX-License-Identifier: MIT */
/*
 * Decides whether a vGPU with a promised rate and no service has no demand. A GPU that hangs and a
 * program that waits for its user give the same readings: no frames, no busy time, and a running
 * program. The rule distinguishes them by other readings:
 *
 * 1. Two or more vGPUs that worked have stopped at once, and the GPU has served no vGPU since: they
 *    are stalled. Users do not pause in the same second. A stalled vGPU stays so until it works
 *    again. If it asks for nothing, it also ends when the GPU serves another vGPU.
 * 2. A program that asks for the GPU and gets nothing does not wait for its user: it is in doubt.
 * 3. A program waits for its user if its backend sees that it asks for nothing; if the GPU has
 *    served another vGPU since it stopped; if it drew nothing before; or if it has been outside of
 *    every call that presents a frame for SERVICE_RESET_S. Drivers end a job that hangs sooner.
 * 4. Otherwise it is in doubt.
 *
 * The functions are pure, as all of policy/. The caller owns every struct.
 */
#ifndef POLICY_PROMISE_SERVICE_H
#define POLICY_PROMISE_SERVICE_H

#include "policy/policy.h"

/*
 * Limits of a job in the drivers: amdgpu 10 s for graphics and 60 s for compute (lockup_timeout),
 * xe 5 to 10 s (job_timeout_ms), i915 20 s (preempt_timeout_ms and heartbeats).
 */
#define SERVICE_RESET_S 60.0

/* What the programs of a vGPU ask the GPU for. */
enum service_ask {
	SERVICE_ASK_UNKNOWN,
	SERVICE_ASK_NOTHING, /* nothing waits or runs: the backend sees each submission */
	SERVICE_ASK_OUTSIDE, /* no thread is inside a call that presents a frame */
	SERVICE_ASK_WAITS,   /* a thread waits inside such a call, or work waits for the GPU */
};

enum service_state {
	SERVICE_GIVEN,	/* it gets something, or the readings do not show what it gets */
	SERVICE_PAUSED, /* it gets nothing, because it wants nothing */
	SERVICE_DOUBT,	/* it gets nothing, and may want something */
	SERVICE_STALLED,
};

/* State of one vGPU between periods, 0 for a new vGPU. Only policy/promise/ changes it. */
struct service_track {
	bool seen;	 /* it was observed in an earlier period */
	bool worked;	 /* it was served before it stopped */
	bool others;	 /* the GPU has served another vGPU since it stopped */
	bool stalled;	 /* rule 1 */
	double silent_s; /* time for which it has got nothing */
};

struct service_vgpu {
	/* in */
	/* dt_s 0: no reading, and nothing changes; fps_valid: a program lives and reports */
	struct sample sample;
	double target;	/* promised rate; 0: none */
	bool delivered; /* frames or units were counted before, also for an earlier daemon */
	enum service_ask ask;
	struct service_track track;
	/* out */
	enum service_state state;
	bool confirmed; /* it has got nothing for long enough to report it */
};

/* The result for the GPU. */
struct service_gpu {
	int stalled; /* number of vGPUs in this state, with or without confirmation */
	int doubtful;
	double silent_s; /* shortest time for which a stalled vGPU has got nothing */
	double apart_s;	 /* largest difference between the ends of their service */
};

/* Judges one period of @n vGPUs of a GPU. @period_s: nominal length of a period. */
void service_step(struct service_vgpu *const vgpus[], int n, double period_s,
		  struct service_gpu *ret_gpu);

/*
 * True if the GPU may serve nothing: nothing is sold, and no probation passes. True from the first
 * period in which a vGPU gets nothing for an unknown reason.
 */
bool service_is_missing(const struct service_gpu *gpu);

/* Returns what @vgpu means for a policy. */
enum policy_service service_for_policy(const struct service_vgpu *vgpu);

#endif
