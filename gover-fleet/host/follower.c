/* SPDX-License-Identifier: MIT */
/*
 * Follows the events of a host, and encodes the report of PUT /v1/fleet. An event only means that
 * something has changed. The stream is opened first and the state is read when its first bytes
 * arrive, so that no change between both is missed.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/http/client.h"
#include "base/text.h"
#include "base/thread.h"
#include "base/xalloc.h"
#include "gover-fleet/host/follower.h"
#include "gover-fleet/model/bell.h"
#include "gover-fleet/model/fleet-log.h"

#define REQUEST_LIMIT_MS 5000L
/* pauses between attempts to connect: doubled from the first to the last */
#define PAUSE_MIN_MS 100
#define PAUSE_MAX_MS 2000

struct follower {
	struct client *reader, *stream;
	follower_changed_fn changed;
	void *userdata;
	struct bell bell; /* ends a pause */
	atomic_bool stop;
	pthread_t thread;
	bool started;
	pthread_mutex_t lock; /* guards @view */
	struct follower_view view;
};

/* --- reading --- */

static int get(struct client *client, const char *path, struct reply *ret_reply, struct err *reterr)
{
	const struct client_call call = {.method = "GET", .path = path};
	int r = client_request(client, &call, ret_reply, reterr);

	if (r == CLIENT_REFUSED) {
		reply_fini(ret_reply);
		return -EPROTO;
	}
	return r;
}

int follower_read(struct client *client, struct host_state **ret_state, struct err *reterr)
{
	CLEANUP_REPLY struct reply host = {0}, policy = {0};
	int r = get(client, "/v1/host", &host, reterr);

	if (r == 0)
		r = get(client, "/v1/policy", &policy, reterr);
	return r < 0 ? r : host_state_parse(host.json, policy.json, ret_state, reterr);
}

static void store(struct follower *f, struct host_state *state, uint64_t begun_ns)
{
	struct host_state *old;
	bool was_connected;

	pthread_mutex_lock(&f->lock);
	old = f->view.state;
	was_connected = f->view.connected;
	f->view = (struct follower_view){.state = state, .connected = true, .read_ns = begun_ns};
	pthread_mutex_unlock(&f->lock);
	host_state_unref(old);
	if (!was_connected)
		fleet_log_notice("gover-d: connected, %zu GPUs, %zu vGPUs", state->n_gpus,
				 state->n_vgpus);
}

static void store_problem(struct follower *f, const struct err *err)
{
	bool is_new;

	pthread_mutex_lock(&f->lock);
	is_new = f->view.connected || strncmp(f->view.problem, err->msg, 60) != 0;
	f->view.connected = false;
	snprintf(f->view.problem, sizeof(f->view.problem), "%.255s", err->msg);
	pthread_mutex_unlock(&f->lock);
	if (is_new)
		fleet_log_warning("%s", err->msg);
	f->changed(f->userdata);
}

static int read_state(struct follower *f, struct err *reterr)
{
	struct host_state *state = NULL;
	uint64_t begun_ns = clock_now().mono_ns;
	int r;

	r = follower_read(f->reader, &state, reterr);
	if (r < 0)
		return r;
	store(f, state, begun_ns);
	f->changed(f->userdata);
	return 0;
}

/* --- the event stream --- */

struct streaming {
	struct follower *follower;
	uint64_t read_ns; /* time of the last read */
	struct err err;
	int result; /* of the last read */
	bool any;   /* the stream has begun */
};

static bool is_event(const char *data, size_t size)
{
	return memmem(data, size, "data:", strlen("data:"));
}

/* Each chunk is an event, a part of one, or the comment that is sent every 15 s. */
static bool take_chunk(void *userdata, const char *data, size_t size)
{
	struct streaming *s = userdata;
	uint64_t now_ns = clock_now().mono_ns;

	if (atomic_load(&s->follower->stop))
		return false;
	if (s->any && !is_event(data, size) && now_ns - s->read_ns < 10 * NS_PER_S)
		return true;
	s->any = true;
	s->read_ns = now_ns;
	s->result = read_state(s->follower, &s->err);
	return s->result == 0;
}

/* Returns after the stream has ended. */
static int follow(struct follower *f, struct err *reterr)
{
	struct streaming s = {.follower = f};
	const struct client_call call = {
		.method = "GET",
		.path = "/v1/events?kinds=alert,offer,change",
		.chunk = take_chunk,
		.userdata = &s,
		.stop = &f->stop,
	};
	CLEANUP_REPLY struct reply reply = {0};
	int r = client_request(f->stream, &call, &reply, reterr);

	if (s.result < 0) {
		*reterr = s.err;
		return s.result;
	}
	return r == CLIENT_REFUSED ? -EPROTO : r;
}

