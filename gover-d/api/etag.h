/* SPDX-License-Identifier: MIT */
/*
 * ETags and conditional requests (RFC 9110). An ETag is a hash of the fields that a PATCH can
 * change. Measurements and restarts do not change the ETag. The ETag of an answer that also
 * contains measurements is weak: it begins with W/.
 */
#ifndef GOVER_D_API_ETAG_H
#define GOVER_D_API_ETAG_H

#include "gover-d/api/handler.h"

/* Write the current ETag of a resource into @tag. */
void api_etag_of_contract(const struct view *view, const struct host_gpu *gpu,
			  const struct vgpu *vgpu, char tag[API_ETAG_MAX]);
/* The ETag of the contract as a weak tag. */
void api_etag_of_vgpu(const struct view *view, const struct host_gpu *gpu, const struct vgpu *vgpu,
		      char tag[API_ETAG_MAX]);
void api_etag_of_gpu(const struct host_gpu *gpu, char tag[API_ETAG_MAX]);
void api_etag_of_text(const char *text, char tag[API_ETAG_MAX]);

/* Sets the ETag of the reply. */
void api_etag_put(struct api_request *request, const char *tag);

/*
 * Checks the conditions of a change. Returns 0 if the request has no If-Match, or If-Match contains
 * @tag; and no If-None-Match, or If-None-Match does not contain @tag. Otherwise returns -EINVAL and
 * sets the reply: 412 if a condition is false, 400 if a header is invalid.
 *
 * If @tag is weak, If-Match may contain it with or without W/. RFC 9110 matches no weak tag,
 * because an equal weak tag does not exclude a change; but these tags change with each field that a
 * change can overwrite.
 */
int api_etag_check(struct api_request *request, const char *tag);
/*
 * Returns true and sets the reply 304 if If-None-Match contains @tag, with or without W/. A reply
 * with a weak tag must have the headers api_no_store: a cache would show old measurements.
 */
bool api_etag_unchanged(struct api_request *request, const char *tag);
/* Does this with the ETag of a reply 200 that is set. */
void api_etag_apply(struct api_request *request);

#endif
