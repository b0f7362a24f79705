/* SPDX-License-Identifier: MIT */
/* Lists in pages: "limit" and "after" in the query, "next" in the answer, which is the "after" of
 * the next page. A page continues after an element even if it was removed. Without "limit", the
 * whole list is answered.
 */
#ifndef GOVER_D_API_LIST_H
#define GOVER_D_API_LIST_H

#include "gover-d/api/handler.h"

#define API_LIST_MAX 1000 /* things on one */

/* Replies {@key: the page of @list, "next"}. Takes over @list, whose elements have ascending "id"s.
 */
void api_list_reply_ids(struct api_request *request, const char *key, json_t *list);

/* Reply with a page of the GPUs, or of the vGPUs of @gpu (NULL: all). */
void api_list_reply_gpus(struct api *api, struct api_request *request);
void api_list_reply_vgpus(struct api *api, struct api_request *request, const struct host_gpu *gpu);

#endif
