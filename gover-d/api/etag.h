/* SPDX-License-Identifier: MIT */
/* ETags and conditional requests (RFC 9110). A tag is a hash of the fields that a PATCH can change,
 * without measurements. It is the same after a restart.
 */
#ifndef GOVER_D_API_ETAG_H
#define GOVER_D_API_ETAG_H

#include "gover-d/api/handler.h"

/* Write the current tag of a resource into @tag; "" if memory is short. */
void api_etag_of_vgpu(const struct vgpu *vgpu, char tag[API_ETAG_MAX]);
void api_etag_of_gpu(const struct host_gpu *gpu, char tag[API_ETAG_MAX]);
void api_etag_of_text(const char *text, char tag[API_ETAG_MAX]);

/* Sets the ETag of the reply. */
void api_etag_put(struct api_request *request, const char *tag);

/*
 * Checks If-Match against @tag. -EINVAL: the tag differs (412) or the header is invalid (400); the
 * reply is set.
 */
int api_etag_check(struct api_request *request, const char *tag);
/*
 * Returns true and sets the reply 304 if If-None-Match contains @tag. Only for tags that cover the
 * whole answer.
 */
bool api_etag_unchanged(struct api_request *request, const char *tag);

#endif
