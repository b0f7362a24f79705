/* SPDX-License-Identifier: MIT */
/*
 * The REST interface. The transport in http/ passes requests to this interface, which therefore
 * does not depend on libmicrohttpd.
 */
#ifndef GOVER_D_API_API_H
#define GOVER_D_API_API_H

#include <stdbool.h>

#include "base/clock.h"
#include "gover-d/record/observer.h"

#define API_BODY_MAX (64 * 1024)

struct api;
struct api_request;
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
 * Called before the body arrives. Returns true if the caller may use the route. The transport then
 * calls api_serve() or sets a reply itself. If the caller may not use the route, sets the reply and
 * returns false.
 */
bool api_admit(struct api *api, struct api_request *request);

/* Sets the reply to a request that is malformed. @text is the detail of the problem. */
void api_reject(struct api *api, struct api_request *request, unsigned int status,
		const char *text);

/* Checks and routes the request: sets or defers its reply. */
void api_serve(struct api *api, struct api_request *request);

/*
 * Marks the tokens that are expired, and stores the marks, so that a token stays expired if the
 * clock is set back. Call it once a period.
 */
void api_expire_tokens(struct api *api, struct instant now);

/*
 * Adds events to GET /v1/events and invalidates cached answers. The userdata of this observer must
 * be the struct api.
 */
extern const struct observer api_observer;

#endif
