/* SPDX-License-Identifier: MIT */
/* The ring of events. Each event is stored as one text, which is sent to all clients. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "base/xalloc.h"
#include "gover-d/api/events.h"
#include "gover-d/api/request.h"
#include "gover-d/util/json.h"

#define BOOT_MAX 32

static const char *const kind_names[EVENTS_KINDS] = {
	[EVENTS_DECISION] = "decision", [EVENTS_ALERT] = "alert", [EVENTS_OFFER] = "offer",
	[EVENTS_CHANGE] = "change",	[EVENTS_TICK] = "tick",
};

struct events {
	char boot[BOOT_MAX];
	struct {
		enum events_kind kind;
		struct api_text *text;
	} ring[EVENTS_KEPT];
	uint64_t first; /* number of the oldest event; last + 1: the ring is empty */
	uint64_t last;	/* number of the newest event; 0: no event yet */
	size_t bytes;	/* total bytes of the texts in the ring */
	struct api_text *tick;
	uint64_t n_ticks;
	/* for each kind: the sum of weight() of all events added so far */
	uint64_t given[EVENTS_KINDS];
};

int events_kinds_parse(const char *text, unsigned int *ret_kinds)
{
	unsigned int kinds = 0;

	for (size_t n, kind;; text += n + 1) {
		n = strcspn(text, ",");
		for (kind = 0; kind < EVENTS_KINDS; kind++)
			if (strlen(kind_names[kind]) == n && memcmp(kind_names[kind], text, n) == 0)
				break;
		if (kind == EVENTS_KINDS)
			return -EINVAL;
		kinds |= 1u << kind;
		if (text[n] == '\0')
			break;
	}
	*ret_kinds = kinds;
	return 0;
}

struct events *events_new(const char *boot)
{
	struct events *events = xcalloc(1, sizeof(*events));

	snprintf(events->boot, sizeof(events->boot), "%s", boot);
	events->first = 1;
	return events;
}

static void drop_oldest(struct events *events)
{
	size_t at = events->first++ % EVENTS_KEPT;

	events->bytes -= events->ring[at].text->length;
	events->ring[at].text = api_text_unref(events->ring[at].text);
}

struct events *events_free(struct events *events)
{
	if (!events)
		return NULL;
	while (events->first <= events->last)
		drop_oldest(events);
	api_text_unref(events->tick);
	free(events);
	return NULL;
}

/*
 * Returns how many bytes of @text count as unread. The number is limited, so that a single tick of
 * a large host does not close a stream.
 */
static size_t weight(const struct api_text *text)
{
	return text->length < EVENTS_WAITING / 4 ? text->length : EVENTS_WAITING / 4;
}

/* Creates the text of an event. @number: number in the id of the event; 0: no id. */
static struct api_text *make_text(const struct events *events, uint64_t number, const char *kind,
				  const char *json)
{
	char id[EVENTS_ID_MAX + 8] = "";

	if (number)
		snprintf(id, sizeof(id), "id: %s-%" PRIu64 "\n", events->boot, number);
	return api_text_new(xasprintf("%sevent: %s\ndata: %s\n\n", id, kind, json));
}

static void add_tick(struct events *events, const char *json)
{
	struct api_text *text = make_text(events, 0, kind_names[EVENTS_TICK], json);

	api_text_unref(events->tick);
	events->tick = text;
	events->n_ticks++;
	events->given[EVENTS_TICK] += weight(text);
}

void events_add(struct events *events, enum events_kind kind, const char *json)
{
	struct api_text *text;

	if (kind == EVENTS_TICK) {
		add_tick(events, json);
		return;
	}
	text = make_text(events, events->last + 1, kind_names[kind], json);
	if (events->last - events->first + 1 == EVENTS_KEPT)
		drop_oldest(events);
	events->last++;
	events->ring[events->last % EVENTS_KEPT].kind = kind;
	events->ring[events->last % EVENTS_KEPT].text = text;
	events->given[kind] += weight(text);
	events->bytes += text->length;
	while (events->bytes > EVENTS_BYTES_KEPT && events->first < events->last)
		drop_oldest(events);
}

/*
 * Parses the number in the event id @after. -ENOENT: the id is not from this run of the daemon, or
 * some later events are no longer stored.
 */
