/* SPDX-License-Identifier: MIT */
/* The checks of what the host knows about the use of a GPU by each process. Internal to this
 * folder. */
#ifndef GOVER_CTL_DOCTOR_TRUTH_H
#define GOVER_CTL_DOCTOR_TRUTH_H

#include "gover-ctl/doctor/finding.h"

/* Checks the drivers with usage statistics of DRM files, and the rights of the daemon to read
 * them. */
void doctor_fdinfo_check(const struct doctor_input *input, struct doctor_finding *finding);
/* Checks NVIDIA's driver and its library. */
void doctor_nvml_check(const struct doctor_input *input, struct doctor_finding *finding);
/* Checks whether control groups count device memory. */
void doctor_dmem_check(const struct doctor_input *input, struct doctor_finding *finding);

#endif
