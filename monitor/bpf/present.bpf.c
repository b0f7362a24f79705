/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Counts frames in the kernel. The BPF program runs when a process enters a function that presents,
 * finds the vGPU by the control group of the process, and updates the counters of the vGPU.
 * Compiled once for each version of control groups (CGROUPS = 1 or 2). It runs in every frame, so
 * it must be short.
 */
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "monitor/bpf/count.h"

/*
 * Maximum levels of control groups that are searched for a vGPU: from the root downwards (version
 * 2) or from the process upwards (version 1).
 */
#define LEVELS_MAX 16

char program_license[] SEC("license") = "Dual MIT/GPL";

/* Key: id of the control group of a vGPU. Value: index of the vGPU's counters in @rows. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FPS_BPF_ROWS);
	__type(key, __u64);
	__type(value, __u32);
} groups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, FPS_BPF_ROWS);
	__type(key, __u32);
	__type(value, struct fps_bpf_row);
} rows SEC(".maps");

/* A thread's last counted frame. */
struct thread {
	__u64 last_ns;
	__u64 ip, sp; /* registers at the entry of the function that presented the frame */
	__u64 caller; /* return address, which is on the stack at @sp */
	__u32 row;
	__u32 reserved;
};

/* Key: thread. An entry is deleted when its thread exits or calls exec(). */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FPS_BPF_THREADS);
	__type(key, __u64);
	__type(value, struct thread);
} threads SEC(".maps");

#if CGROUPS == 2

/*
 * Returns the index in @rows for the control group of the process or for an ancestor of this group;
 * NULL: no vGPU.
 */
static __always_inline __u32 *find_row(void)
{
	for (int level = 1; level <= LEVELS_MAX; level++) {
		__u64 id = bpf_get_current_ancestor_cgroup_id(level);
		__u32 *row;

		if (id == 0)
			break;
		row = bpf_map_lookup_elem(&groups, &id);
		if (row)
			return row;
	}
	return NULL;
}

#else

/*
 * Kernel types that contain only the needed fields. The loader adjusts the offsets with the
 * kernel's BTF.
 */
#define OF_KERNEL __attribute__((preserve_access_index))

struct kernfs_node {
	__u64 id;
} OF_KERNEL;

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
} OF_KERNEL;

struct cgroup {
	struct kernfs_node *kn;
} OF_KERNEL;

struct css_set {
	struct cgroup_subsys_state *subsys[16];
} OF_KERNEL;

struct task_struct {
	struct css_set *cgroups;
} OF_KERNEL;

enum cgroup_subsys_id { cpu_cgrp_id = 1 };

/*
 * Returns the group in the hierarchy of the cpu controller. bpf_get_current_ancestor_cgroup_id()
 * cannot return this group, because it supports only version 2.
 */
static __always_inline struct cgroup_subsys_state *cpu_group(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *state = NULL;
	const void *at = (const char *)set + bpf_core_field_offset(set->subsys) +
			 bpf_core_enum_value(enum cgroup_subsys_id, cpu_cgrp_id) * sizeof(state);

	bpf_probe_read_kernel(&state, sizeof(state), at);
	return state;
}

static __always_inline __u32 *find_row(void)
{
	struct cgroup_subsys_state *state = cpu_group();

	for (int level = 0; level < LEVELS_MAX && state; level++) {
		__u64 id = BPF_CORE_READ(state, cgroup, kn, id);
		__u32 *row = bpf_map_lookup_elem(&groups, &id);

		if (row)
			return row;
		state = BPF_CORE_READ(state, parent);
	}
	return NULL;
}

#endif

/*
 * Returns true if the function that was counted last called the current function, directly or
 * through others: the presented frame is then already counted. The function that was counted last
 * is still running if its return address is still on the stack, and if the stack pointer is not
 * higher than when this function was counted (equal: a tail call).
 */
static __always_inline bool is_nested(const struct thread *thread, struct pt_regs *regs)
{
	__u64 caller = 0;

	if (PT_REGS_IP(regs) == thread->ip || PT_REGS_SP(regs) > thread->sp)
		return false;
	bpf_probe_read_user(&caller, sizeof(caller), (const void *)thread->sp);
	return caller == thread->caller;
}

static __always_inline void count_gap(struct fps_bpf_row *row, __u64 gap_ns)
{
	unsigned int bucket = fps_bpf_bucket(gap_ns);

	if (bucket < FPS_WIRE_BUCKETS) /* the BPF verifier requires this check */
		__sync_fetch_and_add(&row->frame_time[bucket], 1);
	if (gap_ns > row->longest_gap_ns)
		row->longest_gap_ns = gap_ns;
}

static __always_inline void store_thread(struct thread *known, __u64 thread_id,
					 struct fps_bpf_row *row, const struct thread *now)
{
	struct fps_bpf_row *old;

	if (!known) {
		if (bpf_map_update_elem(&threads, &thread_id, now, BPF_NOEXIST) == 0)
			__sync_fetch_and_add(&row->threads, 1);
		return;
	}
	if (known->row != now->row) { /* the thread moved to another vGPU */
		old = bpf_map_lookup_elem(&rows, &known->row);
		if (old)
			__sync_fetch_and_add(&old->threads, -1);
		__sync_fetch_and_add(&row->threads, 1);
	}
	*known = *now;
}

SEC("uprobe")
int present(struct pt_regs *regs)
{
	__u64 thread_id = bpf_get_current_pid_tgid();
	struct thread *known = bpf_map_lookup_elem(&threads, &thread_id);
	struct thread now = {
		.last_ns = bpf_ktime_get_ns(),
		.ip = PT_REGS_IP(regs),
		.sp = PT_REGS_SP(regs),
	};
	struct fps_bpf_row *row;
	const __u32 *index;

	if (known && is_nested(known, regs))
		return 0;
	index = find_row();
	if (!index)
		return 0;
	now.row = *index;
	row = bpf_map_lookup_elem(&rows, &now.row);
	if (!row)
		return 0;
	bpf_probe_read_user(&now.caller, sizeof(now.caller), (const void *)now.sp);
	__sync_fetch_and_add(&row->frames, 1);
	row->last_ns = now.last_ns;
	if (known && known->row == now.row && now.last_ns > known->last_ns)
		count_gap(row, now.last_ns - known->last_ns);
	store_thread(known, thread_id, row, &now);
	return 0;
}

/* Deletes the entry of the current thread. */
static __always_inline int forget_thread(void)
{
	__u64 thread_id = bpf_get_current_pid_tgid();
	const struct thread *known = bpf_map_lookup_elem(&threads, &thread_id);
	struct fps_bpf_row *row;

	if (!known)
		return 0;
	row = bpf_map_lookup_elem(&rows, &known->row);
	if (row)
		__sync_fetch_and_add(&row->threads, -1);
	bpf_map_delete_elem(&threads, &thread_id);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int thread_exit(void *unused)
{
	(void)unused;
	return forget_thread();
}

SEC("raw_tp/sched_process_exec")
int thread_exec(void *unused)
{
	(void)unused;
	return forget_thread();
}
