/* SPDX-License-Identifier: MIT */
/* The thread decides by the newest state only, so that a missed change loses nothing. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/thread.h"
#include "base/xalloc.h"
#include "gover-fleet/model/fleet-log.h"
#include "gover-fleet/model/hold.h"
#include "gover-fleet/model/mapping.h"
#include "gover-fleet/publish.h"

#define REPORT_EVERY_NS (50 * NS_PER_S)
#define REPORT_LIMIT_MS 2000L
#define EVERY_MS	60000
#define CHOICES_MAX	16

struct publish {
	struct publish_parts parts;
	struct cloud *cloud;
	struct client *client; /* for reports */
	pthread_t thread;
	bool started;
	struct report sent; /* the last report that gover-d has */
	uint64_t sent_ns;   /* 0: gover-d has none */
	enum report_cloud logged;
	char *status; /* as last written; NULL: not yet */
	int status_result;
	bool no_route; /* this gover-d has no PUT /v1/fleet */
	bool refused;  /* gover-d refused the last report */
	size_t lost;   /* see mapping_want() */
};

/* --- the cloud --- */

static bool offers_live(const struct follower_view *view, uint64_t now_ns)
{
	uint64_t life_ns = (uint64_t)view->state->offer_ttl_s * NS_PER_S;

	return view->connected || now_ns - view->read_ns <= life_ns;
}

static void log_cloud(struct publish *p, const struct report *report)
{
	if (report->cloud == p->logged)
		return;
	p->logged = report->cloud;
	if (report->cloud == REPORT_PUBLISHED)
		fleet_log_notice("cloud: the offers and contracts of this host are published");
	else if (report->cloud == REPORT_UNREACHABLE || report->cloud == REPORT_WAITING)
		fleet_log_warning("cloud: %s", report->problem);
}

static void name_leaks(const struct host_state *state, struct report *report)
{
	for (size_t i = 0; i < report->n_leaks; i++) {
		struct report_leak *leak = &report->leaks[i];

		snprintf(leak->flavor, sizeof(leak->flavor), "%s",
			 mapping_flavor_of(state, leak->slot));
	}
}

/* The time of gover-d now. Its state is as old as its read; both processes run on this host. */
static int64_t time_of(const struct follower_view *view)
{
	uint64_t age_ns = clock_now().mono_ns - view->read_ns;

	return view->state->time_ms + (int64_t)(age_ns / NS_PER_MS);
}

/* --- holds --- */

static int hold_offer(struct publish *p, const struct hold_choice *choice, struct err *reterr)
{
	char path[64];
	struct client_call call = {.method = "POST", .path = path};
	CLEANUP_REPLY struct reply reply = {0};
	json_t *body =
		json_pack("{s:s, s:i}", "holder", choice->holder, "ttl_s", p->parts.config->hold_s);
	int r;

	snprintf(path, sizeof(path), "/v1/offers/%lld/hold", (long long)choice->offer);
	call.body = body;
	r = client_request(p->client, &call, &reply, reterr);
	json_decref(body);
	return r;
}

static void hold_class(struct publish *p, const struct host_state *state, const char *gpu,
		       const char *slot, const struct allocations *consumers, int64_t now_ms)
{
	struct hold_choice choices[CHOICES_MAX];
	size_t n = hold_choose(state, gpu, slot, consumers->list, consumers->n, now_ms, choices,
			       CHOICES_MAX);

	for (size_t i = 0; i < n; i++) {
		const struct hold_choice *choice = &choices[i];
		struct err err = {""};

		if (hold_offer(p, choice, &err) == 0)
			fleet_log_notice("offer %lld of GPU %s is held for server %s",
					 (long long)choice->offer, gpu, choice->holder);
		else
			fleet_log_warning("offer %lld of GPU %s cannot be held for server %s: %s",
					  (long long)choice->offer, gpu, choice->holder, err.msg);
	}
}

/*
 * Holds offers for classes with more allocations than contracts, and only offers that expire soon.
 * Consumers are read from the cloud only then. Failures are logged; the next call tries again.
 */
