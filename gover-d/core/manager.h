/* SPDX-License-Identifier: MIT */
/*
 * The manager owns every object of the daemon and the loop they live in. Members stand in the order
 * in which they are made and are let go in reverse. Shared by the files that are the daemon's core:
 * manager.c (making, ending), recall.c and adopt.c (start), tick.c (the period), control.c
 * (requests), save.c (contracts on disk).
 */
#ifndef GOVER_D_CORE_MANAGER_H
#define GOVER_D_CORE_MANAGER_H

#include <systemd/sd-event.h>

#include "gover-d/alert/alerts.h"
#include "gover-d/alert/silence.h"
#include "gover-d/alert/webhook.h"
#include "gover-d/api/api.h"
#include "gover-d/config/config.h"
#include "gover-d/core/actuate.h"
#include "gover-d/core/frames.h"
#include "gover-d/core/offers.h"
#include "gover-d/core/round.h"
#include "gover-d/http/http.h"
#include "gover-d/model/decisions.h"
#include "gover-d/store/contracts.h"
#include "gover-d/util/hook.h"
#include "gover-d/util/worker.h"
#include "monitor/igt.h"

struct save_waiter;
struct db_reader;

struct manager {
	struct config config;	   /* in force */
	struct config file_config; /* as the file and the command line say */
	const struct policy *policy;
	struct policy_params params; /* of config, in periods */

	int lock_fd; /* flock on the state directory: one daemon */
	sd_event *event;
	sd_event_source *timer, *fps_source;
	struct worker *worker;
	char db_path[PATH_MAX], contracts_path[PATH_MAX];
	uint64_t db_retry_ns; /* monotonic: when opening it is tried again */
	bool db_opening;      /* which the worker does now */
	char db_error[ERR_MSG_MAX];
	uint64_t db_dropped_seen;
	int db_failing_ticks;
	struct hooks *hooks;
	struct webhook *webhook; /* NULL: none */
	bool webhook_failing;	 /* as it was logged */
	uint64_t webhook_lost;	 /* of its messages, as it was logged */
	char hostname[HOST_NAME_MAX + 1];
	struct silences silences;
	struct decisions *decisions;
	struct alerts *alerts;
	struct offers *offers;
	struct actuator actuator; /* owns its book; actuator.db is the history */
	struct host host;
	struct igt *igt[GPUS_MAX]; /* of host.gpus[i]; NULL: not watched by intel_gpu_top */
	struct fps_hub *fps;
	struct frames frames;
	struct api *api;
	struct http *http;

	/* saving contracts: one job at most is under way */
	bool save_running, save_again;
	int save_result;	     /* of the last one */
	struct save_waiter *waiting; /* for the next job */
	struct save_waiter *in_job;  /* for the running one */
	int64_t revision;	     /* of the newest text */
	struct db_last_ids ids_kept; /* as it says */
	bool contracts_lost; /* the caps file knows vGPUs of which no contracts were found */
	bool ending;	     /* the loop has ended: no further id is given */

	uint64_t next_tick_ns, last_tick_ns;
	uint64_t generation; /* changes whenever an answer may */

	struct plan_round round; /* preallocated: a tick allocates nothing */
};

/*
 * Makes everything @config asks for, adopts what an earlier daemon left, and starts ticking.
 * Errors: a sentence naming the thing.
 */
int manager_new(const struct config *config, bool dry_run, struct manager **ret_manager,
		struct err *reterr);
struct manager *manager_free(struct manager *manager); /* caps stay as they are */
/* Runs the loop until SIGTERM or SIGINT. */
int manager_run(struct manager *manager);

/* gover-d --restore: every contract's initial cap is put in force, nothing else is started. */
int manager_restore(const struct config *config, struct err *reterr);

/* --- between the core's files --- */

/* Opens the GPUs of the configuration. A dry run makes nothing for them. */
int adopt_open_gpus(struct host *host, const struct config *config, bool dry_run,
		    struct err *reterr);
/* The same for a restore: those that can be opened. Returns how many cannot, which it logs. */
int adopt_open_some_gpus(struct host *host, const struct config *config);
void adopt_close_gpus(struct host *host);
/* Takes up contracts, vGPUs and caps found (design.md section 6), and the sales they tell of. */
int adopt_host(struct manager *manager, struct contracts *contracts, struct instant now,
	       struct err *reterr);
/* Settings, decisions, alerts and offers of the last run, where there is a history. */
int adopt_history(struct manager *manager, struct db_reader *reader, struct err *reterr);
/* A vGPU that stands in the backend without a contract (rule 12). */
int adopt_found(struct manager *manager, struct host_gpu *gpu, const char *id, int initial_cap_pct,
		struct instant now, struct err *reterr);
/* A found one that is there no more: no promise stands on it. Tells and frees it; saves nothing. */
void adopt_forget(struct manager *manager, struct host_gpu *gpu, struct vgpu *vgpu,
		  struct instant now);
/* Is @cap_pct what a restore or the end of a lease leaves? */
bool adopt_is_initial_cap(const struct host_gpu *gpu, const struct vgpu *vgpu, int cap_pct);

/* Opens the database; without it the daemon goes on and says so. */
void history_open(struct manager *manager);
/* Where there is none, it is tried again now and every few seconds, in the worker. */
void history_retry(struct manager *manager, struct instant now);

/* One period of everything. */
void tick_run(struct manager *manager, struct instant now, bool gap);

/*
 * Before a request does what is planned in @round for @vgpu (NULL: a newcomer): -ESTALE where
 * somebody else has written a cap that it rests on since the tick. That vGPU is on hold then.
 */
int others_check_plan(struct manager *manager, struct host_gpu *gpu, const struct plan_round *round,
		      struct vgpu *vgpu, struct instant now, struct err *reterr);

/* Keeps one decision that is not the policy's (an operator's, or an external change). */
void note_decision(struct manager *manager, const struct host_gpu *gpu, struct vgpu *vgpu,
		   enum decision_kind kind, enum decision_result result, struct instant now,
		   const char *format, ...) __attribute__((format(printf, 7, 8)));

/* control_vgpu_add(), which also says which vGPU it became. */
int control_add(struct manager *manager, struct contract *contract, struct vgpu **ret_vgpu,
		struct err *reterr);

/* Saves contracts when nobody waits for it. */
void control_save_soon(struct manager *manager);
/* Once a period: what could not be saved is tried again, and ids are noted ahead of their use. */
void control_save_tend(struct manager *manager);

/*
 * The contracts a start takes up: the newest of the file and of the database (@reader, or NULL). A
 * file that is missing or spoilt is made good from the database, and the log says so; where nobody
 * has them and the caps file knows vGPUs, they are named and manager->contracts_lost is set.
 * Otherwise as contracts_load(). *@ret_stale: there is a file, and it is not what was taken.
 */
int recall_contracts(struct manager *manager, struct db_reader *reader,
		     struct contracts *ret_contracts, bool *ret_stale, struct err *reterr);

#endif
