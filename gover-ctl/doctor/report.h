/* SPDX-License-Identifier: MIT */
/* All findings as one JSON document, for `doctor --json` and for bug reports. */
#ifndef GOVER_CTL_DOCTOR_REPORT_H
#define GOVER_CTL_DOCTOR_REPORT_H

#include <jansson.h>

/*
 * Checks this host and the daemon at @where. @host is the reply to GET /v1/host; if it is NULL,
 * @no_answer is the reason. Returns {"checks": [{"check", "state", "text", "advice"}], "ok"}, or
 * NULL if out of memory.
 */
json_t *doctor_report(const char *where, const json_t *host, const char *no_answer);

#endif
