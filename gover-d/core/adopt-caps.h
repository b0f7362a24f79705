/* SPDX-License-Identifier: MIT */
/* Brings caps of an earlier run within the stored contracts. */
#ifndef GOVER_D_CORE_ADOPT_CAPS_H
#define GOVER_D_CORE_ADOPT_CAPS_H

#include "gover-d/model/host.h"

struct manager;

/*
 * If vGPUs were attached since the last call, corrects the caps of all vGPUs of @gpu that are
 * outside [floor, ceiling] of their contracts, or that differ from their held caps: a crash has
 * interrupted a change between its storage and its application. A cap that an external writer set
 * is not changed. In mode observe and in a dry run, the corrections are only recorded.
 */
void adopt_caps(struct manager *manager, struct host_gpu *gpu, struct instant now);

#endif
