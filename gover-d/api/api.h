/* SPDX-License-Identifier: MIT */
/* REST: the table of routes. http/ passes requests in, so that no MHD type occurs here. */
#ifndef GOVER_D_API_API_H
#define GOVER_D_API_API_H

#include "gover-d/core/observer.h"

#define API_BODY_MAX (64 * 1024)

struct api;
struct authn;
struct manager;
struct view;

/* All three outlive the api: @view is read, requests that change something go to @manager. NULL: no
 * memory. */
struct api *api_new(struct manager *manager, const struct view *view, struct authn *authn);
struct api *api_free(struct api *api); /* NULL is fine; returns NULL */

/* Feeds GET /v1/events and ends cached answers. Its userdata is the api. */
extern const struct observer api_observer;

#endif
