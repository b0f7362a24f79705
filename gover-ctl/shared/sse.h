/* SPDX-License-Identifier: MIT */
/* Parses server-sent events from a stream of bytes that arrives in chunks of any size. */
#ifndef GOVER_CTL_SHARED_SSE_H
#define GOVER_CTL_SHARED_SSE_H

#include <stdbool.h>
#include <stddef.h>

#define SSE_ID_MAX   64
#define SSE_KIND_MAX 32

/* Called for each event. @data has no final line end. Returns false to stop. */
typedef bool (*sse_event_fn)(void *userdata, const char *kind, const char *data);

struct sse {
	sse_event_fn event;
	void *userdata;
	char id[SSE_ID_MAX]; /* id of the last event that had a valid id; "": no such event */
	char kind[SSE_KIND_MAX];
	char *line; /* the incomplete last line */
	char *data; /* data of the incomplete last event */
	size_t line_length, data_length;
	bool after_cr;
};

/*
 * Parses a chunk and calls @event for each complete event. Returns 0; 1 if @event returned false;
 * -EMSGSIZE if a line or an event is too long.
 */
int sse_feed(struct sse *sse, const char *bytes, size_t size);
/* Discards an incomplete event and keeps the id. Must be called after the end of a connection. */
void sse_reset(struct sse *sse);

#endif
