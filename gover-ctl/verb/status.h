/* SPDX-License-Identifier: MIT */
/* The text of `status`, which `top --once` prints, too. */
#ifndef GOVER_CTL_VERB_STATUS_H
#define GOVER_CTL_VERB_STATUS_H

#include "gover-ctl/ctl.h"

/* Prints @host, the reply to GET /v1/host: the daemon, GPUs, vGPUs, alerts and offers. */
void status_print(struct ctl *ctl, const json_t *host);

#endif
