/* SPDX-License-Identifier: MIT */
/* The open event streams of GET /v1/events. */
#ifndef GOVER_D_API_RESOURCE_EVENTS_STREAM_H
#define GOVER_D_API_RESOURCE_EVENTS_STREAM_H

#include "gover-d/api/handler.h"

/* Passes an event to the readers of GET /v1/events. Takes over @object. */
void api_events_add(struct api *api, enum events_kind kind, json_t *object);
/*
 * Sends the tick event, and a comment to each idle stream. Call it in each period with readers or
 * new decisions.
 */
void api_events_tick(struct api *api);
/* Closes the event streams whose token or certificate is not valid any more. */
void api_events_end_invalid(struct api *api);

#endif
