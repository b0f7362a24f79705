/* SPDX-License-Identifier: MIT */
/*
 * Read access to the state of the daemon, for the answers of REST and for metrics. The pointers
 * stay valid as long as the manager; what they point to changes whenever the loop runs.
 */
#ifndef GOVER_D_CORE_VIEW_H
#define GOVER_D_CORE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

struct view {
	const struct host *host;
	const struct config *config;	  /* in force */
	const struct config *file_config; /* of the file and the command line */
	const struct decisions *decisions;
	const struct alerts *alerts;
	const struct silences *silences;
	const struct offers *offers;
	const struct history *history;
	const struct frames *frames;
	const struct hook_stats *hook_stats; /* indexed by enum hook */
	struct webhook *webhook;	     /* for webhook_stats(); NULL: not configured */
	struct worker *worker;		     /* runs queries */
	const uint64_t *generation;	     /* changes whenever an answer may change */
	bool dry_run;
};

#endif
