/* SPDX-License-Identifier: MIT */
/* The check of GVT-g. Internal to this folder. */
#ifndef GOVER_CTL_DOCTOR_GVT_H
#define GOVER_CTL_DOCTOR_GVT_H

#include "gover-ctl/doctor/finding.h"

/* Checks whether vGPUs of GVT-g exist, and whether they have the files of gover's scheduler. */
void doctor_gvt_check(const struct doctor_input *input, struct doctor_finding *finding);

#endif