static int find_after(const struct events *events, const char *after, uint64_t *ret_number)
{
	size_t n = strlen(events->boot);
	int64_t number;

	if (strncmp(after, events->boot, n) != 0 || after[n] != '-' ||
	    parse_int(after + n + 1, 0, INT64_MAX, &number) < 0)
		return -ENOENT;
	if ((uint64_t)number > events->last || (uint64_t)number + 1 < events->first)
		return -ENOENT;
	*ret_number = (uint64_t)number;
	return 0;
}

/*
 * Creates the first lines of a stream. They contain an id, so that a client can resume even if it
 * has not received an event yet. @lost: id in the `lost` event; NULL: no `lost` event.
 */
static struct api_text *make_greeting(const struct events *events, const char *lost)
{
	CLEANUP_FREE char *json = NULL;

	if (lost)
		json = json_encode_dump(json_pack("{s:o}", "after", json_encode_text(lost)));
	return api_text_new(xasprintf("retry: 1000\nid: %s-%" PRIu64 "\n%s%s%s\n", events->boot,
				      events->last, lost ? "event: lost\ndata: " : "",
				      lost ? json : "", lost ? "\n" : ""));
}

void events_reader_init(struct events_reader *reader, struct events *events, unsigned int kinds,
			const char *after)
{
	uint64_t number = events->last;
	bool lost = after && find_after(events, after, &number) < 0;

	*reader = (struct events_reader){
		.events = events,
		.kinds = kinds,
		.next = number + 1,
		.replayed = events->last,
		.n_ticks = events->n_ticks,
	};
	memcpy(reader->taken, events->given, sizeof(reader->taken));
	if (!after || lost)
		reader->text = make_greeting(events, after);
}

void events_reader_fini(struct events_reader *reader)
{
	reader->text = api_text_unref(reader->text);
}

static bool wants(const struct events_reader *reader, enum events_kind kind)
{
	return reader->kinds & (1u << kind);
}

static size_t count_waiting(const struct events_reader *reader)
{
	size_t waiting = 0;

	for (unsigned int kind = 0; kind < EVENTS_KINDS; kind++)
		if (wants(reader, kind) && reader->events->given[kind] > reader->taken[kind])
			waiting += reader->events->given[kind] - reader->taken[kind];
	return waiting;
}

int events_reader_look(struct events_reader *reader)
{
	const struct events *events = reader->events;

	if (reader->next < events->first)
		return -EPIPE;
	while (reader->next <= events->last &&
	       !wants(reader, events->ring[reader->next % EVENTS_KEPT].kind))
		reader->next++;
	if (count_waiting(reader) > EVENTS_WAITING)
		return -EPIPE;
	return reader->text || reader->next <= events->last ||
	       (wants(reader, EVENTS_TICK) && reader->n_ticks < events->n_ticks);
}

/* Sets reader->text to the next event or, if there is none, to the newest tick. */
static void take(struct events_reader *reader)
{
	struct events *events = reader->events;
	size_t at = reader->next % EVENTS_KEPT;

	if (reader->next <= events->last) {
		reader->text = api_text_ref(events->ring[at].text);
		if (reader->next++ > reader->replayed)
			reader->taken[events->ring[at].kind] += weight(reader->text);
	} else {
		reader->text = api_text_ref(events->tick);
		reader->taken[EVENTS_TICK] = events->given[EVENTS_TICK];
		reader->n_ticks = events->n_ticks;
	}
	reader->sent = 0;
}

size_t events_reader_read(struct events_reader *reader, char *buffer, size_t size)
{
	size_t length = 0;

	while (length < size && events_reader_look(reader) > 0) {
		size_t n;

		if (!reader->text)
			take(reader);
		n = reader->text->length - reader->sent;
		if (n > size - length)
			n = size - length;
		memcpy(buffer + length, reader->text->data + reader->sent, n);
		length += n;
		reader->sent += n;
		if (reader->sent == reader->text->length)
			reader->text = api_text_unref(reader->text);
	}
	return length;
}

void events_reader_comment(struct events_reader *reader)
{
	if (reader->text)
		return; /* another text is still being sent */
	reader->text = api_text_new(xstrdup(":\n\n"));
	reader->sent = 0;
}
