/* SPDX-License-Identifier: MIT */
/*
 * What the daemon knows: GPUs, vGPUs and their contracts, and what the last tick saw. Data only,
 * kept by one thread; who may change a part is said beside it. Requests read it, the tick writes
 * it.
 */
#ifndef GOVER_D_MODEL_HOST_H
#define GOVER_D_MODEL_HOST_H

#include <jansson.h>

#include "base/clock.h"
#include "base/id.h"
#include "db/ledger.h"
#include "gover-d/model/contract.h"
#include "gpu/gpu.h"
#include "monitor/monitor.h"
#include "policy/policy.h"

#define GPUS_MAX    64
#define TICKS_TIMED 256
#define REFUSED_MAX 16 /* of a GPU, told by name */

/* Counted over the life of the contract in this daemon; for REST and the demo's summary. */
struct vgpu_tally {
	double seen_s;	 /* with a valid sample */
	double broken_s; /* broken time */
	uint64_t steals_in, steals_out;
	uint64_t cap_writes;
	double fps_sum_s; /* integral of fps, over fps_s seconds: mean FPS */
	double fps_s;
	double cap_error_pct_s; /* integral of |achieved - cap| while it wanted more than its cap */
	double cap_error_s;
};

/* What is not in the history yet. Kept by ledger.c. */
struct ledger_open {
	char flavor[ID_MAX]; /* as which it was priced; "": nothing was counted */
	struct db_money sold, kept;
};

struct vgpu {
	struct vgpu *next; /* host_gpu.vgpus, ascending id */
	struct contract contract;
	bool found;  /* had no contract: the backend's initial cap stands for it (rule 12) */
	bool listed; /* stood in its backend's last listing */
	struct gpu_vgpu *device; /* NULL: it does not exist now (alert vgpu_missing) */
	int expected_cap_pct;	 /* what we wrote last; a different reading is a foreign write */
	int cap_pct;		 /* in force as of the last read or write; no limit counts as 100 */
	int sampled_cap_pct;	 /* in force when the last sample was taken */
	bool foreign;		 /* held because somebody else wrote its cap */
	uint64_t read_ns;	 /* monotonic: the last valid reading of busy time; 0: none */
	uint64_t renewed_ns;	 /* monotonic: the last renewal of its lease; 0: none runs */
	bool lease_off;		 /* we have seen to it that it has none */
	int lease_errno;	 /* of the last renewal, negative; so that it is logged once */
	int write_errno;	 /* of the last cap write since the last tick's alerts; 0: fine */
	struct monitor_track monitor;
	struct monitor_row row; /* the last sample */
	struct policy_track policy;
	struct policy_vgpu view; /* the policy's last look at it: signal, conditions, broken */
	struct vgpu_tally tally;
	struct ledger_open ledger;
	int64_t last_decision_id; /* 0: none */
	bool newcomer;		  /* on probation after an offer */
};

struct igt;

enum gpu_mode { GPU_MODE_ACT, GPU_MODE_OBSERVE, GPU_MODE_FROZEN };

struct host_gpu {
	struct gpu_config config;
	const struct gpu_ops *ops;
	struct gpu *gpu;
	struct igt *igt; /* intel_gpu_top; NULL: not used for this GPU */
	struct gpu_traits traits;
	enum gpu_mode mode; /* by PATCH /v1/gpus/{name} */
	bool selling;
	struct vgpu *vgpus;
	int n_vgpus;
	struct policy_gpu view; /* with calm_run, kept between ticks */
	int list_errno;		/* of the last listing, so that it is logged once */
	struct {
		struct refused {
			char id[ID_MAX];
			bool listed; /* in the last listing; else it is dropped here */
		} vgpus[REFUSED_MAX];
		int n;
		bool more; /* than these; told without their names */
	} refused;	   /* found, and could not be taken up: each is logged once */
	bool lost_vgpu;	   /* in this tick one was found gone */
	struct {
		char vgpu[ID_MAX];
		uint64_t at_ns;	  /* 0: never */
	} reported[POLICY_KINDS]; /* the last decision of each kind that was told but not acted on
				   */
	char severe_vgpu[ID_MAX]; /* whose move relieves most, as the last severe warning said */
	/* the last tick */
	double util_pct; /* physical; NAN: not known */
	bool telemetry_valid;
	uint64_t telemetry_at_ns; /* monotonic ns of the last tick with every busy reading valid */
	uint64_t phys_at_ns, phys_busy_ns; /* last physical reading */
	double util_sum_s, util_s;	   /* average utilisation: integral and seconds */
	double watched_s;		   /* not in the ledger yet */
};

/* From when a tick was due to its begin, counted by size. */
#define HOST_LATENESS_BUCKETS 14
struct host_lateness {
	uint64_t counts[HOST_LATENESS_BUCKETS];
	double sum_s;
};
/* The upper bound of each, and as it is written. */
extern const struct host_lateness_bound {
	double s;
	const char *text;
} host_lateness_bounds[HOST_LATENESS_BUCKETS];
void host_count_lateness(struct host_lateness *lateness, double s);

struct host {
	struct host_gpu gpus[GPUS_MAX];
	int n_gpus;
	struct instant started;
	struct instant ticked; /* the last tick */
	uint64_t ticks, late_ticks, gaps;
	bool ready;		 /* one tick was done */
	int64_t ledger_ms;	 /* the minute of what is not in the ledger yet */
	double revenue, penalty; /* since the daemon began */
	/* From the instant a tick was due to its last cap written: the newest ones, a ring. */
	uint32_t tick_us[TICKS_TIMED];
	uint32_t n_tick_us; /* counts on; % TICKS_TIMED is the next place */
	struct host_lateness lateness;
};

/* Names of gpu_mode as in REST: "act", "observe", "frozen". -EINVAL for another word. */
const char *gpu_mode_name(enum gpu_mode mode);
int gpu_mode_parse(const char *word, enum gpu_mode *ret_mode);

/* Look up a GPU or a vGPU by name; NULL: none. @ret_gpu may be NULL. */
struct host_gpu *host_find_gpu(struct host *host, const char *name);
struct vgpu *host_find_vgpu(struct host *host, const char *id, struct host_gpu **ret_gpu);
/* The same with read access. */
const struct host_gpu *host_view_gpu(const struct host *host, const char *name);
const struct vgpu *host_view_vgpu(const struct host *host, const char *id,
				  const struct host_gpu **ret_gpu);
/* The vGPU of this GPU; NULL: none. */
struct vgpu *host_gpu_find_vgpu(const struct host_gpu *gpu, const char *id);

/* Inserts in order of id; the GPU owns it from here. */
void host_gpu_insert(struct host_gpu *gpu, struct vgpu *vgpu);
/* Takes it out of its list without freeing it. */
void host_gpu_remove(struct host_gpu *gpu, struct vgpu *vgpu);

/* NULL is fine; returns NULL. Detaches the device, drops the labels. */
struct vgpu *vgpu_free(struct host_gpu *gpu, struct vgpu *vgpu);

/* Sums over a GPU. */
int host_gpu_sum_cap_pct(const struct host_gpu *gpu);
int host_gpu_sum_initial_cap_pct(const struct host_gpu *gpu);

#endif
