/* SPDX-License-Identifier: MIT */
/*
 * Makes every object of the daemon in order, runs the loop and frees them in reverse. The end of
 * the daemon, orderly or not, leaves all caps as they are.
 */
#ifndef GOVER_D_CORE_MANAGER_H
#define GOVER_D_CORE_MANAGER_H

#include "gover-d/config/config.h"

struct manager;

/*
 * Makes everything @config asks for, adopts what an earlier daemon left, and starts ticking.
 * Errors: a message that names the object.
 */
int manager_new(const struct config *config, bool dry_run, struct manager **ret_manager,
		struct err *reterr);
/* NULL is fine; returns NULL. */
struct manager *manager_free(struct manager *manager);
/* Runs the loop until SIGTERM or SIGINT. */
int manager_run(struct manager *manager);

/* gover-d --restore: sets the initial cap of every contract and starts nothing else. */
int manager_restore(const struct config *config, struct err *reterr);

#endif