static void hold_gpu(struct publish *p, const struct host_state *state,
		     const struct wanted_gpu *gpu, int64_t now_ms)
{
	struct allocations consumers;
	struct err err = {""};
	bool was_read = false;

	for (size_t i = 0; i < gpu->n_classes; i++) {
		const struct wanted_class *class = &gpu->classes[i];

		if (cloud_used(p->cloud, gpu->name, class->name) <= class->contracts ||
		    !hold_due(state, gpu->name, class->name, now_ms))
			continue;
		if (!was_read && cloud_consumers(p->cloud, gpu->name, &consumers, &err) < 0) {
			fleet_log_warning("cloud: the allocations of GPU %s cannot be read: %s",
					  gpu->name, err.msg);
			return;
		}
		was_read = true;
		hold_class(p, state, gpu->name, class->name, &consumers, now_ms);
	}
}

/* Returns the time in ms after which offers need another look; INT_MAX: no offer does. */
static int hold_expiring(struct publish *p, const struct follower_view *view,
			 const struct wanted *wanted)
{
	int64_t now_ms = time_of(view);

	if (!p->cloud || !view->connected)
		return INT_MAX;
	for (size_t i = 0; i < wanted->n_gpus; i++)
		hold_gpu(p, view->state, &wanted->gpus[i], now_ms);
	return hold_next_ms(view->state, now_ms);
}

static void update_mover(struct publish *p, const struct follower_view *view,
			 enum mover_cloud cloud)
{
	if (p->parts.mover && view->connected)
		mover_update(p->parts.mover, view->state, cloud);
}

/* Returns the time until the next attempt in ms. */
static int publish_wanted(struct publish *p, const struct follower_view *view,
			  struct wanted *wanted, struct report *report)
{
	int again_ms, expires_ms, hold_ms;
	size_t lost;

	if (!view->state) {
		report->cloud = REPORT_WAITING;
		strcpy(report->problem, "gover-d has not answered yet");
		return EVERY_MS;
	}
	lost = mapping_want(view->state, offers_live(view, clock_now().mono_ns), time_of(view),
			    wanted);
	if (lost && lost != p->lost)
		fleet_log_warning("%zu offers, contracts or GPUs cannot be published: too many, or "
				  "the name of a flavour is too long",
				  lost);
	p->lost = lost;
	/* While the cloud learns of an overload, the mover can make its checks. */
	update_mover(p, view,
		     p->logged == REPORT_PUBLISHED ? MOVER_CLOUD_LEARNS : MOVER_CLOUD_UNAWARE);
	again_ms = cloud_publish(p->cloud, wanted, report);
	/* Overload is a reason for a migration only after it was published to the cloud. */
	update_mover(p, view,
		     report->cloud == REPORT_PUBLISHED || !p->cloud ? MOVER_CLOUD_KNOWS
								    : MOVER_CLOUD_UNAWARE);
	name_leaks(view->state, report);
	hold_ms = hold_expiring(p, view, wanted);
	if (hold_ms < again_ms)
		again_ms = hold_ms;
	log_cloud(p, report);
	/* The offers expire without an event. */
	expires_ms =
		view->state->offer_ttl_s < 60 ? view->state->offer_ttl_s * 1000 + 500 : EVERY_MS;
	return !view->connected && expires_ms < again_ms ? expires_ms : again_ms;
}

/* --- report --- */

static void send_report(struct publish *p, const struct report *report)
{
	uint64_t now_ns = clock_now().mono_ns;
	struct err err = {""};
	int r;

	if (p->sent_ns && now_ns - p->sent_ns < REPORT_EVERY_NS &&
	    memcmp(report, &p->sent, sizeof(*report)) == 0)
		return;
	r = fleet_report_send(p->client, report, &err);
	if (r == -EPROTO && !p->refused)
		fleet_log_warning("gover-d refuses the report of the fleet: %s", err.msg);
	p->refused = r == -EPROTO;
	if (r < 0) {
		p->sent_ns = 0;
		return;
	}
	if (r > 0 && !p->no_route)
		fleet_log_notice("gover-d has no route PUT /v1/fleet: it raises no alerts about "
				 "the fleet");
	p->no_route = r > 0;
	p->sent = *report;
	p->sent_ns = now_ns;
}

/* --- status file --- */

struct status {
	const char *host;
	const struct follower_view *gover;
	const struct domains_view *libvirt; /* NULL: no domains are watched */
	const struct wanted *wanted;
	const struct report *report;
	const struct mover_status *mover; /* NULL: nothing is migrated */
	struct hook_server_counts hook;
	struct reconciler_counts reconciler;
};

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

static json_t *encode_status(const struct status *status)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "version", GOVER_VERSION,
			 "host", status->host, "gover", encode_gover(status->gover), "libvirt",
			 encode_libvirt(status->libvirt), "cloud", encode_cloud(status->report),
			 "wanted", encode_wanted(status->wanted), "migration",
			 encode_migration(status->mover), "last_migration",
			 encode_last_migration(status->mover), "counts", encode_counts(status));
}

