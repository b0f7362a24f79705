/* SPDX-License-Identifier: MIT */
/*
 * `watch`: prints events, one per line. Reconnects if the daemon restarts, and then prints the
 * decisions that were made during the interruption.
 */
#include <poll.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/terminal/field.h"
#include "gover-ctl/shared/describe.h"
#include "gover-ctl/shared/sse.h"
#include "gover-ctl/verb/watch.h"

#define KINDS_DEFAULT "decision,alert,offer,change"
#define RETRY_MS      1000

struct watch {
	struct ctl *ctl;
	const char *kinds;
	struct sse sse;
	double last_decision; /* id of the last printed decision */
	/* true: the daemon dropped events; catch_up() must fetch the decisions */
	bool lost;
	bool received; /* true: data arrived since the last connection attempt */
};

static void print_decision(const struct writer *writer, const json_t *d)
{
	char time[DESCRIBE_MAX], moves[DESCRIBE_MAX];
	const char *vgpu = field_text(d, "vgpu");

	describe_time(field_text(d, "time"), time);
	describe_moves(d, moves);
	writer_line(writer, "%s  decision %.0f %s%s%s: %s [%s%s%s]", time, field_number(d, "id"),
		    field_text(d, "kind"), vgpu[0] ? " " : "", vgpu, field_text(d, "why"),
		    field_text(d, "result"), moves[0] ? ": " : "", moves);
}

static void print_alert(const struct writer *writer, const json_t *a)
{
	const char *cleared = field_text(a, "cleared_at"), *acked = field_text(a, "acked_at");
	const char *at = cleared[0] ? cleared : acked[0] ? acked : field_text(a, "raised_at");
	char time[DESCRIBE_MAX];

	describe_time(at, time);
	writer_line(writer, "%s  alert %.0f %s %s %s: %s", time, field_number(a, "id"),
		    field_text(a, "severity"), field_text(a, "name"),
		    cleared[0] ? "cleared"
		    : acked[0] ? "acknowledged"
			       : "raised",
		    field_text(a, "text"));
}

static void print_offer(const struct writer *writer, const json_t *o)
{
	const char *reason = field_text(o, "reason"), *vgpu = field_text(o, "vgpu");
	const char *holder = field_text(o, "held_by");
	char time[DESCRIBE_MAX];

	describe_time(field_text(o, "changed_at"), time);
	writer_line(writer, "%s  offer %.0f on %s is %s: %.0f %%%s%s%s%s%s%s", time,
		    field_number(o, "id"), field_text(o, "gpu"), field_text(o, "state"),
		    field_number(o, "initial_cap_pct"), holder[0] ? ", held by " : "", holder,
		    vgpu[0] ? ", vGPU " : "", vgpu, reason[0] ? "; " : "", reason);
}

static void now_text(char text[DESCRIBE_MAX])
{
	char exact[CLOCK_TEXT_MAX];

	clock_format(clock_now().wall_ms, exact);
	describe_time(exact, text);
}

static void print_change(const struct writer *writer, const json_t *change)
{
	const char *id = field_text(change, "id");
	char time[DESCRIBE_MAX];

	now_text(time);
	writer_line(writer, "%s  change %s%s%s", time, field_text(change, "what"), id[0] ? " " : "",
		    id);
}

static void print_tick(const struct writer *writer, const json_t *tick)
{
	const json_t *vgpus = json_object_get(tick, "vgpus"), *vgpu;
	int overloaded = 0, broken = 0;
	char time[DESCRIBE_MAX];
	double load = 0;
	size_t i;

	json_array_foreach (vgpus, i, vgpu) {
		overloaded += field_true(vgpu, "overloaded");
		broken += field_true(vgpu, "broken");
		if (field_number(vgpu, "load_pct") > 0)
			load += field_number(vgpu, "load_pct");
	}
	now_text(time);
	writer_line(writer, "%s  tick: %zu vGPUs, load %.1f %%, %d overloaded, %d broken", time,
		    json_array_size(vgpus), load, overloaded, broken);
}

static void print_lost(const struct writer *writer, const json_t *lost)
{
	char time[DESCRIBE_MAX];

	now_text(time);
	writer_line(writer,
		    "%s  lost: events after %s are no longer available; missed decisions follow",
		    time, field_text(lost, "after"));
}

static const struct {
	const char *kind;
	void (*print)(const struct writer *writer, const json_t *data);
} printers[] = {
	{"decision", print_decision}, {"alert", print_alert}, {"offer", print_offer},
	{"change", print_change},     {"tick", print_tick},   {"lost", print_lost},
};

