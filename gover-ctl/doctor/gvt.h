/* SPDX-License-Identifier: MIT */
/* Helpers of the checks (doctor.c), and the check of GVT-g (gvt.c). Internal to this folder. */
#ifndef GOVER_CTL_DOCTOR_GVT_H
#define GOVER_CTL_DOCTOR_GVT_H

#include <limits.h>
#include <stdbool.h>

#include "gover-ctl/doctor/doctor.h"

void doctor_find(struct doctor_finding *finding, enum doctor_state state, const char *advice,
		 const char *format, ...) __attribute__((format(printf, 4, 5)));
/* True if the daemon controls a GPU with this backend. */
bool doctor_uses_backend(const struct doctor_input *input, const char *backend);
void doctor_under_root(const struct doctor_input *input, const char *path, char full[PATH_MAX]);
/* Counts the entries of a folder that begin with @prefix; -1: no such folder. */
int doctor_count(const struct doctor_input *input, const char *folder, const char *prefix);

/* Checks the mediated devices of GVT-g and the files of their scheduler. */
void doctor_gvt_check(const struct doctor_input *input, struct doctor_finding *finding);

#endif
