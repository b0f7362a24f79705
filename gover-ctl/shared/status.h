/* SPDX-License-Identifier: MIT */
/* Prints the state of the host, for `status` and `top --once`. */
#ifndef GOVER_CTL_SHARED_STATUS_H
#define GOVER_CTL_SHARED_STATUS_H

#include "gover-ctl/shared/ctl.h"

void status_print(struct ctl *ctl, const json_t *host); /* @host: reply to GET /v1/host */

#endif
