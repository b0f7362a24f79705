/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What i915 GVT-g asks of its scheduling policy, and what gover's offers beyond that: a vGPU's cap,
 * its lease and its books. Replaces gvt/sched_policy.h. Must never need a header of gover's: all of
 * GVT-g includes it, by gvt.h.
 */
#ifndef KERNEL_GOVER_SCHED_POLICY_SCHED_POLICY_H
#define KERNEL_GOVER_SCHED_POLICY_SCHED_POLICY_H

struct intel_gvt;
struct intel_vgpu;

/* A policy. All are called with gvt->sched_lock held. */
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

/* Decides who has the GPU. The service thread calls it, and nobody else. */
void intel_gvt_schedule(struct intel_gvt *gvt);

/* Asks the service thread for that. From any context. */
void intel_gvt_kick_schedule(struct intel_gvt *gvt);

/*
 * One of @vgpu's workloads was taken for an engine, or has left it: it was current_workload[] of
 * that engine in between. With gvt->sched_lock held.
 */
void intel_vgpu_begin_workload(struct intel_vgpu *vgpu);
void intel_vgpu_end_workload(struct intel_vgpu *vgpu);

/* What can be read of a vGPU, all at one instant. */
struct intel_vgpu_sched_state {
	unsigned int cap_pct; /* as set last */
	unsigned int initial_cap_pct;
	u64 lease_ns;
	u64 busy_ns;
	u64 sched_ns;
};

/* These wait for no GPU: they lock the books alone. */
void intel_vgpu_read_sched(struct intel_vgpu *vgpu, struct intel_vgpu_sched_state *ret_state);

/* -EINVAL: more than 100 %. -EPERM: the initial cap once a cap was set. */
int intel_vgpu_set_cap(struct intel_vgpu *vgpu, u32 cap_pct);
int intel_vgpu_set_initial_cap(struct intel_vgpu *vgpu, u32 cap_pct);

int intel_vgpu_set_lease(struct intel_vgpu *vgpu, u32 lease_ms); /* 0: none; never fails */

/* The files of the above, for the group intel_vgpu (gvt/sched_sysfs.c). */
#define INTEL_VGPU_SCHED_ATTRS 5
extern struct device_attribute intel_vgpu_sched_attrs[INTEL_VGPU_SCHED_ATTRS];

#endif
