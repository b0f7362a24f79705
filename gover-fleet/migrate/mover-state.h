/* SPDX-License-Identifier: MIT */
/* The state of the mover, for mover-thread.c and the files that migrate. Private to this folder. */
#ifndef GOVER_FLEET_MIGRATE_MOVER_STATE_H
#define GOVER_FLEET_MIGRATE_MOVER_STATE_H

#include <pthread.h>

#include "client/client.h"
#include "gover-fleet/migrate/libvirt-move.h"
#include "gover-fleet/migrate/mover.h"
#include "gover-fleet/migrate/nova.h"
#include "gover-fleet/model/bell.h"

#define MOVER_PAST_MAX 64

struct mover {
	struct mover_config config;
	struct mover_events events;
	bool openstack; /* the machines are servers of OpenStack */
	pthread_t thread;
	struct bell bell; /* rung after each update */
	pthread_mutex_t lock;
	/* protected by @lock */
	struct host_state *state; /* a reference; NULL: unknown */
	enum mover_cloud cloud;
	struct mover_status status;
	/* used by the thread only */
	struct nova *nova;
	struct libvirt_move *libvirt;
	struct client *gover;
	struct advice_past past[MOVER_PAST_MAX]; /* a ring of the newest attempts */
	size_t n_past, next_past;
	/* the last advice in the log, so that it is logged once */
	char last_advice[ID_MAX + 2 * ADVICE_REASON_MAX];
};

/* Result of an attempt to migrate. */
struct mover_result {
	enum advice_end end;
	bool forbidden;			 /* of ADVICE_REFUSED: a role is missing */
	char to[NOVA_HOST_MAX];		 /* of ADVICE_MOVED; "": unknown */
	char why[2 * ADVICE_REASON_MAX]; /* of the other ends */
};

/* Logs a message about @vgpu. */
void mover_log(struct mover *mover, int priority, const char *vgpu, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Waits for @ms. Returns false if the process stops meanwhile. */
bool mover_wait(struct mover *mover, int ms);

/* Records that a migration of @vgpu has begun, and reports it. */
void mover_begin(struct mover *mover, const char *vgpu);

/* Checks in advance what mover_run_nova() would check first. */
void mover_check_nova(struct mover *mover, const struct advice *advice);

/* Migrates and waits for the end. Returns false if the process stops before the end is known. */
bool mover_run_nova(struct mover *mover, const struct advice *advice, struct mover_result *ret);
bool mover_run_libvirt(struct mover *mover, const struct advice *advice, struct mover_result *ret);

#endif
