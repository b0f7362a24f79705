/* SPDX-License-Identifier: MIT */
/*
 * The audit log: one row for each request that changed something, with the values of the changed
 * fields before and after the request. Each row is also logged. A row never contains the secret
 * text of a token. The row is stored with the change (store/audit-rows.h).
 */
#ifndef GOVER_D_API_AUDIT_H
#define GOVER_D_API_AUDIT_H

#include "gover-d/api/handler.h"

/*
 * Encodes the resource before the change. Call it before the handler of a route that changes
 * something.
 */
void api_audit_begin(struct api *api, struct api_request *request);
/* Returns the audit of @request, which the caller must end; NULL: there is none. */
struct api_audit *api_audit_take(struct api_request *request);
/*
 * Returns the row of @audit to be stored with the change, as long as its result is not known: it
 * contains the body of the request, and of the resource before the change those members that are in
 * the body. NULL: @audit is NULL.
 */
struct db_audit *api_audit_plan(struct api_audit *audit);
/*
 * Ends @audit, which may be NULL. Writes its row if the request has @changed something or if
 * @status is 507. @status 0: the client disconnected before the reply.
 */
void api_audit_end(struct api_audit *audit, unsigned int status, bool changed);

/*
 * Writes the members that differ between @before and @after as JSON into @ret_before and
 * @ret_after, which have @size bytes each. The text of a NULL object is "". Values that do not fit
 * are replaced by "...". Takes over the references to @before and @after.
 */
void api_audit_differ(json_t *before, json_t *after, char *ret_before, char *ret_after,
		      size_t size);

#endif
