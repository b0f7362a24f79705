/* SPDX-License-Identifier: MIT */
/*
 * Lists in pages. The query parameter "limit" is the size of a page. "next" in the answer is the
 * value of "after" for the next page. A page continues after an element even if that element was
 * removed. Without "limit", the reply is the whole list.
 */
#ifndef GOVER_D_API_LIST_H
#define GOVER_D_API_LIST_H

#include "gover-d/api/handler.h"

#define API_LIST_MAX 1000 /* limit of elements on one page */

/*
 * Replies with an object of two members: @key with the requested page of @list, and "next". Takes
 * over @list, whose elements must be sorted by "id".
 */
void api_list_reply_ids(struct api_request *request, const char *key, json_t *list);

/* Reply with a page of the GPUs, or of the vGPUs of @gpu (NULL: of all GPUs). */
void api_list_reply_gpus(struct api *api, struct api_request *request);
void api_list_reply_vgpus(struct api *api, struct api_request *request, const struct host_gpu *gpu);

#endif
