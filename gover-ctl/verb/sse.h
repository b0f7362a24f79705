/* SPDX-License-Identifier: MIT */
/* Parses server-sent events from a stream of bytes that arrives in chunks of any size. */
#ifndef GOVER_CTL_VERB_SSE_H
#define GOVER_CTL_VERB_SSE_H

#include <stdbool.h>
#include <stddef.h>

#define SSE_ID_MAX   64
#define SSE_KIND_MAX 32

/* Receives an event. @data does not end in a line end. Returns false to stop. */
typedef bool (*sse_event_fn)(void *userdata, const char *kind, const char *data);

struct sse {
	sse_event_fn event;
	void *userdata;
	char id[SSE_ID_MAX]; /* of the last event with a usable id; "": none */
	char kind[SSE_KIND_MAX];
	char *line, *data; /* bytes received so far of the line and of the event */
	size_t line_length, data_length;
	bool after_cr;
};

/* Returns 0; 1: the receiver stopped; -ENOMEM; -EMSGSIZE: a line or an event is too long. */
int sse_feed(struct sse *sse, const char *bytes, size_t size);
/* Call after the end of a connection: discards an incomplete event and retains the id. */
void sse_reset(struct sse *sse);

#endif
