/* SPDX-License-Identifier: MIT */
/* Stores the reports of gover-fleet, and records migrations. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "gover-d/core/control.h"
#include "gover-d/core/error.h"
#include "gover-d/core/record.h"
#include "gover-d/core/state.h"

void control_fleet_report(struct manager *m, const struct fleet_report *report, struct instant now)
{
	enum fleet_state before = fleet_state_at(&m->fleet, now);

	m->fleet.report = *report;
	m->fleet.reported = now;
	if (report->state != before)
		observers_pass(&m->observers, change, "fleet", "");
}

/* Writes the sentence of the decision. */
static void explain(const char *vgpu, const struct fleet_migration *migration, char *text,
		    size_t size)
{
	static const char *const words[FLEET_MIGRATION_STATES] = {
		[FLEET_REQUESTED] = "was requested",
		[FLEET_COMPLETED] = "was completed",
		[FLEET_FAILED] = "failed",
	};

	text_append(text, size, "the migration of vGPU %s", vgpu);
	if (migration->to[0])
		text_append(text, size, " to %s", migration->to);
	text_append(text, size, " %s", words[migration->state]);
	if (migration->duration_ms >= 0)
		text_append(text, size, " after %.1f s", (double)migration->duration_ms / 1000);
	if (migration->reason[0])
		text_append(text, size, ": %s", migration->reason);
}

static void count(struct fleet *fleet, const struct fleet_migration *migration)
{
	fleet->migrations[migration->state]++;
	if (migration->state == FLEET_COMPLETED && migration->duration_ms >= 0)
		fleet->migration_s += (double)migration->duration_ms / 1000;
}

/* A completed migration needs no record: the policy sees the departure of the vGPU. */
static void teach_policy(struct fleet *fleet, struct policy_gpu *gpu, const char *vgpu,
			 enum fleet_migration_state state, struct instant now)
{
	if (fleet_migrates(fleet, now))
		gpu->migrates = true;
	if (state == FLEET_REQUESTED)
		moving_note_requested(gpu, vgpu);
	else if (state == FLEET_FAILED)
		moving_note_failed(gpu, vgpu);
}

int control_fleet_migration(struct manager *m, const char *id,
			    const struct fleet_migration *migration, struct instant now,
			    struct err *reterr)
{
	struct host_gpu *gpu = NULL;
	struct vgpu *vgpu = host_find_vgpu(&m->host, id, &gpu);
	const char *asked = fleet_asked_gpu(&m->fleet, id);
	char why[DECISION_WHY_MAX] = "";
	struct decision d = {
		.ts_ms = now.wall_ms,
		.kind = DECISION_MIGRATION,
		.result = DECISION_NOTED,
		.why = why,
	};

	if (!vgpu && !asked)
		return err_condition(reterr, CONTROL_E_NOT_FOUND, "no vGPU %s on this host", id);
	if (migration->state == FLEET_REQUESTED &&
	    fleet_add_destination(&m->fleet, id, migration->to)) {
		observers_pass(&m->observers, change, "fleet", "");
		return 0;
	}
	snprintf(d.gpu, sizeof(d.gpu), "%s", vgpu ? gpu->config.name : asked);
	snprintf(d.vgpu, sizeof(d.vgpu), "%s", id);
	explain(id, migration, why, sizeof(why));
	if (migration->duration_ms >= 0)
		d.numbers = json_pack("{s:f}", "duration_s", (double)migration->duration_ms / 1000);
	if (migration->state == FLEET_REQUESTED && vgpu)
		fleet_remember(&m->fleet, id, gpu->config.name);
	count(&m->fleet, migration);
	fleet_note_migration(&m->fleet, id, d.gpu, migration, now.wall_ms);
	if (vgpu)
		teach_policy(&m->fleet, &gpu->view, id, migration->state, now);
	d.id = record_add(m, &d);
	if (vgpu)
		vgpu->last_decision_id = d.id;
	observers_pass(&m->observers, change, "vgpu", id);
	return 0;
}
