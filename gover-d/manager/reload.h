/* SPDX-License-Identifier: MIT */
/*
 * Reads the configuration again on SIGHUP, in the worker, because a file can hang. Keys that can
 * change live take effect, except those that clients have changed. Every other key whose value
 * differs is logged by name. An invalid configuration changes nothing. The copy of the
 * configuration for --restore stays that of the start. systemd gets a notification when a reload
 * begins and when it ends.
 */
#ifndef GOVER_D_MANAGER_RELOAD_H
#define GOVER_D_MANAGER_RELOAD_H

#include <systemd/sd-event.h>

#include "gover-d/change/control.h"
#include "gover-d/config/config.h"
#include "gover-d/util/worker.h"

struct reload;

struct reload_calls {
	/*
	 * Reads the configuration, as at the start of the daemon; runs in a thread of the worker.
	 * Returns a negative errno with a message if it is invalid.
	 */
	int (*read)(const void *userdata, struct config *config, struct err *reterr);
	/* Called when a reload has ended: requests that waited for it can continue. */
	void (*ended)(void *userdata);
};

/* SIGHUP must be blocked in all threads. @userdata, @worker and @changes must outlive the reload.
 */
int reload_new(sd_event *event, struct worker *worker, struct changes *changes,
	       const struct reload_calls *calls, void *userdata, struct reload **ret_reload);
/* Call it after the jobs of the worker have ended. Accepts NULL; returns NULL. */
struct reload *reload_free(struct reload *reload);

#endif
