/* SPDX-License-Identifier: MIT */
/*
 * The state of the daemon: every object and the loop they run in, shared by the modules of core/.
 * Members are in the order in which manager.c makes them; it frees them in reverse.
 */
#ifndef GOVER_D_CORE_STATE_H
#define GOVER_D_CORE_STATE_H

#include <systemd/sd-event.h>

#include "gover-d/alert/alerts.h"
#include "gover-d/alert/silence.h"
#include "gover-d/alert/webhook.h"
#include "gover-d/config/config.h"
#include "gover-d/core/actuate.h"
#include "gover-d/core/frames.h"
#include "gover-d/core/history.h"
#include "gover-d/core/observer.h"
#include "gover-d/core/offers.h"
#include "gover-d/core/view.h"
#include "gover-d/model/decisions.h"
#include "gover-d/util/hook.h"
#include "gover-d/util/worker.h"

struct contracts;
struct plan_round;
struct save_waiter;

struct manager {
	struct config config;	   /* in force */
	struct config file_config; /* as the file and the command line say */
	const struct policy *policy;
	struct policy_params params; /* of config, in periods */

	int lock_fd; /* flock on the state directory: one daemon */
	sd_event *event;
	sd_event_source *timer;
	struct worker *worker;
	struct observers observers;
	char contracts_path[PATH_MAX];
	struct history history;
	struct hooks *hooks;
	struct webhook *webhook; /* NULL: none */
	bool webhook_failing;	 /* as it was logged */
	uint64_t webhook_lost;	 /* of its messages, as it was logged */
	char hostname[HOST_NAME_MAX + 1];
	struct silences silences;
	struct decisions *decisions;
	struct alerts *alerts;
	struct offers *offers;
	struct actuator actuator; /* owns its cap journal */
	struct host host;
	struct frames frames;
	struct view view; /* of all this, for the API */

	/* saving contracts: one job at most is under way */
	bool save_running, save_again;
	int save_result;	     /* of the last one */
	struct save_waiter *waiting; /* for the next job */
	struct save_waiter *in_job;  /* for the running one */
	int64_t revision;	     /* of the newest text */
	struct db_last_ids ids_kept; /* as it says */
	struct contracts *loaded;    /* by manager_new() for manager_start() */
	bool contracts_lost; /* the caps file knows vGPUs of which no contracts were found */
	bool ending;	     /* the loop has ended: no further id is given */

	uint64_t next_tick_ns, last_tick_ns;

	struct plan_round *round; /* preallocated: a tick allocates nothing */
};

#endif
