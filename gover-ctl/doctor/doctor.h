/* SPDX-License-Identifier: MIT */
/*
 * Checks of the requirements on this host; each check yields one finding. Read-only: nothing is
 * created, loaded or written.
 */
#ifndef GOVER_CTL_DOCTOR_DOCTOR_H
#define GOVER_CTL_DOCTOR_DOCTOR_H

#include <stddef.h>

#include "gover-ctl/doctor/input.h"

/*
 * Runs the check @index; the finding of a check of a backend is FINDING_SKIPPED. Returns the name
 * of the check, or NULL if @index is past the last check.
 */
const char *doctor_check(size_t index, const struct doctor_input *input,
			 struct finding *ret_finding);

#endif
