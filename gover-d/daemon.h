/* SPDX-License-Identifier: MIT */
/* The whole daemon: creates the core, authentication, REST and HTTP, and connects them. */
#ifndef GOVER_D_DAEMON_H
#define GOVER_D_DAEMON_H

#include "gover-d/config/config.h"

struct daemon;

/* Creates and starts the daemon. */
int daemon_new(const struct config *config, bool dry_run, struct daemon **ret_daemon,
	       struct err *reterr);
/* Runs until SIGTERM or SIGINT. */
int daemon_run(struct daemon *daemon);
struct daemon *daemon_free(struct daemon *daemon); /* accepts NULL; returns NULL */

#endif
