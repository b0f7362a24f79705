/* SPDX-License-Identifier: MIT */
/*
 * The thread that migrates vGPUs away from this host, one at a time. It decides (advice.h) whenever
 * it gets a new state of the host or a waiting time ends, migrates by Nova or libvirt, and reports
 * each migration to gover-d. The public header of this folder.
 */
#ifndef GOVER_FLEET_MIGRATE_MOVER_H
#define GOVER_FLEET_MIGRATE_MOVER_H

#include "base/err.h"
#include "gover-fleet/cloud/keystone.h"
#include "gover-fleet/migrate/advice.h"
#include "gover-fleet/migrate/nova.h"

enum mover_by {
	MOVER_NONE,    /* do nothing */
	MOVER_ADVICE,  /* log the command that an operator can run */
	MOVER_NOVA,    /* ask Nova */
	MOVER_LIBVIRT, /* ask libvirt of this host */
};
/* Finds the value of the key `by` of section [migrate]. False: @name is not allowed. */
bool mover_find_by(const char *name, enum mover_by *ret_by);

/* The texts must stay valid until mover_free(). */
struct mover_config {
	enum mover_by by;
	const char *host;	  /* name of this compute host in the cloud */
	const char *gover_socket; /* of gover-d */
	const char *libvirt_uri;  /* of this host */
	const char *to_uri;	  /* of the host to which libvirt migrates; "": none */
	struct advice_limits limits;
	int start_timeout_s; /* from the request until the migration runs */
	int run_timeout_s;   /* then until it has ended; it is aborted afterwards */
	int abort_timeout_s; /* then until the abort has ended */
	int poll_ms;	     /* between two looks at a migration */
};
/* Sets all limits and times to their defaults. */
void mover_config_default(struct mover_config *config);

/* Called in the mover's thread. */
struct mover_events {
	/*
	 * @priority is that of syslog. The message is about @vgpu and does not name it; "": it
	 * concerns no vGPU.
	 */
	void (*log)(void *userdata, int priority, const char *vgpu, const char *text);
	void (*changed)(void *userdata); /* mover_status() has changed; NULL: not called */
	void *userdata;
};

struct mover;

/*
 * Starts the thread. @keystone is required for MOVER_NOVA; only the mover uses it until
 * mover_free(). NULL means that the machines do not belong to OpenStack. Returns -EINVAL if a value
 * of @config is not usable, or another negative errno.
 */
int mover_new(const struct mover_config *config, struct keystone *keystone,
	      const struct mover_events *events, struct mover **ret_mover, struct err *reterr);

/*
 * Ends the thread; accepts NULL and returns NULL. Nova completes a migration in progress without
 * this process, and the next process finds it in gover-d and follows it; a migration by libvirt is
 * aborted.
 */
struct mover *mover_free(struct mover *mover);

/* Whether the traits of overloaded GPUs are in the cloud. */
enum mover_cloud {
	MOVER_CLOUD_UNAWARE, /* no, or the cloud does not answer */
	MOVER_CLOUD_LEARNS,  /* they are being written: checks may begin */
	MOVER_CLOUD_KNOWS,   /* yes: the cloud sends no further virtual machine here */
};

/* Gives the present state of the host to the thread. */
void mover_update(struct mover *mover, struct host_state *state, enum mover_cloud cloud);

/* A migration that has ended. */
struct mover_end {
	char vgpu[ID_MAX];
	bool moved;			 /* false: it failed */
	int64_t took_ms;		 /* since the request; negative: unknown */
	int64_t ended_ms;		 /* wall time at which its end was seen */
	char to[NOVA_HOST_MAX];		 /* "": unknown */
	char why[2 * ADVICE_REASON_MAX]; /* of a failure */
};

/* The state in reports: "completed" or "failed". */
const char *mover_end_state(const struct mover_end *end);

struct mover_status {
	/* since the start of the process; requested includes a migration in progress */
	unsigned int requested, completed, failed;
	char running[ID_MAX];	/* vGPU that is being migrated; "": none */
	char to[NOVA_HOST_MAX]; /* its destination; "": unknown */
	int64_t since_ms;	/* wall time of the request for it */
	struct mover_end last;	/* vgpu "": none */
	bool forbidden;		/* the cloud does not permit migrations */
};
void mover_status(struct mover *mover, struct mover_status *ret_status);

#endif
