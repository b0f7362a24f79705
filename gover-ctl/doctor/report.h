/* SPDX-License-Identifier: MIT */
/* All findings of the doctor as one answer: of `doctor --json`, and of a bug report. */
#ifndef GOVER_CTL_DOCTOR_REPORT_H
#define GOVER_CTL_DOCTOR_REPORT_H

#include <jansson.h>

/* {"checks": [{"check", "state", "text", "advice"}], "ok"}, of this host and the daemon at @where:
 * @host is its GET /v1/host, or NULL and @no_answer says why. NULL: out of memory. */
json_t *doctor_report(const char *where, const json_t *host, const char *no_answer);

#endif
