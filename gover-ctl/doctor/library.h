/* SPDX-License-Identifier: MIT */
/* The checks of the libraries for programs. Internal to this folder. */
#ifndef GOVER_CTL_DOCTOR_LIBRARY_H
#define GOVER_CTL_DOCTOR_LIBRARY_H

#include "gover-ctl/doctor/input.h"

/* Check the libraries that count frames: for 64-bit, 32-bit and Vulkan programs. */
void doctor_library_check(const struct doctor_input *input, struct finding *finding);
void doctor_library32_check(const struct doctor_input *input, struct finding *finding);
void doctor_vulkan_check(const struct doctor_input *input, struct finding *finding);

/* Checks the OpenCL layer of backend lib. */
void doctor_layer_check(const struct doctor_input *input, struct finding *finding);

#endif
