/* SPDX-License-Identifier: MIT */
/* The routes of each resource. */
#ifndef GOVER_D_API_RESOURCE_ROUTES_H
#define GOVER_D_API_RESOURCE_ROUTES_H

#include "gover-d/api/handler.h"

/* Each resource NAME has a table NAME_routes. /metrics has the routes in this order. */
#define API_RESOURCES(ROW) \
	ROW(host)          \
	ROW(history)       \
	ROW(vgpus)         \
	ROW(diagnosis)     \
	ROW(alerts)        \
	ROW(offers)        \
	ROW(fleet)         \
	ROW(events)        \
	ROW(economics)     \
	ROW(policy)        \
	ROW(tokens)        \
	ROW(audit)         \
	ROW(asset)

/* Each table ends with a row without a method. */
#define API_DECLARE_ROUTES(resource) extern const struct api_route resource##_routes[];
API_RESOURCES(API_DECLARE_ROUTES)
#undef API_DECLARE_ROUTES

#endif
