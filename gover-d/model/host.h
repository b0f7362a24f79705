/* SPDX-License-Identifier: MIT */
/*
 * The GPUs and vGPUs of the host with the last sample of each. Plain data, used in the loop's
 * thread only. Requests change contracts, mode and selling; the tick changes the rest.
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
#define REFUSED_MAX 16 /* refused vGPUs that are logged by name, per GPU */

/* Sums since the contract was adopted or sold in this run of the daemon. */
struct vgpu_tally {
	double seen_s;	 /* time with a valid sample */
	double broken_s; /* broken time */
	uint64_t steals_in, steals_out;
	uint64_t cap_writes;
	double fps_sum_s; /* integral of fps over fps_s; their ratio is the mean */
	double fps_s;
	double cap_error_pct_s; /* integral of |load - cap| while it was overloaded */
	double cap_error_s;
};

/* Amounts that ledger.c has not stored in the history yet. */
struct ledger_open {
	char flavor[ID_MAX]; /* flavour of the price; "": no amount */
	struct db_money sold, kept;
};

struct vgpu {
	struct vgpu *next; /* host_gpu.vgpus, ascending id */
	struct contract contract;
	bool found;		 /* has no contract; its initial cap counts as sold (rule 12) */
	bool listed;		 /* was in the last listing of its backend */
	struct gpu_vgpu *device; /* NULL: it does not exist (alert vgpu_missing) */
	int expected_cap_pct;	 /* the cap last written; another reading is an external change */
	int cap_pct;		 /* the cap last read or written; no limit counts as 100 */
	int sampled_cap_pct;	 /* the cap when the last sample was taken */
	bool foreign;		 /* held because of an external change of its cap */
	uint64_t read_ns;	 /* monotonic: last valid reading of busy time; 0: none */
	uint64_t renewed_ns;	 /* monotonic: last renewal of its lease; 0: no lease */
	bool lease_off;		 /* the daemon has ended its lease */
	int lease_errno;	 /* negative errno of the last renewal, to log it once */
	int write_errno;	 /* errno of the last cap write since the last tick; 0: none */
	struct monitor_track monitor;
	struct monitor_row row; /* the last sample */
	struct policy_track policy;
	struct policy_vgpu view; /* input and output of the last policy step */
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
	enum gpu_mode mode; /* set with PATCH /v1/gpus/{name} */
	bool selling;
	struct vgpu *vgpus;
	int n_vgpus;
	struct policy_gpu view; /* parts of it persist between ticks, see policy.h */
	int list_errno;		/* negative errno of the last listing, to log it once */
	struct {
		struct refused {
			char id[ID_MAX];
			bool listed; /* in the last listing; otherwise it is removed here */
		} vgpus[REFUSED_MAX];
		int n;
		bool more; /* there are more; they are logged without names */
	} refused;	   /* listed vGPUs that cannot be adopted; each is logged once */
	bool lost_vgpu;	   /* a vGPU vanished in this tick */
	struct {
		char vgpu[ID_MAX];
		uint64_t at_ns;	  /* 0: never */
	} reported[POLICY_KINDS]; /* the last decision of each kind that was recorded but not
				     applied */
	char severe_vgpu[ID_MAX]; /* the vGPU that the last decision of severe overload named */
	/* the last tick */
	double util_pct; /* physical utilisation; NAN: unknown */
	bool telemetry_valid;
	uint64_t telemetry_at_ns; /* monotonic: last tick in which all busy readings were valid */
	uint64_t phys_at_ns, phys_busy_ns; /* last reading of the physical busy time */
	double util_sum_s, util_s;	   /* for the mean utilisation: integral and seconds */
	double watched_s;		   /* time not stored in the ledger yet */
};

/* Histogram of the delay between the planned and the actual start of a tick. */
#define HOST_LATENESS_BUCKETS 14
struct host_lateness {
	uint64_t counts[HOST_LATENESS_BUCKETS];
	double sum_s;
};
/* The upper bound of each bucket, as a number and as a label. */
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
	bool ready;		 /* the first tick has completed */
	int64_t ledger_ms;	 /* the minute that the ledger is counting */
	double revenue, penalty; /* since the daemon started */
	/* Ring of the newest ticks: time from the planned start to the last cap write. */
	uint32_t tick_us[TICKS_TIMED];
	uint32_t n_tick_us; /* number of timed ticks; modulo TICKS_TIMED: the next index */
	struct host_lateness lateness;
};

/* The names in REST: "act", "observe", "frozen". -EINVAL: unknown name. */
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

/* Inserts @vgpu in the order of ids. The GPU owns it then. */
void host_gpu_insert(struct host_gpu *gpu, struct vgpu *vgpu);
/* Removes @vgpu from the list of the GPU without freeing it. */
void host_gpu_remove(struct host_gpu *gpu, struct vgpu *vgpu);

/* Detaches the device and frees @vgpu with its labels. NULL is fine; returns NULL. */
struct vgpu *vgpu_free(struct host_gpu *gpu, struct vgpu *vgpu);

/* Sums over the vGPUs of a GPU; the first only over those that exist. */
int host_gpu_sum_cap_pct(const struct host_gpu *gpu);
int host_gpu_sum_initial_cap_pct(const struct host_gpu *gpu);

#endif
