/* SPDX-License-Identifier: MIT */
/* The audit log: one row for each request that changed something, with the fields that differ
 * before and after. Each row is also logged. A row never contains a token, and a full queue never
 * delays a request.
 */
#ifndef GOVER_D_API_AUDIT_H
#define GOVER_D_API_AUDIT_H

#include "gover-d/api/handler.h"

/* Call before the handler of a route that changes something: encodes the resource. */
void api_audit_begin(struct api *api, struct api_request *request);
/* Call after the handler: encodes the resource again. The row is written when the reply is final,
 * by request->settled(). */
void api_audit_end(struct api *api, struct api_request *request);
/* Call before a deferred reply if the change was undone: before and after become null. */
void api_audit_undone(struct api_request *request);

/* Writes the members that differ between two objects as JSON, "" for NULL. Values that do not fit
 * become "...". Takes over both references. */
void api_audit_differ(json_t *before, json_t *after, char *ret_before, char *ret_after,
		      size_t size);

#endif
