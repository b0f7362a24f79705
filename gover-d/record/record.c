/* SPDX-License-Identifier: MIT */
/* Records events: stores them in memory and passes them to the observers. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "gover-d/model/host.h"
#include "gover-d/record/record.h"

void record_add(struct recorder *recorder, struct decision *decision, struct vgpu *const *about,
		int n)
{
	const struct decision *recorded;

	if (!decision->numbers)
		decision->numbers = json_object();
	if (!decision->moves)
		decision->moves = json_array();
	recorded = decisions_add(recorder->decisions, decision);
	for (int i = 0; i < n; i++)
		about[i]->last_decision_id = recorded->id;
	observers_pass(&recorder->observers, decision, recorded);
	if (!recorded->gpu[0])
		observers_pass(&recorder->observers, change, "policy", "");
}

void record_decision(struct recorder *recorder, const struct host_gpu *gpu, struct vgpu *vgpu,
		     enum decision_kind kind, enum decision_result result, struct instant now,
		     const char *format, ...)
{
	char why[DECISION_WHY_MAX];
	struct decision d = {.ts_ms = now.wall_ms, .kind = kind, .result = result, .why = why};
	va_list ap;

	snprintf(d.gpu, sizeof(d.gpu), "%s", gpu->config.name);
	snprintf(d.vgpu, sizeof(d.vgpu), "%s", vgpu ? vgpu->contract.id : "");
	va_start(ap, format);
	vsnprintf(why, sizeof(why), format, ap);
	va_end(ap);
	record_add(recorder, &d, &vgpu, vgpu != NULL);
	observers_pass(&recorder->observers, change, vgpu ? "vgpu" : "gpu", vgpu ? d.vgpu : d.gpu);
}

void record_silence(struct recorder *recorder, const struct db_silence *silence, struct instant now)
{
	observers_pass(&recorder->observers, silence, silence);
	alerts_update_silenced(recorder->alerts, now.wall_ms);
}
