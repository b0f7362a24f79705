/* SPDX-License-Identifier: MIT */
/* The checks of Intel GPUs with SR-IOV. Internal to this folder. */
#ifndef GOVER_CTL_DOCTOR_SRIOV_H
#define GOVER_CTL_DOCTOR_SRIOV_H

#include "gover-ctl/doctor/finding.h"

/* Checks whether virtual functions are enabled, and whether their time slices can be set. */
void doctor_sriov_check(const struct doctor_input *input, struct doctor_finding *finding);
/* Checks whether the busy time of each function can be read. */
void doctor_sriov_pmu_check(const struct doctor_input *input, struct doctor_finding *finding);

#endif
