/* SPDX-License-Identifier: MIT */
/* The check of the rights of this user. Internal to this folder. */
#ifndef GOVER_CTL_DOCTOR_ACCESS_H
#define GOVER_CTL_DOCTOR_ACCESS_H

#include "gover-ctl/doctor/input.h"

/* Checks whether the groups of this user permit reading and changing over the unix socket. */
void doctor_access_check(const struct doctor_input *input, struct finding *finding);

#endif
