/* SPDX-License-Identifier: MIT */
/*
 * Serves the hook of libvirt in a thread: one request at a time, each with a deadline. Only root
 * and the user of gover-fleet may ask.
 */
#ifndef GOVER_FLEET_CLAIM_HOOK_SERVER_H
#define GOVER_FLEET_CLAIM_HOOK_SERVER_H

#include "gover-fleet/claim/claim.h"
#include "gover-fleet/config/fleet-config.h"

struct hook_server;

struct hook_server_counts {
	unsigned int requests; /* requests that were answered */
	unsigned int claimed;  /* contracts made */
	unsigned int refused;  /* domains that were not allowed to start */
	unsigned int failed;   /* requests without a decision, answered by on_failure */
};

/*
 * Opens the socket and starts the thread. @config must stay valid. @changed is called in the thread
 * after each request. The server owns @claimer, also after an error.
 */
int hook_server_new(const struct fleet_config *config, struct claimer *claimer,
		    void (*changed)(void *userdata), void *userdata,
		    struct hook_server **ret_server, struct err *reterr);
/* Ends the thread, within the deadline of a request. Accepts NULL; returns NULL. */
struct hook_server *hook_server_free(struct hook_server *server);

void hook_server_count(struct hook_server *server, struct hook_server_counts *ret_counts);

#endif
