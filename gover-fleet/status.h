/* SPDX-License-Identifier: MIT */
/* The state of gover-fleet as JSON, for operators. */
#ifndef GOVER_FLEET_STATUS_H
#define GOVER_FLEET_STATUS_H

#include "gover-fleet/claim/domains.h"
#include "gover-fleet/claim/hook-server.h"
#include "gover-fleet/claim/reconciler.h"
#include "gover-fleet/host/follower.h"
#include "gover-fleet/host/fleet-report.h"
#include "gover-fleet/migrate/mover.h"

struct status {
	const char *host;
	const struct follower_view *gover;
	const struct domains_view *libvirt; /* NULL: no domains are watched */
	const struct wanted *wanted;
	const struct report *report;
	const struct mover_status *mover; /* NULL: nothing is migrated */
	struct hook_server_counts hook;
	struct reconciler_counts reconciler;
};

/* Returns a new object; NULL: a text is not UTF-8. */
json_t *status_encode(const struct status *status);

/*
 * Replaces the file @path, if the status differs from the one in *@last, the last written text from
 * malloc() or NULL. The file also has the time. Returns 0 or a negative errno.
 */
int status_write(const char *path, const struct status *status, int64_t wall_ms, char **last);

#endif
