/* SPDX-License-Identifier: MIT */
/*
 * The GPUs and vGPUs of the host, with the last sample of each vGPU. Plain data, used only in the
 * thread of the event loop. Each member of a GPU and of a vGPU is changed by one module, which is
 * named above it.
 */
#ifndef GOVER_D_MODEL_HOST_H
#define GOVER_D_MODEL_HOST_H

#include <jansson.h>
#include <string.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/id.h"
#include "db/db.h"
#include "gover-d/model/contract.h"
#include "gover-d/model/cap.h"
#include "gover-d/model/diagnosis.h"
#include "gpu/io.h"
#include "monitor/monitor.h"
#include "policy/policy.h"
#include "policy/promise/promise.h"
#include "policy/qos/moving.h"

#define TICKS_TIMED 256
#define REFUSED_MAX 16 /* at most this number of refused vGPUs of a GPU are logged by name */

/* Sums since @since_ms, also over restarts of the daemon (tick/ledger.h). */
struct vgpu_tally {
	int64_t since_ms;
	double seen_s; /* time with a valid sample */
	double broken_s;
	uint64_t steals_in, steals_out;
	uint64_t cap_writes;	/* before the start of the daemon */
	double fps_sum_s;	/* integral of the frame rate over fps_s */
	double fps_s;		/* time with a valid frame rate */
	double cap_error_pct_s; /* integral of |load - cap| over cap_error_s */
	double cap_error_s;	/* time in which the use was above overload_pct */
};

/* Amounts that ledger.c has not stored in the history yet. */
struct ledger_open {
	char flavor[ID_MAX]; /* flavour whose prices apply; "": no amount yet */
	struct db_money sold, kept;
};

struct vgpu {
	/* --- changed by model/host.c --- */
	struct vgpu *next; /* next vGPU in host_gpu.vgpus, sorted by id */
	struct contract contract;
	/* the vGPU has no contract; its initial cap counts as sold (but see host_is_unsold()) */
	bool found;

	/* --- cap/adopt.c --- */
	/* an earlier run has requested the removal; known until the vGPU is attached */
	bool removing;
	bool listed; /* the last listing of the backend contained the vGPU */

	/* --- model/cap.c --- */
	struct cap cap;

	/* --- cap/caps.c --- */
	int lease_errno; /* negative errno of the last renewal; the same error is logged once */

	/* --- cap/actuate.c --- */
	/* device of the backend; NULL: the vGPU does not exist (alert vgpu_missing) */
	struct gpu_vgpu *device;
	uint64_t cap_writes; /* since the start of the daemon */
	int write_errno;     /* errno of the last failed cap write since the last tick; 0: none */
	bool memory_known;   /* the limit of device memory in force is memory_mib */
	int memory_mib;
	int memory_errno;  /* errno of the last write of this limit; 0: no error */
	int ceiling_pct;   /* ceiling last written with guarantees; 0: unknown */
	int ceiling_errno; /* negative errno of the last write; the same error is logged once */

	/* --- tick/period.c --- */
	int sweep_place; /* 1 + index in the samples of the last sweep; 0: never swept */
	struct monitor_track monitor;
	struct monitor_row row; /* last sample */
	uint64_t read_ns;	/* time of the last valid reading of busy time; 0: none */
	uint64_t cap_read_ns;	/* time after the last reading of the cap */
	int sampled_cap_pct;	/* cap at the time of the last sample */

	/* --- policy/ --- */
	struct policy_track policy;

	/* --- tick/round.c --- */
	struct policy_vgpu view; /* input and output of the last policy step */
	/* the last decision about this vGPU that was recorded and could not be applied */
	struct {
		uint64_t at_ns; /* 0: none since the last decision that was applied */
		uint64_t why;	/* hash of its reason */
	} failed;

	/* --- tick/promises.c, policy/ --- */
	struct promise_vgpu promise;
	int64_t broken_since_ms;    /* time since the promise is broken; 0: it is not broken */
	struct diagnosis diagnosis; /* of the last tick; empty: no cause, or missing */
	bool reported; /* its programs reported a rate in the last tick that was not late */

