/* SPDX-License-Identifier: MIT */
/* The state of the daemon, which the modules of core/ share. manager.c creates and frees it. */
#ifndef GOVER_D_CORE_STATE_H
#define GOVER_D_CORE_STATE_H

#include <systemd/sd-event.h>

#include "gover-d/alert/alerts.h"
#include "gover-d/alert/webhook.h"
#include "gover-d/config/config.h"
#include "gover-d/core/actuate.h"
#include "gover-d/core/frames.h"
#include "gover-d/core/history.h"
#include "gover-d/core/observer.h"
#include "gover-d/core/offers.h"
#include "gover-d/core/view.h"
#include "gover-d/model/decisions.h"
#include "gover-d/model/fleet.h"
#include "gover-d/util/hook.h"
#include "gover-d/util/memory.h"
#include "gover-d/util/worker.h"

struct change;
struct contracts;
struct plan_round;
struct save_waiter;

struct manager {
	struct config config;	   /* the configuration in force, with live changes */
	struct config file_config; /* the configuration of the file and the command line */
	/* object of texts: the keys that clients have changed; NULL: none */
	json_t *live_settings;
	const struct policy *policy;
	struct policy_params params; /* parameters of config, with times converted to periods */

	int lock_fd; /* file descriptor of the locked file in the state directory */
	sd_event *event;
	sd_event_source *timer;
	struct worker *saver;	/* writes files, in the order of submission */
	struct worker *queries; /* reads the database and other files, and opens the database */
	struct observers observers;
	char contracts_path[PATH_MAX];
	struct history history;
	struct hooks *hooks;
	struct webhook *webhook; /* NULL: not configured */
	bool webhook_failing;	 /* the webhook was failing at the last tick */
	uint64_t webhook_lost;	 /* total of lost messages at the last tick */
	char hostname[HOST_NAME_MAX + 1];
	struct silences silences;
	struct decisions *decisions;
	struct alerts *alerts;
	struct offers *offers;
	struct actuator actuator; /* the actuator owns the cap journal */
	struct host host;
	struct fleet fleet;
	struct frames frames;
	struct view view; /* read access for the API and metrics */
	struct memory memory;

	/* --- saving contracts, see save.c --- */
	bool save_running;	     /* a save is running */
	bool save_again;	     /* something changed while a save was running */
	int save_result;	     /* result of the last save: 0 or a negative errno */
	struct save_waiter *waiting; /* requests that wait for the next save */
	struct save_waiter *in_job;  /* requests that wait for the running save */
	/*
	 * Makes changes in the content that is saved; NULL: none. Returns 1 if it made one, 0 if
	 * not, or a negative errno.
	 */
	int (*amend)(const struct manager *manager, struct contracts *contracts);
	int64_t revision;	      /* revision of the contracts saved last */
	struct db_last_ids ids_saved; /* reserved ids: upper limit of the ids in use */
	/* contracts, loaded by manager_new() and adopted by manager_start() */
	struct contracts *loaded;
	bool contracts_lost;	/* the cap journal lists vGPUs whose contracts are missing */
	bool ending;		/* the event loop has ended, so no ids are reserved */
	struct change *changes; /* in progress, see change.h */

	uint64_t next_tick_ns; /* time at which the next tick is due */

	struct plan_round *round; /* preallocated: a tick allocates nothing */
};

#endif
