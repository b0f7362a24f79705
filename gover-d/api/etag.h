/* SPDX-License-Identifier: MIT */
/*
 * ETags and conditional requests (RFC 9110). An ETag is a hash of the fields that a PATCH can
 * change. Measurements and restarts do not change the ETag.
 */
#ifndef GOVER_D_API_ETAG_H
#define GOVER_D_API_ETAG_H

#include "gover-d/api/handler.h"

/* Write the current ETag of a resource into @tag; "": out of memory. */
void api_etag_of_vgpu(const struct vgpu *vgpu, char tag[API_ETAG_MAX]);
void api_etag_of_gpu(const struct host_gpu *gpu, char tag[API_ETAG_MAX]);
void api_etag_of_text(const char *text, char tag[API_ETAG_MAX]);

/* Sets the ETag of the reply. */
void api_etag_put(struct api_request *request, const char *tag);

/*
 * Returns 0 if the request has no If-Match, or if If-Match contains @tag. Otherwise returns -EINVAL
 * and sets the reply: 412 if If-Match does not contain @tag, 400 if If-Match is invalid. -ENOMEM:
 * there is an If-Match, but @tag is ""; the reply is set.
 */
int api_etag_check(struct api_request *request, const char *tag);
/*
 * Returns true and sets the reply 304 if If-None-Match contains @tag. Use it only if @tag changes
 * whenever any part of the answer changes.
 */
bool api_etag_unchanged(struct api_request *request, const char *tag);

#endif