	/* --- tick/ledger.c --- */
	struct vgpu_tally tally;
	struct ledger_open ledger;

	/* --- record/record.c --- */
	int64_t last_decision_id; /* 0: none */
};

struct igt;

enum gpu_mode { GPU_MODE_ACT, GPU_MODE_OBSERVE, GPU_MODE_FROZEN };
enum gpu_state {
	GPU_OPENING, /* an attempt to open the GPU runs */
	GPU_CLOSED,  /* the last attempt has failed; see open_error */
	GPU_OPEN,
};

struct host_gpu {
	/* --- changed by model/host.c --- */
	enum gpu_mode mode; /* set with PATCH /v1/gpus/{name} */
	struct since frozen_since;
	bool selling;
	struct vgpu *vgpus;
	int n_vgpus;
	bool caps_due; /* a cap may be outside its contract, see host_gpu_check_caps() */

	/* --- cap/gpus.c --- */
	struct gpu_config config;
	struct gpu_io *io;
	enum gpu_state state;
	struct err open_error;	  /* why the last attempt to open the GPU has failed */
	struct backoff reopening; /* when the next attempt begins */
	struct gpu_traits traits;
	struct igt *igt;   /* reader of intel_gpu_top; NULL: not used for this GPU */
	bool paper_mode;   /* [policy] paper_mode when sharing = auto selected last */
	int sharing_errno; /* negative errno of the last attempt to select; logged once */

	/* --- cap/adopt.c --- */
	int list_errno; /* negative errno of the last listing; the same error is logged once */
	/* listed vGPUs that cannot be adopted; each is logged once */
	struct {
		struct refused {
			char id[ID_MAX];
			/* the last listing contained the vGPU; otherwise the entry is removed */
			bool listed;
		} vgpus[REFUSED_MAX];
		int n;
		bool more; /* further refused vGPUs exist, which are logged without names */
	} refused;

	/* --- tick/period.c --- */
	/* of the last sweep */
	struct gpu_round round;
	struct gpu_source source;
	struct err problem; /* why busy times are unknown, in the words of their source */
	int sharing_result; /* the same result is logged once */
	uint64_t sweep_started_ns;
	double sweep_s; /* its duration, so far if it has not ended */
	/* consecutive ticks that got no results of their own sweep, because the GPU was too slow */
	int missed_sweeps;
	bool telemetry_valid;	  /* all readings of busy time in the last tick were valid */
	uint64_t telemetry_at_ns; /* time of the last tick in which they were */
	double util_pct;	  /* physical utilisation in the last tick; NAN: unknown */
	double clock;		  /* clock of the GPU as a fraction of its highest; 0: unknown */
	/* time and value of the last reading of physical busy time */
	uint64_t phys_at_ns, phys_busy_ns;
	double util_sum_s, util_s; /* mean utilisation: util_sum_s / util_s */

	/* --- tick/round.c, policy/ --- */
	/* input and output of the policy; policy.h lists the members that persist between ticks */
	struct policy_gpu view;
	/* for each kind of decision: the last one that was recorded but not applied */
	struct {
		char vgpu[ID_MAX];
		uint64_t at_ns; /* time of the decision; 0: never */
	} reported[POLICY_KINDS];
	bool migration_due;	  /* on_migrate has not run for the present severe overload */
	char severe_vgpu[ID_MAX]; /* vGPU in the last decision of kind severe */

	/* --- tick/learned.c --- */
	/* part of view.moving for which the last save was requested */
	struct moving_estimate migrations_saved;

	/* --- tick/promises.c --- */
	struct promise_gpu promise;

	/* --- tick/ledger.c --- */
	double watched_s; /* monitored seconds that are not stored in the ledger yet */
};

