/* SPDX-License-Identifier: MIT */
/*
 * What happens, as server-sent events: a ring of the newest, and readers that go through it at
 * their own pace. Pure: no clock, no transport. A reader costs a cursor, whatever waits for him:
 * all of them share the texts.
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
	EVENTS_TICK, /* never kept: the newest alone counts */
	EVENTS_KINDS
};
#define EVENTS_ALL ((1u << EVENTS_KINDS) - 1)

/* "alert,offer" as bits, 1u << kind. -EINVAL: another word among them, or none. */
int events_kinds_parse(const char *text, unsigned int *ret_kinds);

struct events;
/* @boot names this run of the daemon in the ids, letters and digits only. */
struct events *events_new(const char *boot);
struct events *events_free(struct events *events); /* NULL is fine; returns NULL */

/* @json is one line. Without memory (NULL says so too) the ring is emptied, so that nobody misses
 * one unknowingly. */
void events_add(struct events *events, enum events_kind kind, const char *json);

struct events_reader {
	struct events *events;
	unsigned int kinds;
	uint64_t next;		      /* number of the event that he gets next */
	uint64_t replayed;	      /* up to here, which counts for nothing that waits */
	uint64_t n_ticks;	      /* he has seen */
	uint64_t taken[EVENTS_KINDS]; /* bytes of each kind that are behind him */
	struct api_text *text;	      /* he is in the middle of */
	size_t sent;		      /* bytes of it */
};

/*
 * @after: the id of the last event that he has, NULL: none. What lies between is replayed; where
 * that cannot be, he is told `lost` first. Ends with events_reader_fini(). -ENOMEM.
 */
int events_reader_init(struct events_reader *reader, struct events *events, unsigned int kinds,
		       const char *after);
void events_reader_fini(struct events_reader *reader);

/* 1: there is something for him; 0: nothing; -EPIPE: he has fallen behind and is to be let go. Ask
 * after every event: what he does not want is stepped over. */
int events_reader_look(struct events_reader *reader);

/* The next bytes for him, at most @size; 0: there are none now. */
size_t events_reader_read(struct events_reader *reader, char *buffer, size_t size);

/* A comment line, so that he and what lies between see that the other end lives. */
void events_reader_comment(struct events_reader *reader);

#endif
