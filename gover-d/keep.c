/* SPDX-License-Identifier: MIT */
/*
 * Keeping a decision: in memory for REST, in the log, in the history. Must never wait: the history
 * is a queue.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/db.h"
#include "gover-d/log.h"
#include "gover-d/manager.h"
#include "gover-d/tick.h"

static void store_decision(struct manager *m, const struct decision *d)
{
	struct db_decision row = {.id = d->id, .ts_ms = d->ts_ms};
	json_t *detail;
	char *text;

	if (!m->actuator.db)
		return;
	memcpy(row.gpu, d->gpu, sizeof(row.gpu));
	memcpy(row.kind, d->kind, sizeof(row.kind));
	memcpy(row.vgpu, d->vgpu, sizeof(row.vgpu));
	memcpy(row.donor, d->donor, sizeof(row.donor));
	memcpy(row.result, d->result, sizeof(row.result));
	snprintf(row.why, sizeof(row.why), "%s", d->why);
	detail = json_pack("{s:O, s:O}", "numbers", d->numbers, "moves", d->moves);
	text = detail ? json_dumps(detail, JSON_COMPACT) : NULL;
	if (text && strlen(text) >= sizeof(row.detail_json)) {
		free(text);
		(void)json_object_set_new(detail, "moves", json_array());
		text = json_dumps(detail, JSON_COMPACT);
	}
	if (text && strlen(text) < sizeof(row.detail_json))
		memcpy(row.detail_json, text, strlen(text) + 1);
	free(text);
	json_decref(detail);
	(void)db_append_decision(m->actuator.db, &row); /* a full queue is counted by db/ */
}

int64_t keep_decision(struct manager *m, struct decision *decision)
{
	const struct decision *kept;

	if (!decision->numbers)
		decision->numbers = json_object();
	if (!decision->moves)
		decision->moves = json_array();
	kept = decisions_add(m->decisions, decision);
	if (!kept)
		return 0;
	log_info("%s%s%s: %s [%s]", decision->kind, decision->vgpu[0] ? " " : "", decision->vgpu,
		 decision->why, decision->result);
	store_decision(m, kept);
	m->generation++;
	return kept->id;
}

void note_decision(struct manager *m, const struct host_gpu *gpu, struct vgpu *vgpu,
		   const char *kind, const char *result, struct instant now, const char *format,
		   ...)
{
	struct decision d = {.ts_ms = now.wall_ms};
	int64_t id;
	va_list ap;

	snprintf(d.gpu, sizeof(d.gpu), "%s", gpu->config.name);
	snprintf(d.kind, sizeof(d.kind), "%s", kind);
	snprintf(d.vgpu, sizeof(d.vgpu), "%s", vgpu ? vgpu->contract.id : "");
	snprintf(d.result, sizeof(d.result), "%s", result);
	va_start(ap, format);
	vsnprintf(d.why, sizeof(d.why), format, ap);
	va_end(ap);
	id = keep_decision(m, &d);
	if (vgpu && id)
		vgpu->last_decision_id = id;
}