/* Histogram of delays after the planned start of a tick. */
#define HOST_DELAY_BUCKETS 14
struct host_delays {
	uint64_t counts[HOST_DELAY_BUCKETS];
	double sum_s;
};
/* Largest delay in each bucket: as seconds, and as the text of the label in /metrics. */
extern const struct host_delay_bound {
	double s;
	const char *text;
} host_delay_bounds[HOST_DELAY_BUCKETS];
static inline void host_count_delay(struct host_delays *delays, double s)
{
	int i = 0;

	while (s > host_delay_bounds[i].s)
		i++;
	delays->counts[i]++;
	delays->sum_s += s;
}

struct host {
	struct host_gpu gpus[GPUS_MAX];
	struct gpu_io_patience patience; /* shared by all GPUs */
	int n_gpus;
	/* configured GPUs that backend = auto has not found; they follow the others in gpus */
	int n_absent;
	struct instant started;
	struct instant ticked; /* time of the last tick */
	uint64_t ticks, late_ticks, gaps;
	bool ready;		 /* the first tick has completed */
	int64_t ledger_ms;	 /* start of the current minute of the ledger */
	double revenue, penalty; /* sums since the daemon started */
	/*
	 * Ring with the duration of the newest ticks, from the planned start to the last cap write.
	 */
	uint32_t tick_us[TICKS_TIMED];
	/* number of timed ticks; the next index of the ring is n_tick_us % TICKS_TIMED */
	uint32_t n_tick_us;
	struct host_delays lateness;	  /* of the start of each tick */
	struct host_delays tick_duration; /* until the last cap write of each tick */
};

/*
 * Convert modes to their names in REST ("act", "observe", "frozen") and back. -EINVAL: unknown
 * name.
 */
const char *gpu_mode_name(enum gpu_mode mode);
int gpu_mode_parse(const char *word, enum gpu_mode *ret_mode);

/*
 * Find a GPU by name, or a vGPU by id together with its GPU. NULL: not found. @ret_gpu may be NULL.
 */
struct host_gpu *host_find_gpu(struct host *host, const char *name);
struct vgpu *host_find_vgpu(struct host *host, const char *id, struct host_gpu **ret_gpu);
/* Like host_find_gpu() and host_find_vgpu(), but with constant results. */
const struct host_gpu *host_view_gpu(const struct host *host, const char *name);
const struct vgpu *host_view_vgpu(const struct host *host, const char *id,
				  const struct host_gpu **ret_gpu);
/* Returns the number of cap writes since the vGPU is counted, see struct vgpu_tally. */
static inline uint64_t vgpu_cap_writes(const struct vgpu *vgpu)
{
	return vgpu->tally.cap_writes + vgpu->cap_writes;
}

/* Finds a vGPU of one GPU; NULL: not found. */
static inline struct vgpu *host_gpu_find_vgpu(const struct host_gpu *gpu, const char *id)
{
	struct vgpu *vgpu = gpu->vgpus;

	while (vgpu && strcmp(vgpu->contract.id, id) != 0)
		vgpu = vgpu->next;
	return vgpu;
}

/*
 * Sets the mode. A GPU that is only observed stays in mode observe. @selling: new vGPUs may be
 * sold. @frozen_since: the begin if @mode is frozen.
 */
void host_gpu_set_mode(struct host_gpu *gpu, enum gpu_mode mode, bool selling,
		       struct since frozen_since);

/*
 * Call it if a cap may be outside its contract: a vGPU was attached, a cap write failed, the GPU
 * did not answer, or it was in mode observe. round_adopt_caps() then checks all caps.
 */
void host_gpu_check_caps(struct host_gpu *gpu);
/* Returns true once after host_gpu_check_caps(). */
static inline bool host_gpu_take_caps_check(struct host_gpu *gpu)
{
	bool due = gpu->caps_due;

	gpu->caps_due = false;
	return due;
}

/*
 * Returns a new vGPU with @contract, and takes over its labels. @found: as vgpu.found. The caller
 * owns the vGPU until host_gpu_insert().
 */
