/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The interface of the scheduling policy for i915 GVT-g, extended by caps, leases and counters of
 * vGPUs. Replaces gvt/sched_policy.h. It includes no header of gover, because all of GVT-g includes
 * it through gvt.h.
 */
#ifndef KERNEL_GOVER_SCHED_POLICY_SCHED_POLICY_H
#define KERNEL_GOVER_SCHED_POLICY_SCHED_POLICY_H

struct intel_gvt;
struct intel_vgpu;

/* A policy. All functions are called with gvt->sched_lock held. */
struct intel_gvt_sched_policy_ops {
	int (*init)(struct intel_gvt *gvt);
	void (*clean)(struct intel_gvt *gvt);
	int (*init_vgpu)(struct intel_vgpu *vgpu);
	void (*clean_vgpu)(struct intel_vgpu *vgpu);
	void (*start_schedule)(struct intel_vgpu *vgpu);
	void (*stop_schedule)(struct intel_vgpu *vgpu);
};

int intel_gvt_init_sched_policy(struct intel_gvt *gvt);
void intel_gvt_clean_sched_policy(struct intel_gvt *gvt);
int intel_vgpu_init_sched_policy(struct intel_vgpu *vgpu);
void intel_vgpu_clean_sched_policy(struct intel_vgpu *vgpu);
void intel_vgpu_start_schedule(struct intel_vgpu *vgpu);
void intel_vgpu_stop_schedule(struct intel_vgpu *vgpu);

/* Decides which vGPU has the GPU. Only the service thread calls it. */
void intel_gvt_schedule(struct intel_gvt *gvt);

/* Requests a decision from the service thread. Can be called from any context. */
void intel_gvt_kick_schedule(struct intel_gvt *gvt);

/*
 * Call both functions with gvt->sched_lock held: intel_vgpu_begin_workload() when a workload of
 * @vgpu becomes current_workload[] of an engine, and intel_vgpu_end_workload() when that workload
 * has ended.
 */
void intel_vgpu_begin_workload(struct intel_vgpu *vgpu);
void intel_vgpu_end_workload(struct intel_vgpu *vgpu);

/* The state of a vGPU at one instant. */
struct intel_vgpu_sched_state {
	unsigned int cap_pct; /* the last cap that was written */
	unsigned int initial_cap_pct;
	unsigned int ceiling_pct;
	u64 lease_ns;
	u64 busy_ns;
	u64 sched_ns;
};

/* The functions below never wait for the GPU: they take only the accounting lock. */
void intel_vgpu_read_sched(struct intel_vgpu *vgpu, struct intel_vgpu_sched_state *ret_state);

/*
 * Each returns -EINVAL if the percentage exceeds 100. After a cap was written,
 * intel_vgpu_set_initial_cap() returns -EPERM.
 */
int intel_vgpu_set_cap(struct intel_vgpu *vgpu, u32 cap_pct);
int intel_vgpu_set_initial_cap(struct intel_vgpu *vgpu, u32 cap_pct);
int intel_vgpu_set_ceiling(struct intel_vgpu *vgpu, u32 ceiling_pct);

/* @lease_ms 0: no lease. Always returns 0. */
int intel_vgpu_set_lease(struct intel_vgpu *vgpu, u32 lease_ms);

/*
 * intel_gvt_sharing() returns the word of the discipline in force: "hard" (caps are limits),
 * "guarantee" or "weight". intel_gvt_set_sharing() changes the discipline at once. @word is "hard"
 * or "guarantee", with or without a newline; for other words it returns -EINVAL and changes
 * nothing.
 */
const char *intel_gvt_sharing(struct intel_gvt *gvt);
int intel_gvt_set_sharing(struct intel_gvt *gvt, const char *word);

/* The files of the sysfs group intel_vgpu (gvt/sched_sysfs.c). */
#define INTEL_VGPU_SCHED_ATTRS 6
extern struct device_attribute intel_vgpu_sched_attrs[INTEL_VGPU_SCHED_ATTRS];

/*
 * The file gover_sharing of the GPU's device. Create it before the mdev parent is registered;
 * remove it before gvt is freed.
 */
extern struct device_attribute intel_gvt_sharing_attr;

#endif
