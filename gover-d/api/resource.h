/* SPDX-License-Identifier: MIT */
/*
 * The resources of the REST interface as JSON. Each function returns a new document, or NULL if
 * memory is short. A value that is currently invalid is encoded as null.
 */
#ifndef GOVER_D_API_RESOURCE_H
#define GOVER_D_API_RESOURCE_H

#include <jansson.h>
#include <stdbool.h>

#include "gover-d/auth/tokens.h"
#include "gover-d/manager/view.h"
#include "gover-d/model/host.h"

json_t *resource_encode_host(const struct view *view, struct instant now);
json_t *resource_encode_gpu(const struct view *view, const struct host_gpu *gpu,
			    struct instant now);
json_t *resource_encode_vgpu(const struct view *view, const struct host_gpu *gpu,
			     const struct vgpu *vgpu);

/*
 * Encodes the contract of a vGPU: all that clients can set, and what is fixed by its creation.
 * Contains no measurement.
 */
json_t *resource_encode_contract(const struct view *view, const struct host_gpu *gpu,
				 const struct contract *contract);

/*
 * Encode lists. @all: cleared alerts and ended offers are included. @gpu: only the vGPUs of this
 * GPU are included; NULL: the vGPUs of all GPUs are included.
 */
json_t *resource_encode_vgpus(const struct view *view, const struct host_gpu *gpu);
json_t *resource_encode_alerts(const struct view *view, bool all);
json_t *resource_encode_offers(const struct view *view, bool all, struct instant now);

json_t *resource_encode_policy(const struct view *view);
/* Encodes the parameters of [policy] and [offer]. */
json_t *resource_encode_params(const struct config *config);
/* @text: the secret of the token; NULL: it is not encoded. */
json_t *resource_encode_token(const struct token *token, const char *text);

#endif
