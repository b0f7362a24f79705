/* SPDX-License-Identifier: MIT */
/*
 * A thread that makes the cloud equal to the state of gover-d, after each change and once a minute,
 * passes the state on to the migrations, reports to gover-d, and writes the status file.
 */
#ifndef GOVER_FLEET_PUBLISH_H
#define GOVER_FLEET_PUBLISH_H

#include "gover-fleet/claim/claim.h"
#include "gover-fleet/claim/domains.h"
#include "gover-fleet/cloud.h"
#include "gover-fleet/config/fleet-config.h"
#include "gover-fleet/host/follower.h"
#include "gover-fleet/migrate/mover.h"
#include "gover-fleet/model/bell.h"

/* The parts that are used until publish_free(). */
struct publish_parts {
	const struct fleet_config *config;
	struct follower *follower;
	struct domains *domains;       /* NULL: no domains are watched */
	struct reconciler *reconciler; /* NULL: likewise */
	struct mover *mover;	       /* NULL: nothing is migrated */
	struct hook_server *server;
	struct bell *bell; /* rung after each change */
};

struct publish;

/* Starts the thread, which owns @cloud, also after an error. */
int publish_new(const struct publish_parts *parts, struct cloud *cloud,
		struct publish **ret_publish, struct err *reterr);
/* Stops the bell and ends the thread, within the limit of a request. Accepts NULL; returns NULL. */
struct publish *publish_free(struct publish *publish);

#endif
