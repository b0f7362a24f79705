/* SPDX-License-Identifier: MIT */
/* What the checks share (doctor.c), and those of GVT-g (doctor-gvt.c). For nobody else. */
#ifndef GOVER_CTL_DOCTOR_GVT_H
#define GOVER_CTL_DOCTOR_GVT_H

#include <limits.h>
#include <stdbool.h>

#include "gover-ctl/doctor/doctor.h"

void doctor_find(struct doctor_finding *finding, enum doctor_state state, const char *advice,
		 const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Is a GPU of this family driven? */
bool doctor_drives(const struct doctor_look *look, const char *backend);
void doctor_under_root(const struct doctor_look *look, const char *path, char full[PATH_MAX]);
/* Entries of a folder that begin with @prefix; -1: no such folder. */
int doctor_count(const struct doctor_look *look, const char *folder, const char *prefix);

/* Mediated devices of GVT-g, and the files of their scheduler. */
void doctor_gvt_check(const struct doctor_look *look, struct doctor_finding *finding);

#endif
