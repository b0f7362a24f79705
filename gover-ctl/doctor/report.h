/* SPDX-License-Identifier: MIT */
/* All findings as one JSON document, for `doctor --json` and for bug reports. */
#ifndef GOVER_CTL_DOCTOR_REPORT_H
#define GOVER_CTL_DOCTOR_REPORT_H

#include <jansson.h>

/*
 * Returns the findings for this host and for the daemon at @where: {"checks": [{"check", "state",
 * "text", "advice"}], "ok"}, or NULL if out of memory. @host: reply to GET /v1/host; NULL if there
 * was no reply for the reason @no_answer.
 */
json_t *doctor_report(const char *where, const json_t *host, const char *no_answer);

#endif
