/* SPDX-License-Identifier: MIT */
/*
 * Lists in pages: "limit" and "after" of the query, "next" in the answer, which is the "after" of
 * the page behind it. A page goes on behind what it names even where that is gone meanwhile; who
 * asks for no page gets the whole list.
 */
#ifndef GOVER_D_API_LIST_H
#define GOVER_D_API_LIST_H

#include "gover-d/api/internal.h"

#define API_LIST_MAX 1000 /* things on one */

/* Answers with {@key: the page of @list, "next"}. Takes over the list, whose elements have
 * ascending numbers as "id". */
void api_list_reply_ids(struct api_request *request, const char *key, json_t *list);

/* Answers with a page of the GPUs, and of the vGPUs of @gpu (NULL: of all). */
void api_list_reply_gpus(struct api *api, struct api_request *request);
void api_list_reply_vgpus(struct api *api, struct api_request *request, const struct host_gpu *gpu);

#endif
