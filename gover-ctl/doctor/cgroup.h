/* SPDX-License-Identifier: MIT */
/* The check of control groups. Internal to this folder. */
#ifndef GOVER_CTL_DOCTOR_CGROUP_H
#define GOVER_CTL_DOCTOR_CGROUP_H

#include "gover-ctl/doctor/finding.h"

/* Checks whether the daemon can create control groups, also in the sandbox of its unit. */
void doctor_cgroup_check(const struct doctor_input *input, struct doctor_finding *finding);

#endif
