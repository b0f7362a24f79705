/* SPDX-License-Identifier: MIT */
/* REST: a table of routes and what each answers. Knows no MHD type: http.c hands requests in. */
#ifndef GOVER_D_API_H
#define GOVER_D_API_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "gover-d/events.h"

#define API_BODY_MAX (64 * 1024)

struct manager;
struct api;

struct api *api_new(struct manager *manager);
struct api *api_free(struct api *api); /* NULL is fine; returns NULL */

/* What is answered from memory (GET /v1/host, /metrics) is old now, and made anew when next asked
 * for. Call at the end of every tick. */
void api_tick(struct api *api);

/* Tells those who follow GET /v1/events. Takes over @object; @api NULL is fine: nobody follows. */
void api_event(struct api *api, enum events_kind kind, json_t *object);

#endif
