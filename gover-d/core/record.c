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
#include "gover-d/api/api.h"
#include "gover-d/core/record.h"
#include "gover-d/core/state.h"
#include "gover-d/util/json-encode.h"
#include "gover-d/util/log.h"

/* Where all of it is too long for the history, the moves are left out; they are in cap_write too.
 */
static void copy_detail(const char *detail, char *to, size_t size)
{
	json_t *shorter;
	char *text;

	if (strlen(detail) < size) {
		strcpy(to, detail);
		return;
	}
	shorter = json_loads(detail, 0, NULL);
	(void)json_object_set_new(shorter, "moves", json_array());
	text = json_dumps(shorter, JSON_COMPACT);
	if (text && strlen(text) < size)
		strcpy(to, text);
	free(text);
	json_decref(shorter);
}

static void store_decision(struct manager *m, const struct decision *d)
{
	struct db_decision row = {.id = d->id, .ts_ms = d->ts_ms};

	if (!m->history.db)
		return;
	memcpy(row.gpu, d->gpu, sizeof(row.gpu));
	snprintf(row.kind, sizeof(row.kind), "%s", decision_kind_name(d->kind));
	memcpy(row.vgpu, d->vgpu, sizeof(row.vgpu));
	memcpy(row.donor, d->donor, sizeof(row.donor));
	snprintf(row.result, sizeof(row.result), "%s", decision_result_name(d->result));
	snprintf(row.why, sizeof(row.why), "%s", d->why);
	copy_detail(d->detail, row.detail_json, sizeof(row.detail_json));
	(void)db_append_decision(m->history.db, &row); /* a full queue is counted by db/ */
}

/* What was decided the api tells by itself, when there is time; what else is not as it was is to be
 * read again. */
static void tell_change(struct manager *m, const char *what, const char *id)
{
	struct json_encode o = json_encode_begin();

	json_encode_add(&o, "what", json_string(what));
	json_encode_add(&o, "id", json_encode_name(id));
	api_event(m->api, EVENTS_CHANGE, json_encode_end(&o));
}

int64_t record_add(struct manager *m, struct decision *decision)
{
	const struct decision *kept;
	const char *kind = decision_kind_name(decision->kind);

	if (!decision->numbers)
		decision->numbers = json_object();
	if (!decision->moves)
		decision->moves = json_array();
	kept = decisions_add(m->decisions, decision);
	if (!kept)
		return 0;
	log_event(SD_INFO,
		  &(struct log_fields){.kind = LOG_DECISION,
				       .gpu = kept->gpu,
				       .vgpu = kept->vgpu,
				       .decision = kind},
		  "%s%s%s: %s [%s]", kind, kept->vgpu[0] ? " " : "", kept->vgpu, kept->why,
		  decision_result_name(kept->result));
	store_decision(m, kept);
	m->generation++;
	if (!kept->gpu[0])
		tell_change(m, "policy", "");
	return kept->id;
}

void record_decision(struct manager *m, const struct host_gpu *gpu, struct vgpu *vgpu,
		     enum decision_kind kind, enum decision_result result, struct instant now,
		     const char *format, ...)
{
	char why[DECISION_WHY_MAX];
	struct decision d = {.ts_ms = now.wall_ms, .kind = kind, .result = result, .why = why};
	int64_t id;
	va_list ap;

	snprintf(d.gpu, sizeof(d.gpu), "%s", gpu->config.name);
	snprintf(d.vgpu, sizeof(d.vgpu), "%s", vgpu ? vgpu->contract.id : "");
	va_start(ap, format);
	vsnprintf(why, sizeof(why), format, ap);
	va_end(ap);
	id = record_add(m, &d);
	if (vgpu && id)
		vgpu->last_decision_id = id;
	tell_change(m, vgpu ? "vgpu" : "gpu", vgpu ? d.vgpu : d.gpu);
}
