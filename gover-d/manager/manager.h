/* SPDX-License-Identifier: MIT */
/*
 * Creates the parts of the daemon in order, runs the loop and frees them in reverse. All caps stay
 * in force when the daemon ends, also after a crash.
 */
#ifndef GOVER_D_MANAGER_MANAGER_H
#define GOVER_D_MANAGER_MANAGER_H

#include <systemd/sd-event.h>

#include "gover-d/config/config.h"
#include "gover-d/record/observer.h"

struct manager;

/* Locks the state directory, creates the loop and loads what an earlier daemon left. */
int manager_new(const struct config *config, bool dry_run, struct manager **ret_manager,
		struct err *reterr);
/* Adds an observer for all later events. -ENOSPC: too many observers. */
int manager_observe(struct manager *manager, const struct observer *observer, void *userdata);
/* Opens the GPUs, adopts their vGPUs and starts ticking. */
int manager_start(struct manager *manager, struct err *reterr);
/* Runs the loop until SIGTERM or SIGINT. */
int manager_run(struct manager *manager);
/*
 * Ends the ticks and completes the jobs of the worker, which may still cause events. After this
 * call there are no further events.
 */
void manager_stop(struct manager *manager);
/* @manager may be NULL; returns NULL. */
struct manager *manager_free(struct manager *manager);

/* Valid until manager_free(). */
sd_event *manager_event(struct manager *manager);
const struct view *manager_view(const struct manager *manager);
/* For requests that change something. */
struct changes *manager_changes(struct manager *manager);

/* gover-d --restore: sets the initial cap of every contract and starts nothing else. */
int manager_restore(const struct config *config, struct err *reterr);

#endif
