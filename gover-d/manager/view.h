/* SPDX-License-Identifier: MIT */
/*
 * Read access to the state of the daemon, for REST and metrics. The pointers are valid until
 * manager_free(). The data behind the pointers changes whenever the event loop runs.
 */
#ifndef GOVER_D_MANAGER_VIEW_H
#define GOVER_D_MANAGER_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct view {
	const struct host *host;
	const struct fleet *fleet;
	const struct config *config;	  /* configuration in force */
	const struct config *file_config; /* configuration of the file and the command line */
	json_t *const *restart_keys;	  /* settings.restart_keys */
	const struct decisions *decisions;
	const struct alerts *alerts;
	const struct silences *silences;
	const struct offers *offers;
	const struct sales *sales;
	const struct history *history;
	const struct frames *frames;
	const struct hook_stats *hook_stats; /* indexed by enum hook */
	struct webhook *webhook;	     /* for webhook_stats(); NULL: not configured */
	struct worker *saver;		     /* writes files, in the order of submission */
	struct worker *queries;		     /* reads the database and other files */
	const uint64_t *generation;	     /* number that changes whenever a reply may change */
	bool dry_run;
};

#endif
