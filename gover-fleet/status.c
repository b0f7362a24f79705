/* SPDX-License-Identifier: MIT */
/* One object, written atomically: a reader never sees a part of it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "gover-fleet/status.h"

static const char *text_or_null(const char *text)
{
	return text[0] ? text : NULL;
}

static json_t *encode_gover(const struct follower_view *view)
{
	const struct host_state *state = view->state;

	return json_pack("{s:b, s:s?, s:i, s:i, s:i}", "connected", view->connected, "problem",
			 text_or_null(view->problem), "gpus", state ? (int)state->n_gpus : 0,
			 "vgpus", state ? (int)state->n_vgpus : 0, "offers",
			 state ? (int)state->n_offers : 0);
}

static json_t *encode_libvirt(const struct domains_view *view)
{
	if (!view)
		return json_null();
	return json_pack("{s:b, s:s?, s:i}", "connected", view->connected, "problem",
			 text_or_null(view->problem), "domains",
			 view->list ? (int)view->list->n : 0);
}

static json_t *encode_gpu(const struct wanted_gpu *gpu)
{
	json_t *classes = json_array();

	for (size_t i = 0; i < gpu->n_classes; i++)
		(void)json_array_append_new(classes, json_pack("{s:s, s:i, s:i}", "name",
							       gpu->classes[i].name, "contracts",
							       gpu->classes[i].contracts, "offers",
							       gpu->classes[i].offers));
	return json_pack("{s:s, s:b, s:b, s:s?, s:o}", "gpu", gpu->name, "overloaded",
			 gpu->overloaded, "draining", gpu->draining, "policy",
			 text_or_null(gpu->policy), "classes", classes);
}

static json_t *encode_wanted(const struct wanted *wanted)
{
	json_t *list = json_array();

	for (size_t i = 0; i < wanted->n_gpus; i++)
		(void)json_array_append_new(list, encode_gpu(&wanted->gpus[i]));
	return list;
}

static json_t *encode_cloud(const struct report *report)
{
	return json_pack("{s:s, s:s?, s:s?, s:i}", "state", fleet_report_cloud_name(report->cloud),
			 "address", text_or_null(report->address), "problem",
			 text_or_null(report->problem), "leaks", (int)report->n_leaks);
}

static json_t *encode_time(int64_t wall_ms)
{
	char text[CLOCK_TEXT_MAX];

	clock_format(wall_ms, text);
	return json_string(text);
}

/* The migration in progress. */
static json_t *encode_migration(const struct mover_status *mover)
{
	if (!mover || !mover->running[0])
		return json_null();
	return json_pack("{s:s, s:s?, s:o}", "vgpu", mover->running, "to", text_or_null(mover->to),
			 "since", encode_time(mover->since_ms));
}

static json_t *encode_last_migration(const struct mover_status *mover)
{
	const struct mover_end *last = mover ? &mover->last : NULL;

	if (!last || !last->vgpu[0])
		return json_null();
	return json_pack("{s:s, s:s, s:s?, s:I, s:s?, s:o}", "vgpu", last->vgpu, "state",
			 mover_end_state(last), "to", text_or_null(last->to), "duration_ms",
			 (json_int_t)last->took_ms, "reason", text_or_null(last->why), "time",
			 encode_time(last->ended_ms));
}

static json_t *encode_counts(const struct status *status)
{
	const struct hook_server_counts *hook = &status->hook;
	const struct reconciler_counts *reconciler = &status->reconciler;

	return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "hook_requests",
			 (int)hook->requests, "hook_claimed", (int)hook->claimed, "hook_refused",
			 (int)hook->refused, "hook_failed", (int)hook->failed, "claimed_later",
			 (int)reconciler->claimed, "ended", (int)reconciler->ended, "unverified",
			 reconciler->unverified);
}

json_t *status_encode(const struct status *status)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "version", GOVER_VERSION,
			 "host", status->host, "gover", encode_gover(status->gover), "libvirt",
			 encode_libvirt(status->libvirt), "cloud", encode_cloud(status->report),
			 "wanted", encode_wanted(status->wanted), "migration",
			 encode_migration(status->mover), "last_migration",
			 encode_last_migration(status->mover), "counts", encode_counts(status));
}

int status_write(const char *path, const struct status *status, int64_t wall_ms, char **last)
{
	CLEANUP_FREE char *text = NULL, *whole = NULL;
	json_t *object = status_encode(status);
	int r;

	if (!object)
		return -EILSEQ;
	text = json_dumps(object, JSON_COMPACT);
	if (*last && strcmp(text, *last) == 0) {
		json_decref(object);
		return 0;
	}
	(void)json_object_set_new(object, "written_at", encode_time(wall_ms));
	whole = json_dumps(object, JSON_INDENT(2));
	r = file_replace(path, whole, strlen(whole));
	json_decref(object);
	if (r < 0)
		return r;
	free(*last);
	*last = text;
	text = NULL;
	return 0;
}
