/* SPDX-License-Identifier: MIT */
/* The routes of each resource. */
#ifndef GOVER_D_API_RESOURCE_ROUTES_H
#define GOVER_D_API_RESOURCE_ROUTES_H

#include "gover-d/api/handler.h"

extern const struct api_route alerts_routes[], asset_routes[], audit_routes[], diagnosis_routes[],
	economics_routes[], events_routes[], fleet_routes[], history_routes[], host_routes[],
	offers_routes[], policy_routes[], tokens_routes[], vgpus_routes[];

#endif
