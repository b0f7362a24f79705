/* SPDX-License-Identifier: MIT */
/* Reports the course of a migration to gover-d: POST /v1/vgpus/{id}/migration. */
#ifndef GOVER_FLEET_MIGRATE_MIGRATION_REPORT_H
#define GOVER_FLEET_MIGRATE_MIGRATION_REPORT_H

#include <stdint.h>

#include "base/err.h"
#include "client/client.h"

struct migration_report {
	const char *vgpu;
	const char *state;   /* "requested", "completed" or "failed" */
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

#endif
