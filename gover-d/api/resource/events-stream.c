/* SPDX-License-Identifier: MIT */
/*
 * GET /v1/events: the open event streams. A tick is encoded only if an open stream requests ticks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "gover-d/api/resource/events-stream.h"
#include "gover-d/api/resource/routes.h"
#include "gover-d/auth/authn.h"
#include "gover-d/model/decisions.h"
#include "gover-d/record/encode.h"
#include "gover-d/util/json.h"

#define FOLLOWERS_MAX  256
#define FOLLOWERS_KEPT 32  /* streams reserved for callers with scope operate or admin */
#define FOLLOWERS_EACH 128 /* limit of streams for one token, user or address */
#define SILENCE_NS     (15 * NS_PER_S)

struct follower {
	/* must be the first member: the transport passes this struct to the callbacks */
	struct api_stream stream;
	struct api *api;
	struct events_reader reader;
	uint64_t spoken_ns; /* time of the newest tick when data was last sent */
	bool left_behind;
	char who[ACCESS_NAME_MAX];
	struct authn_session session; /* the stream ends with it */
	struct follower *next;	      /* next in api.followers */
};

static ssize_t read_stream(struct api_stream *stream, char *buffer, size_t size)
{
	struct follower *f = (struct follower *)stream;
	size_t n;

	if (f->left_behind)
		return -EPIPE;
	n = events_reader_read(&f->reader, buffer, size);
	if (n > 0)
		f->spoken_ns = f->api->view->host->ticked.mono_ns;
	return (ssize_t)n;
}

static void free_stream(struct api_stream *stream)
{
	struct follower *f = (struct follower *)stream, **at = &f->api->followers;

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	f->api->n_followers--;
	events_reader_fini(&f->reader);
	free(f);
}

/* Closes the stream, unless it is closing or the transport does not send it (yet or any more). */
static void let_go(struct follower *f)
{
	if (!f->stream.wake || f->left_behind)
		return;
	f->left_behind = true;
	f->stream.drop(f->stream.userdata);
}

void api_events_end_invalid(struct api *api)
{
	const int64_t now_ms = clock_now().wall_ms;

	for (struct follower *f = api->followers; f; f = f->next)
		if (!authn_session_is_valid(api->authn, &f->session, now_ms))
			let_go(f);
}

static struct follower *follow(struct api *api, unsigned int kinds, const char *after)
{
	struct follower *f = xcalloc(1, sizeof(*f));

	events_reader_init(&f->reader, api->events, kinds, after);
	f->stream.read = read_stream;
	f->stream.free = free_stream;
	f->api = api;
	f->spoken_ns = api->view->host->ticked.mono_ns;
	f->next = api->followers;
	api->followers = f;
	api->n_followers++;
	return f;
}

/* Checks the limits on open streams. If a limit is reached, sets the reply and returns false. */
static bool has_place(const struct api *api, struct api_request *request)
{
	const int kept = request->principal.scope < ACCESS_OPERATE ? FOLLOWERS_KEPT : 0;
	int n = 0;

	for (const struct follower *f = api->followers; f; f = f->next)
		n += strcmp(f->who, request->principal.name) == 0;
	if (n >= FOLLOWERS_EACH)
		problem_reply(request, 503, "too many open event streams: %s has %d (limit %d)",
			      request->principal.name, n, FOLLOWERS_EACH);
	else if (api->n_followers >= FOLLOWERS_MAX - kept)
		problem_reply(request, 503, "too many open event streams: %d (limit %d)",
			      api->n_followers, FOLLOWERS_MAX - kept);
	else
		return true;
	return false;
}

static void get_events(struct api *api, struct api_request *request)
{
	const char *words = api_request_query(request, "kinds");
	/* the header Last-Event-ID takes precedence over the query parameter "after" */
	const char *after = request->last_event_id;
	unsigned int kinds = EVENTS_ALL;
	struct follower *f;

	if (!after || !after[0])
		after = api_request_query(request, "after");
	if (words && events_kinds_parse(words, &kinds) < 0) {
		problem_reply(
			request, 400,
			"kinds: %.100s is invalid (allowed: decision, alert, offer, change and "
			"tick, separated by commas)",
			words);
		return;
	}
	if (after && strlen(after) >= EVENTS_ID_MAX) {
		problem_reply(request, 400,
			      "after: %.100s is invalid (allowed: the id of an event)", after);
		return;
	}
	if (!has_place(api, request))
		return;
	f = follow(api, kinds, after && after[0] ? after : NULL);
	memcpy(f->who, request->principal.name, sizeof(f->who));
	authn_session_begin(api->authn, &request->principal, &f->session);
	api_request_reply_stream(request, "text/event-stream", &f->stream);
}

/* Wakes streams that have data to send; closes streams that have fallen behind. */
static void wake_streams(struct api *api)
{
	for (struct follower *f = api->followers; f; f = f->next) {
		int r = events_reader_look(&f->reader);

		if (r < 0)
			let_go(f);
		else if (r > 0 && !f->left_behind && f->stream.wake)
			f->stream.wake(f->stream.userdata);
	}
}

static void add(struct api *api, enum events_kind kind, json_t *object)
{
	char *json = json_encode_dump(object);

	events_add(api->events, kind, json);
	free(json);
}

static void add_decisions(struct api *api)
{
	const struct decisions *decisions = api->view->decisions;
	const struct decision *d;

	while ((d = decisions_after(decisions, api->sent_decision))) {
		add(api, EVENTS_DECISION, encode_decision(d));
		api->sent_decision = d->id;
	}
	api->has_decisions = false;
}

void api_events_add(struct api *api, enum events_kind kind, json_t *object)
{
	add_decisions(api);
	add(api, kind, object);
	wake_streams(api);
}

static bool followed(const struct api *api, enum events_kind kind)
{
	for (const struct follower *f = api->followers; f; f = f->next)
		if (!f->left_behind && (f->reader.kinds & (1u << kind)))
			return true;
	return false;
}

void api_events_tick(struct api *api)
{
	const uint64_t now_ns = api->view->host->ticked.mono_ns;

	add_decisions(api);
	api_events_end_invalid(api);
	if (followed(api, EVENTS_TICK))
		events_add(api->events, EVENTS_TICK, api_vgpus_text(api)->data);
	for (struct follower *f = api->followers; f; f = f->next) {
		if (now_ns - f->spoken_ns >= SILENCE_NS) {
			f->spoken_ns = now_ns;
			events_reader_comment(&f->reader);
		}
	}
	wake_streams(api);
}

const struct api_route events_routes[] = {
	{"GET", "/v1/events", get_events, ACCESS_READ, 0, {"kinds", "after"}},
	{.method = NULL},
};