/* Prints {"event": KIND, "id": ..., "data": ...} in one line, also on a terminal. */
static void print_json(const struct watch *w, const char *kind, json_t *data)
{
	json_t *line = json_pack("{s:s, s:s?, s:O}", "event", kind, "id",
				 w->sse.id[0] ? w->sse.id : NULL, "data", data);

	json_dumpf(line, w->ctl->writer.out, JSON_COMPACT | JSON_REAL_PRECISION(15));
	fputc('\n', w->ctl->writer.out);
	json_decref(line);
}

/* Returns false if standard output is closed. */
static bool print_event(struct watch *w, const char *kind, json_t *data)
{
	const struct writer *writer = &w->ctl->writer;

	if (strcmp(kind, "decision") == 0) {
		if (field_number(data, "id") <= w->last_decision)
			return true; /* already printed by catch_up() */
		w->last_decision = field_number(data, "id");
	}
	if (writer->json)
		print_json(w, kind, data);
	for (size_t i = 0; !writer->json && i < ARRAY_SIZE(printers); i++)
		if (strcmp(printers[i].kind, kind) == 0)
			printers[i].print(writer, data);
	return fflush(writer->out) == 0;
}

static bool on_event(void *userdata, const char *kind, const char *text)
{
	struct watch *w = userdata;
	json_t *data = json_loadb(text, strlen(text), 0, NULL);
	bool go_on = true;

	if (json_is_object(data))
		go_on = print_event(w, kind, data);
	json_decref(data);
	w->lost = strcmp(kind, "lost") == 0;
	return go_on && !w->lost;
}

static bool on_bytes(void *userdata, const char *data, size_t size)
{
	struct watch *w = userdata;

	w->received = true;
	return sse_feed(&w->sse, data, size) == 0;
}

/* Fetches and prints the decisions after the last printed decision. */
static void catch_up(struct watch *w)
{
	CLEANUP_REPLY struct reply reply = {0};
	char path[64];
	struct client_call call = {.method = "GET", .path = path};
	struct err err;
	json_t *decision;
	size_t i;

	w->lost = false;
	if (!strstr(w->kinds, "decision"))
		return;
	snprintf(path, sizeof(path), "/v1/decisions?limit=1000&after=%.0f", w->last_decision);
	if (ctl_try_request(w->ctl, &call, &reply, &err) == 0)
		json_array_foreach (json_object_get(reply.json, "decisions"), i, decision)
			(void)print_event(w, "decision", decision);
}

/* Prints events until the stream ends. Returns the result of client_request(). */
static int follow(struct watch *w, struct err *reterr)
{
	struct reply reply = {0};
	char path[256];
	struct client_call call = {.method = "GET", .path = path, .chunk = on_bytes, .userdata = w};
	int r;

	snprintf(path, sizeof(path), "/v1/events?kinds=%s%s%s", w->kinds,
		 w->sse.id[0] ? "&after=" : "", w->sse.id);
	r = ctl_try_request(w->ctl, &call, &reply, reterr);
	reply_fini(&reply);
	sse_reset(&w->sse);
	return r;
}

static enum ctl_exit run_watch(struct watch *w)
{
	bool begun = false, away = false;
	struct err err = {.msg = ""};

	for (;;) {
		int r = follow(w, &err);

		if (ferror(w->ctl->writer.out))
			return CTL_DONE; /* dispatch.c prints the error */
		if (r != 0 && !w->received && !begun)
			return ctl_fail(ctl_exit_code(r), "%s", err.msg);
		begun = true;
		away = away && !w->received;
		w->received = false;
		if (w->lost) {
			catch_up(w);
			continue;
		}
		if (!away)
			(void)ctl_fail(CTL_UNREACHABLE, "watch: no connection to %s; retrying",
				       client_address(w->ctl->client));
		away = true;
		(void)poll(NULL, 0, RETRY_MS);
	}
}

enum ctl_exit verb_watch(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply reply = {0};
	const char *kinds = args->values[OPTION_KINDS];
	struct watch w = {.ctl = ctl, .kinds = kinds ? kinds : KINDS_DEFAULT};
	enum ctl_exit r;

	if (w.kinds[strspn(w.kinds, "abcdefghijklmnopqrstuvwxyz,")] != '\0')
		return ctl_fail(
			CTL_USAGE,
			"--kinds '%s': not allowed (allowed: decision, alert, offer, change, tick, "
			"separated by commas)",
			kinds);
	w.sse.event = on_event;
	w.sse.userdata = &w;
	r = ctl_request(ctl, "GET", NULL, &reply, "/v1/decisions?limit=1");
	if (r != CTL_DONE)
		return r;
	w.last_decision = field_number(reply.json, "next_after");
	r = run_watch(&w);
	sse_reset(&w.sse);
	return r;
}
