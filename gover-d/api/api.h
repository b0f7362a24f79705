/* SPDX-License-Identifier: MIT */
/*
 * The REST interface. The transport in http/ passes requests to this interface, which therefore
 * does not depend on libmicrohttpd.
 */
#ifndef GOVER_D_API_API_H
#define GOVER_D_API_API_H

#include "gover-d/record/observer.h"

#define API_BODY_MAX (64 * 1024)

struct api;
struct authn;
struct changes;
struct view;

/*
 * Returns a new api; NULL: the kernel has no random numbers. @changes, @view and @authn must
 * outlive the api. Handlers read @view and change the host through @changes.
 */
struct api *api_new(struct changes *changes, const struct view *view, struct authn *authn);
struct api *api_free(struct api *api); /* accepts NULL; returns NULL */

/*
 * Adds events to GET /v1/events and invalidates cached answers. The userdata of this observer must
 * be the struct api.
 */
extern const struct observer api_observer;

#endif
