/* SPDX-License-Identifier: MIT */
/*
 * Reports of gover-fleet. They are facts in memory, so nothing is stored in the contracts file, and
 * each function has ended when it returns.
 */
#ifndef GOVER_D_CORE_CONTROL_FLEET_H
#define GOVER_D_CORE_CONTROL_FLEET_H

#include "base/err.h"
#include "gover-d/model/fleet.h"

struct manager;

/* PUT /v1/fleet: replaces the last report. */
void control_fleet_report(struct manager *manager, const struct fleet_report *report,
			  struct instant now);
/*
 * POST /v1/vgpus/ID/migration: records a fact about the migration of a vGPU as a decision. The vGPU
 * exists, or its migration was requested since the start of the daemon and it has left. Error:
 * CONTROL_E_NOT_FOUND.
 */
int control_fleet_migration(struct manager *manager, const char *vgpu,
			    const struct fleet_migration *migration, struct instant now,
			    struct err *reterr);

#endif