static void *run_follower(void *userdata)
{
	struct follower *f = userdata;
	unsigned int pause_ms = PAUSE_MIN_MS;

	while (!atomic_load(&f->stop)) {
		struct err err = {"gover-d: the event stream has ended"};
		uint64_t begun_ns = clock_now().mono_ns;

		(void)follow(f, &err);
		if (atomic_load(&f->stop))
			break;
		store_problem(f, &err);
		if (clock_now().mono_ns - begun_ns > NS_PER_S)
			pause_ms = PAUSE_MIN_MS;
		(void)bell_wait(&f->bell, clock_now().mono_ns + pause_ms * NS_PER_MS);
		pause_ms = pause_ms * 2 < PAUSE_MAX_MS ? pause_ms * 2 : PAUSE_MAX_MS;
	}
	return NULL;
}

/* --- life --- */

int follower_new(const char *socket, follower_changed_fn changed, void *userdata,
		 struct follower **ret_follower, struct err *reterr)
{
	struct follower *f = xcalloc(1, sizeof(*f));
	int r;

	f->changed = changed;
	f->userdata = userdata;
	(void)pthread_mutex_init(&f->lock, NULL);
	bell_init(&f->bell);
	r = client_new(socket, NULL, &f->reader, reterr);
	if (r == 0)
		r = client_new(socket, NULL, &f->stream, reterr);
	if (r == 0) {
		client_set_timeout(f->reader, REQUEST_LIMIT_MS);
		r = thread_start(&f->thread, run_follower, f, "fleet-follower");
		f->started = r >= 0;
		if (r < 0)
			(void)err_fail(reterr, -r, "thread: %s", strerror(-r));
	}
	if (r < 0) {
		follower_free(f);
		return r;
	}
	*ret_follower = f;
	return 0;
}

struct follower *follower_free(struct follower *f)
{
	if (!f)
		return NULL;
	atomic_store(&f->stop, true);
	bell_stop(&f->bell);
	if (f->started)
		(void)pthread_join(f->thread, NULL);
	client_free(f->reader);
	client_free(f->stream);
	host_state_unref(f->view.state);
	bell_fini(&f->bell);
	(void)pthread_mutex_destroy(&f->lock);
	free(f);
	return NULL;
}

void follower_view(struct follower *f, struct follower_view *ret_view)
{
	pthread_mutex_lock(&f->lock);
	*ret_view = f->view;
	(void)host_state_ref(ret_view->state);
	pthread_mutex_unlock(&f->lock);
}

void follower_view_fini(struct follower_view *view)
{
	view->state = host_state_unref(view->state);
}

/* --- the report of PUT /v1/fleet --- */

const char *fleet_report_cloud_name(enum report_cloud cloud)
{
	static const char *const names[REPORT_CLOUDS] = {
		[REPORT_WAITING] = "waiting",
		[REPORT_PUBLISHED] = "published",
		[REPORT_UNREACHABLE] = "unreachable",
		[REPORT_WITHDRAWN] = "withdrawn",
	};

	return names[cloud];
}

static json_t *encode_leaks(const struct report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; i < report->n_leaks; i++) {
		const struct report_leak *leak = &report->leaks[i];

		(void)json_array_append_new(
			list, json_pack("{s:s, s:s, s:i, s:i}", "gpu", leak->gpu, "flavor",
					leak->flavor, "used", leak->used, "sold", leak->sold));
	}
	return list;
}

json_t *fleet_report_encode(const struct report *report)
{
	char problem[sizeof(report->problem)];

	/* gover-d refuses control characters, which another program may have sent. */
	memcpy(problem, report->problem, sizeof(problem));
	text_mask_controls(problem);
	return json_pack("{s:s, s:s, s:s?, s:i, s:o, s:{s:i, s:i, s:i}, s:i}", "state",
			 fleet_report_cloud_name(report->cloud), "cloud",
			 report->address[0] ? report->address : "none", "problem",
			 problem[0] ? problem : NULL, "unverified", report->unverified, "leaks",
			 encode_leaks(report), "migrations", "requested",
			 report->migrations_requested, "completed", report->migrations_completed,
			 "failed", report->migrations_failed, "ttl_s", REPORT_TTL_S);
}

int fleet_report_send(struct client *client, const struct report *report, struct err *reterr)
{
	struct client_call call = {.method = "PUT", .path = "/v1/fleet"};
	CLEANUP_REPLY struct reply reply = {0};
	json_t *body = fleet_report_encode(report);
	int r;

	if (!body)
		return err_fail(reterr, EILSEQ, "report: a text is not UTF-8");
	call.body = body;
	r = client_request(client, &call, &reply, reterr);
	json_decref(body);
	if (r != CLIENT_REFUSED)
		return r;
	return reply.status == 404 || reply.status == 405 ? 1 : -EPROTO;
}
