/* SPDX-License-Identifier: MIT */
/*
 * Server-sent events: a ring of the newest events, and readers, each with a position in the ring.
 * All readers share the texts of events. This module uses neither a clock nor a transport.
 */
#ifndef GOVER_D_API_EVENTS_H
#define GOVER_D_API_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define EVENTS_KEPT	  1024
#define EVENTS_BYTES_KEPT (1024 * 1024) /* limit of the total size of the stored texts, bytes */
/* a reader with more unread bytes than this has fallen behind */
#define EVENTS_WAITING (256 * 1024)
#define EVENTS_ID_MAX  64 /* size of an id with its NUL */

enum events_kind {
	EVENTS_DECISION,
	EVENTS_ALERT,
	EVENTS_OFFER,
	EVENTS_CHANGE,
	EVENTS_TICK, /* only the newest tick is stored */
	EVENTS_KINDS
};
#define EVENTS_ALL ((1u << EVENTS_KINDS) - 1)

/*
 * Parses a list of kinds such as "alert,offer" into bits, 1u << kind. -EINVAL: the list is empty or
 * contains an unknown kind.
 */
int events_kinds_parse(const char *text, unsigned int *ret_kinds);

struct events;
/*
 * @boot consists of letters and digits. Each event id begins with @boot, which identifies this run
 * of the daemon.
 */
struct events *events_new(const char *boot);
struct events *events_free(struct events *events); /* accepts NULL; returns NULL */

/* Adds an event whose data is the line @json. */
void events_add(struct events *events, enum events_kind kind, const char *json);

struct events_reader {
	struct events *events;
	unsigned int kinds;
	uint64_t next; /* number of the next event to send */
	/* number of the last event to replay; replayed events do not count as unread */
	uint64_t replayed;
	uint64_t n_ticks;	      /* value of events->n_ticks when a tick was last sent */
	uint64_t taken[EVENTS_KINDS]; /* bytes already sent, by kind */
	struct api_text *text;	      /* text that is being sent */
	size_t sent;		      /* bytes of @text already sent */
};

/*
 * Initialises a reader; free it with events_reader_fini(). @after is the id of the last event that
 * the client received, or NULL. Later events are replayed; if some of them are no longer stored,
 * the reader gets a `lost` event first.
 */
void events_reader_init(struct events_reader *reader, struct events *events, unsigned int kinds,
			const char *after);
void events_reader_fini(struct events_reader *reader);

/*
 * Returns 1 if the reader has bytes to send, 0 if it has none, or -EPIPE if the reader has fallen
 * behind and must be closed. Call it after every event, because it also skips events of kinds that
 * were not requested.
 */
int events_reader_look(struct events_reader *reader);

/*
 * Copies the next bytes to send, at most @size, and returns their number. 0: no bytes at present.
 */
size_t events_reader_read(struct events_reader *reader, char *buffer, size_t size);

/*
 * Makes a comment line the next text of @reader, unless a text is being sent. Comment lines make
 * clients and proxies keep an idle connection open.
 */
void events_reader_comment(struct events_reader *reader);

#endif
