/* SPDX-License-Identifier: MIT */
/* The check of the daemon and its unit. Internal to this folder. */
#ifndef GOVER_CTL_DOCTOR_SERVICE_H
#define GOVER_CTL_DOCTOR_SERVICE_H

#include "gover-ctl/doctor/input.h"

/* Checks whether the daemon answers; if not, why, and the command that starts it. */
void doctor_service_check(const struct doctor_input *input, struct finding *finding);

#endif
