/* SPDX-License-Identifier: MIT */
/* All findings as one JSON document, for `doctor --json` and for bug reports. */
#ifndef GOVER_CTL_DOCTOR_REPORT_H
#define GOVER_CTL_DOCTOR_REPORT_H

#include <jansson.h>
#include <stdbool.h>

/* The result of a request to the daemon. */
struct doctor_daemon {
	const char *where;     /* its address */
	bool over_socket;      /* @where is a unix socket */
	const json_t *host;    /* reply to GET /v1/host; NULL: no reply */
	const char *no_answer; /* the reason why @host is NULL */
	bool refused;	       /* the daemon has refused the request */
};

/*
 * Checks this host and the daemon. Returns {"checks": [{"check", "state", "text", "advice"}],
 * "ok"}.
 */
json_t *doctor_report(const struct doctor_daemon *daemon);

#endif
