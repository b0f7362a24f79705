/* SPDX-License-Identifier: MIT */
/* REST: the table of routes. http/ passes requests in, so that no MHD type occurs here. */
#ifndef GOVER_D_API_API_H
#define GOVER_D_API_API_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "gover-d/api/events.h"

#define API_BODY_MAX (64 * 1024)

struct manager;
struct api;
struct view;
struct authn;

/* Both outlive the api: @view is read, requests that change something go to @manager. */
struct api *api_new(struct manager *manager, const struct view *view);
struct api *api_free(struct api *api); /* NULL is fine; returns NULL */

/* The authentication: accepts root and the daemon's own user until authn_open(). */
struct authn *api_authn(struct api *api);

/* Invalidates cached answers (GET /v1/host, /metrics). Call it at the end of every tick. */
void api_tick(struct api *api);

/* Tells those who follow GET /v1/events. Takes over @object; @api NULL is fine: nobody follows.
 * Decisions need not be told: those that were kept are, before the next event and at the end of
 * every tick, so that no cap waits for a text. */
void api_event(struct api *api, enum events_kind kind, json_t *object);

#endif
