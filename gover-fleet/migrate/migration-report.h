/* SPDX-License-Identifier: MIT */
/*
 * Reports the course of a migration to gover-d (POST /v1/vgpus/{id}/migration), and reads the
 * migration whose end was not reported (GET /v1/fleet).
 */
#ifndef GOVER_FLEET_MIGRATE_MIGRATION_REPORT_H
#define GOVER_FLEET_MIGRATE_MIGRATION_REPORT_H

#include <stdint.h>

#include "base/err.h"
#include "base/id.h"
#include "client/client.h"

struct migration_report {
	const char *vgpu;
	/*
	 * "requested", "completed" or "failed". "requested" again with a destination adds it to the
	 * migration in progress.
	 */
	const char *state;
	int64_t duration_ms; /* since the request; negative: unknown */
	const char *to;	     /* destination; "" or NULL: unknown */
	const char *reason;  /* of "failed"; "" or NULL: none */
};

/*
 * Returns 0 also if gover-d has no such vGPU: a migrated machine may have left before this report.
 * Otherwise a negative errno or CLIENT_REFUSED.
 */
int migration_report_send(struct client *gover, const struct migration_report *report,
			  struct err *reterr);

struct migration_open {
	char vgpu[ID_MAX]; /* "": none */
	char to[256];	   /* destination; "": unknown */
	int64_t since_ms;  /* time of the request since 1970, by the clock of this host */
};

/*
 * Reads the migration that was reported as requested and not as ended. An older gover-d knows none.
 * Results as above, and -EPROTO for an answer that cannot be read.
 */
int migration_report_find_open(struct client *gover, struct migration_open *ret_open,
			       struct err *reterr);

#endif
