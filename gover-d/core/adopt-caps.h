/* SPDX-License-Identifier: MIT */
/* Brings caps of an earlier run, and caps whose write has failed, within the stored contracts. */
#ifndef GOVER_D_CORE_ADOPT_CAPS_H
#define GOVER_D_CORE_ADOPT_CAPS_H

#include "gover-d/model/host.h"

struct manager;

/*
 * If gpu->caps_due is set, corrects the caps of all vGPUs of @gpu that are outside [floor, ceiling]
 * of their contracts, or that differ from their held caps: a crash has interrupted a change between
 * its storage and its application, or a cap write has failed. A write that fails is tried again in
 * the next call. A cap that an external writer set is not changed. In mode observe and in a dry
 * run, the corrections are only recorded.
 */
void adopt_caps(struct manager *manager, struct host_gpu *gpu, struct instant now);

#endif
