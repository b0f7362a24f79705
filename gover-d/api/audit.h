/* SPDX-License-Identifier: MIT */
/*
 * The record of who changed what: each request that changed something leaves one row, with what
 * differs before and after. What cannot be kept is in the log all the same. Must never hold up a
 * request, nor record a token.
 */
#ifndef GOVER_D_API_AUDIT_H
#define GOVER_D_API_AUDIT_H

#include "gover-d/api/internal.h"

/* Before the handler of a route that changes something: what it may change is looked at. */
void api_audit_begin(struct api *api, struct api_request *request);
/* After it: what became of that. The row is kept when the reply stands, by request->settled(). */
void api_audit_end(struct api *api, struct api_request *request);
/* Before its late answer: nothing came of it after all, and the row will say so. */
void api_audit_undone(struct api_request *request);

/* Fills in the text of what differs between two objects, "" for NULL; what is too long is named
 * only. Takes over both references. */
void api_audit_differ(json_t *before, json_t *after, char *ret_before, char *ret_after,
		      size_t size);

#endif
