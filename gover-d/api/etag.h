/* SPDX-License-Identifier: MIT */
/*
 * ETags and the conditions that name them (RFC 9110). A tag is made of what a PATCH can change and
 * of nothing that is measured, so that who read, thought and changes is refused only where another
 * has changed something meanwhile; it is the same after a restart.
 */
#ifndef GOVER_D_API_ETAG_H
#define GOVER_D_API_ETAG_H

#include "gover-d/api/internal.h"

/* Each makes the tag of a thing as it is now; "" without memory. */
void api_etag_of_vgpu(const struct vgpu *vgpu, char tag[API_ETAG_MAX]);
void api_etag_of_gpu(const struct host_gpu *gpu, char tag[API_ETAG_MAX]);
void api_etag_of_text(const char *text, char tag[API_ETAG_MAX]);

/* Into the reply that stands in @request. */
void api_etag_put(struct api_request *request, const char *tag);

/* What If-Match asks for. -EINVAL: it is not so (412), or cannot be read (400), and the reply says
 * it. */
int api_etag_check(struct api_request *request, const char *tag);
/* True where If-None-Match names it: the reply is 304 then. Only for a tag of the whole answer. */
bool api_etag_unchanged(struct api_request *request, const char *tag);

#endif