/*
 * Replaces the file, if the status differs from the last one. One object, written atomically: a
 * reader never sees a part of it. The file also has the time. Returns 0 or a negative errno.
 */
static int replace_status(struct publish *p, const struct status *status)
{
	CLEANUP_FREE char *text = NULL, *whole = NULL;
	json_t *object = encode_status(status);
	int r;

	if (!object)
		return -EILSEQ;
	text = json_dumps(object, JSON_COMPACT);
	if (p->status && strcmp(text, p->status) == 0) {
		json_decref(object);
		return 0;
	}
	(void)json_object_set_new(object, "written_at", encode_time(clock_now().wall_ms));
	whole = json_dumps(object, JSON_INDENT(2));
	r = file_replace(p->parts.config->status_file, whole, strlen(whole));
	json_decref(object);
	if (r < 0)
		return r;
	free(p->status);
	p->status = text;
	text = NULL;
	return 0;
}

static void write_status(struct publish *p, const struct status *status)
{
	const char *path = p->parts.config->status_file;
	int r = path[0] ? replace_status(p, status) : 0;

	if (r < 0 && r != p->status_result)
		fleet_log_warning("%s: cannot be written: %s", path, strerror(-r));
	p->status_result = r;
}

/* --- rounds --- */

/* Returns the time until the next round in ms. */
static int run_round(struct publish *p)
{
	const struct publish_parts *parts = &p->parts;
	struct wanted wanted;
	struct report report;
	struct follower_view gover;
	struct domains_view libvirt = {0};
	struct mover_status mover = {.requested = 0};
	struct status status = {
		.host = parts->config->host,
		.gover = &gover,
		.libvirt = parts->domains ? &libvirt : NULL,
		.wanted = &wanted,
		.report = &report,
		.mover = parts->mover ? &mover : NULL,
	};
	int again_ms;

	memset(&wanted, 0, sizeof(wanted));
	memset(&report, 0, sizeof(report)); /* reports are compared as bytes */
	follower_view(parts->follower, &gover);
	again_ms = publish_wanted(p, &gover, &wanted, &report);
	if (parts->mover) {
		mover_status(parts->mover, &mover);
		report.migrations_requested = (int)mover.requested;
		report.migrations_completed = (int)mover.completed;
		report.migrations_failed = (int)mover.failed;
	}
	hook_server_count(parts->server, &status.hook);
	if (parts->reconciler)
		reconciler_count(parts->reconciler, &status.reconciler);
	if (parts->domains)
		domains_view(parts->domains, &libvirt);
	report.unverified = status.reconciler.unverified;
	if (gover.connected)
		send_report(p, &report);
	else
		p->sent_ns = 0;
	write_status(p, &status);
	follower_view_fini(&gover);
	domains_view_fini(&libvirt);
	return again_ms;
}

static void *run_publish(void *userdata)
{
	struct publish *p = userdata;
	int again_ms;

	do
		again_ms = run_round(p);
	while (bell_wait(p->parts.bell, clock_now().mono_ns + (uint64_t)again_ms * NS_PER_MS));
	return NULL;
}

/* --- life --- */

int publish_new(const struct publish_parts *parts, struct cloud *cloud,
		struct publish **ret_publish, struct err *reterr)
{
	struct publish *p = xcalloc(1, sizeof(*p));
	int r;

	p->parts = *parts;
	p->cloud = cloud;
	p->logged = REPORT_CLOUDS;
	r = client_new(parts->config->gover_socket, NULL, &p->client, reterr);
	if (r == 0) {
		client_set_timeout(p->client, REPORT_LIMIT_MS);
		r = thread_start(&p->thread, run_publish, p, "fleet-publish");
		p->started = r >= 0;
		if (r < 0)
			(void)err_fail(reterr, -r, "thread: %s", strerror(-r));
	}
	if (r < 0) {
		publish_free(p);
		return r;
	}
	*ret_publish = p;
	return 0;
}

struct publish *publish_free(struct publish *p)
{
	if (!p)
		return NULL;
	bell_stop(p->parts.bell);
	if (p->started)
		(void)pthread_join(p->thread, NULL);
	client_free(p->client);
	cloud_free(p->cloud);
	free(p->status);
	free(p);
	return NULL;
}
