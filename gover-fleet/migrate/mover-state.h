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
	bool resumed;		 /* gover-d was asked about the migration of an earlier process */
	struct mover_end unsent; /* an end that gover-d does not know yet; vgpu "": none */
	struct nova *nova;
	struct libvirt_move *libvirt;
	struct client *gover;
	struct advice_past past[MOVER_PAST_MAX]; /* a ring of the newest attempts */
	size_t n_past, next_past;
	/* the last advice in the log, so that it is logged once */
	char last_advice[ID_MAX + 2 * ADVICE_REASON_MAX];
};

/* A migration that an earlier process asked for, and did not report as ended. */
struct migration_open {
	char vgpu[ID_MAX]; /* "": none */
	char to[256];	   /* destination; "": unknown */
	int64_t since_ms;  /* time of the request since 1970, by the clock of this host */
};

/* Result of an attempt to migrate. */
struct mover_result {
	enum advice_end end;
	bool forbidden;			 /* of ADVICE_REFUSED: a role is missing */
	char to[NOVA_HOST_MAX];		 /* of ADVICE_MOVED; "": unknown */
	char why[2 * ADVICE_REASON_MAX]; /* of the other ends */
	/* of mover_resume_*(): wall time of the end, if it came before the first look; 0: not */
	int64_t ended_ms;
};

/* Logs a message about @vgpu. */
void mover_log(struct mover *mover, int priority, const char *vgpu, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Waits for @ms. Returns false if the process stops meanwhile. */
bool mover_wait(struct mover *mover, int ms);

/* Records that a migration of @vgpu has begun, and reports it. @to: destination; "": unknown. */
void mover_begin(struct mover *mover, const char *vgpu, const char *to);
/* Records and reports the destination of the migration in progress. */
void mover_add_destination(struct mover *mover, const char *vgpu, const char *to);

/* Checks in advance what mover_run_nova() would check first. */
void mover_check_nova(struct mover *mover, const struct advice *advice);

/* Migrates and waits for the end. Returns false if the process stops before the end is known. */
bool mover_run_nova(struct mover *mover, const struct advice *advice, struct mover_result *ret);
bool mover_run_libvirt(struct mover *mover, const struct advice *advice, struct mover_result *ret);

/*
 * Follow the migration of the virtual machine @vm that an earlier process asked for, and return as
 * above; the end is not ADVICE_REFUSED.
 */
bool mover_resume_nova(struct mover *mover, const struct migration_open *open, const char *vm,
		       struct mover_result *ret);
bool mover_resume_libvirt(struct mover *mover, const struct migration_open *open, const char *vm,
			  struct mover_result *ret);

#endif
