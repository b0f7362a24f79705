/* SPDX-License-Identifier: MIT */
/*
 * Makes and ends the contracts of domains, through gover-d. A contract has the label
 * fleet = libvirt and the UUID of its domain. The UUID with the id of the offer is the idempotency
 * key, so that any claim can be repeated, by any thread and after any crash. Also the server of the
 * libvirt hook, and the reconciler.
 */
#ifndef GOVER_FLEET_CLAIM_CLAIM_H
#define GOVER_FLEET_CLAIM_CLAIM_H

#include <stdint.h>

#include "base/err.h"
#include "gover-fleet/claim/domains.h"
#include "gover-fleet/cloud/keystone.h"
#include "gover-fleet/config/fleet-config.h"
#include "gover-fleet/host/follower.h"
#include "gover-fleet/model/bell.h"
#include "gover-fleet/model/domain-xml.h"

struct claimer; /* used by one thread */

/*
 * @placement: where the cloud is asked for the allocation of a server on @host; it bounds the time
 * of its requests itself. NULL: there is no cloud. Both must stay valid.
 */
int claimer_new(const char *gover_socket, struct service *placement, const char *host,
		struct claimer **ret_claimer, struct err *reterr);
struct claimer *claimer_free(struct claimer *claimer); /* accepts NULL; returns NULL */

enum claim_result {
	CLAIM_NOT_OURS, /* the domain wants no vGPU */
	CLAIM_MADE,	/* the contract is in force */
	CLAIM_EXISTED,	/* it was already */
	CLAIM_NO_OFFER, /* there is no open offer of this slot; a text is in the error */
};

struct claim {
	enum claim_result result;
	char vgpu[ID_MAX]; /* of CLAIM_MADE and CLAIM_EXISTED */
	bool unverified;   /* of CLAIM_MADE: the cloud did not confirm the allocation */
};

/*
 * Serves the hook of libvirt in a thread: one request at a time, each with a deadline. Only root
 * and the user of gover-fleet may ask.
 */
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

/*
 * Keeps contracts and domains equal, in a thread: claims for a domain that runs without a contract,
 * and ends the contract of a domain that no longer exists. It decides by whole lists, not by
 * events.
 */
struct reconciler;

struct reconciler_counts {
	/* domains that run without the contract that they want, and unverified contracts */
	int unverified;
	unsigned int claimed; /* contracts made for running domains */
	unsigned int ended;   /* contracts ended */
};

/*
 * Starts the thread. @bell is rung after a change of the domains or of the state of gover-d.
 * @domains, @follower and @bell are used until reconciler_free(). The reconciler owns @claimer,
 * also after an error. @grace_s: a contract younger than this is not ended, because its domain may
 * still be on its way. @changed is called in the thread after a change of the counts.
 */
int reconciler_new(struct domains *domains, struct follower *follower, struct claimer *claimer,
		   struct bell *bell, int grace_s, void (*changed)(void *userdata), void *userdata,
		   struct reconciler **ret_reconciler, struct err *reterr);
/* Stops the bell and ends the thread, within the time limit of a request. Accepts NULL; returns
 * NULL. */
struct reconciler *reconciler_free(struct reconciler *reconciler);

void reconciler_count(struct reconciler *reconciler, struct reconciler_counts *ret_counts);

#endif