struct vgpu *vgpu_new(struct contract *contract, bool found);
/* Replaces the contract by a copy of @contract. The id does not change. */
void vgpu_set_contract(struct vgpu *vgpu, const struct contract *contract);
/* The vGPU was found without a contract, and has one now. */
void vgpu_mark_sold(struct vgpu *vgpu);
/* @pct counts as sold to a vGPU that has no contract. */
void vgpu_set_found_cap(struct vgpu *vgpu, int pct);
/* Holds the vGPU at its cap until it is released. */
void vgpu_hold(struct vgpu *vgpu, struct instant now);

/*
 * Moves the begins of freezes and holds if the wall clock was set, see since_follow(). Returns true
 * if one has moved; the caller saves the contracts.
 */
bool host_follow_clock(struct host *host, struct instant now);

/* Inserts @vgpu in the order of ids. @gpu then owns @vgpu. */
void host_gpu_insert(struct host_gpu *gpu, struct vgpu *vgpu);
/* Removes @vgpu from the list of the GPU without freeing it. */
void host_gpu_remove(struct host_gpu *gpu, struct vgpu *vgpu);

/* Detaches the device and frees @vgpu with its labels. @vgpu may be NULL. Returns NULL. */
struct vgpu *vgpu_free(struct host_gpu *gpu, struct vgpu *vgpu);

/*
 * Returns the GPU for a new contract: the GPU named in the contract, that of the existing vGPU, or
 * the only GPU of the host. NULL: there is no such GPU.
 */
const struct host_gpu *host_gpu_for(const struct host *host, const struct contract *contract);
/*
 * Returns what a vGPU with @contract delivers on @gpu. Before the GPU is open, this follows from
 * the promise in the contract; @contract may be NULL.
 */
static inline enum gpu_unit host_gpu_unit(const struct host_gpu *gpu,
					  const struct contract *contract)
{
	if (gpu->state == GPU_OPEN)
		return gpu->traits.unit;
	return contract && contract->target_rate > 0 ? GPU_WORK : GPU_FRAMES;
}

/*
 * True if nothing was sold to @vgpu: it has no contract, and its GPU is only observed, so that the
 * whole GPU is its limit and not what an administrator has given to it.
 */
static inline bool host_is_unsold(const struct host_gpu *gpu, const struct vgpu *vgpu)
{
	return vgpu->found && gpu->traits.observes;
}

/*
 * Returns the terms of @contract for decisions about @gpu: target_fps is the promise in the unit of
 * the GPU. A promise in the other unit does not count.
 */
static inline struct policy_terms host_terms(const struct host_gpu *gpu,
					     const struct contract *contract)
{
	struct policy_terms terms = contract->terms;

	terms.counts_work = host_gpu_unit(gpu, contract) == GPU_WORK;
	if (terms.counts_work)
		terms.target_fps = contract->target_rate;
	return terms;
}

/*
 * Returns the cap that is reserved for the vGPU of @contract while it does not exist: its hold, or
 * its last cap @last_pct within its contract. @last_pct 0: unknown, and the whole contract is
 * reserved.
 */
int host_reserved_cap_pct(const struct policy_params *params, const struct host_gpu *gpu,
			  const struct contract *contract, int last_pct);
/* Returns the sum of the caps of all vGPUs that exist. */
static inline int host_gpu_sum_cap_pct(const struct host_gpu *gpu)
{
	int sum = 0;

	for (const struct vgpu *v = gpu->vgpus; v; v = v->next)
		if (v->device)
			sum += v->cap.pct;
	return sum;
}

/* Returns the sum of the caps that are reserved for vGPUs that have a contract and do not exist. */
static inline int host_gpu_reserved_cap_pct(const struct host_gpu *gpu)
{
	int sum = 0;

	for (const struct vgpu *v = gpu->vgpus; v; v = v->next)
		if (!v->device)
			sum += v->cap.pct;
	return sum;
}

/* Returns the sum of the initial caps, including contracts whose vGPU does not exist. */
static inline int host_gpu_sum_initial_cap_pct(const struct host_gpu *gpu)
{
	int sum = 0;

	for (const struct vgpu *v = gpu->vgpus; v; v = v->next)
		sum += host_is_unsold(gpu, v) ? 0 : v->contract.terms.initial_cap_pct;
	return sum;
}

#endif
