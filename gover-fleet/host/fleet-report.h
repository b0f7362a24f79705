/* SPDX-License-Identifier: MIT */
/* Reports the state of gover-fleet to gover-d, which raises alerts and exports metrics. */
#ifndef GOVER_FLEET_HOST_FLEET_REPORT_H
#define GOVER_FLEET_HOST_FLEET_REPORT_H

#include "client/client.h"
#include "gover-fleet/model/wanted.h"

#define REPORT_LEAKS_MAX 16
#define REPORT_TTL_S	 150 /* gover-d raises fleet_gone after this time without a report */

enum report_cloud {
	REPORT_WAITING,	    /* the cloud has no provider of this host yet, or gover-d is unknown */
	REPORT_PUBLISHED,   /* the cloud contains what this host sells */
	REPORT_UNREACHABLE, /* the cloud does not answer */
	REPORT_WITHDRAWN,   /* nothing is offered, deliberately */
	REPORT_CLOUDS,
};
const char *fleet_report_cloud_name(enum report_cloud cloud);

/* An allocation of the cloud that no contract and no offer explains. */
struct report_leak {
	char gpu[ID_MAX], slot[WANTED_CLASS_MAX]; /* the class of the cloud */
	char flavor[WANTED_CLASS_MAX];		  /* its name in gover-d */
	int used, sold;
};

struct report {
	enum report_cloud cloud;
	char address[256]; /* of the cloud; "": none */
	char problem[256]; /* "": none */
	int unverified;	   /* domains and contracts that the cloud has not confirmed */
	struct report_leak leaks[REPORT_LEAKS_MAX];
	size_t n_leaks;
	int migrations_requested, migrations_completed, migrations_failed;
};

/* Returns the body of PUT /v1/fleet; NULL: a text is not UTF-8. The caller frees it. */
json_t *fleet_report_encode(const struct report *report);

/*
 * Sends the report. Returns 1 if this gover-d has no such route, otherwise the result of
 * client_request() with -EPROTO for a refused request.
 */
int fleet_report_send(struct client *client, const struct report *report, struct err *reterr);

#endif
