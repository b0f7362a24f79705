/* SPDX-License-Identifier: MIT */
/* Server-sent events out of a stream of bytes, cut anywhere. Pure. */
#ifndef GOVER_CTL_VERB_SSE_H
#define GOVER_CTL_VERB_SSE_H

#include <stdbool.h>
#include <stddef.h>

#define SSE_ID_MAX   64
#define SSE_KIND_MAX 32

/* @data has no NUL and no line end of its own at its end. False: no more of them. */
typedef bool (*sse_event_fn)(void *userdata, const char *kind, const char *data);

struct sse {
	sse_event_fn event;
	void *userdata;
	char id[SSE_ID_MAX]; /* of the last event that had one; "": none yet. One that may not stand
				in a query is not taken */
	char kind[SSE_KIND_MAX];
	char *line, *data; /* what has come of the line, of the event; NULL: nothing */
	size_t line_length, data_length;
	bool after_cr;
};

/* 1: the function wants no more; 0; -ENOMEM; -EMSGSIZE: a line beyond all measure. */
int sse_feed(struct sse *sse, const char *bytes, size_t size);
/* The connection has ended: what was not whole is forgotten, the id stays. */
void sse_reset(struct sse *sse);

#endif
