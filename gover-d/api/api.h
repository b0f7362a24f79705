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

/*
 * Returns a new api; NULL: out of memory. @manager, @view and @authn must outlive the api. Handlers
 * read @view and change the host through @manager.
 */
struct api *api_new(struct manager *manager, const struct view *view, struct authn *authn);
struct api *api_free(struct api *api); /* NULL is fine; returns NULL */

/*
 * Adds events to GET /v1/events and invalidates cached answers. The userdata of this observer is
 * the api.
 */
extern const struct observer api_observer;

#endif
