/* SPDX-License-Identifier: MIT */
/* Server-sent events: a ring of the newest events, and readers with their own positions in it.
 * Pure: no clock, no transport. All readers share the texts.
 */
#ifndef GOVER_D_API_EVENTS_H
#define GOVER_D_API_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define EVENTS_KEPT	  1024
#define EVENTS_BYTES_KEPT (1024 * 1024) /* of their texts */
#define EVENTS_WAITING	  (256 * 1024)	/* bytes: who leaves more unread is left behind */
#define EVENTS_ID_MAX	  64		/* an id's length, with its NUL */

enum events_kind {
	EVENTS_DECISION,
	EVENTS_ALERT,
	EVENTS_OFFER,
	EVENTS_CHANGE,
	EVENTS_TICK, /* only the newest is stored */
	EVENTS_KINDS
};
#define EVENTS_ALL ((1u << EVENTS_KINDS) - 1)

/* "alert,offer" as bits, 1u << kind. -EINVAL: unknown kind, or none. */
int events_kinds_parse(const char *text, unsigned int *ret_kinds);

struct events;
/* @boot identifies this run of the daemon in ids; letters and digits only. */
struct events *events_new(const char *boot);
struct events *events_free(struct events *events); /* NULL is fine; returns NULL */

/* @json is one line. If memory is short (also: @json NULL), the ring is emptied, so that each
 * reader gets `lost` instead of missing an event. */
void events_add(struct events *events, enum events_kind kind, const char *json);

struct events_reader {
	struct events *events;
	unsigned int kinds;
	uint64_t next;		      /* number of the next event to send */
	uint64_t replayed;	      /* events up to this number do not count as unread */
	uint64_t n_ticks;	      /* ticks sent to it */
	uint64_t taken[EVENTS_KINDS]; /* bytes of each kind already sent */
	struct api_text *text;	      /* being sent */
	size_t sent;		      /* bytes of @text already sent */
};

/* @after is the id of the last received event, or NULL. Later events are replayed; if they are no
 * longer stored, the reader gets `lost` first. End it with events_reader_fini(). -ENOMEM.
 */
int events_reader_init(struct events_reader *reader, struct events *events, unsigned int kinds,
		       const char *after);
void events_reader_fini(struct events_reader *reader);

/* 1: there is something to send; 0: nothing; -EPIPE: the reader has fallen behind and must be
 * closed. Call it after every event: it skips kinds that were not requested. */
int events_reader_look(struct events_reader *reader);

/* Copies the next bytes, at most @size; 0: none at present. */
size_t events_reader_read(struct events_reader *reader, char *buffer, size_t size);

/* Sends a comment line, so that clients and proxies keep the connection open. */
void events_reader_comment(struct events_reader *reader);

#endif
