/* SPDX-License-Identifier: MIT */
/* Serves a request whose route is known. A request that conflicts with a change is parked. */
#ifndef GOVER_D_API_SERVE_H
#define GOVER_D_API_SERVE_H

#include "gover-d/api/handler.h"
#include "gover-d/change/change.h"

/* Returns true if the caller may use the route. Otherwise sets the reply. */
bool api_check_access(struct api_request *request);
/* Checks the request and calls the handler of its route: sets or defers the reply. */
void api_serve_route(struct api *api, struct api_request *request);

/* The change_subject.other of changes of tokens, which handlers make without change/change.h. */
#define API_TOKENS "tokens"

/*
 * Defers the request until no change that conflicts with @conflict is in progress. It is then
 * served from the beginning, so that its conditions hold for the state that it changes.
 */
void api_park(struct api *api, struct api_request *request, const struct change_subject *conflict);
/*
 * Serves parked requests that need not wait any longer. Call it whenever a change has ended, also
 * one that no request began.
 */
void api_resume(struct api *api);
void api_free_parked(struct api *api);

#endif
