/* SPDX-License-Identifier: MIT */
/* Encodes the report of PUT /v1/fleet. */
#include <errno.h>
#include <string.h>

#include "gover-fleet/host/fleet-report.h"

const char *fleet_report_cloud_name(enum report_cloud cloud)
{
	static const char *const names[REPORT_CLOUDS] = {
		[REPORT_WAITING] = "waiting",
		[REPORT_PUBLISHED] = "published",
		[REPORT_UNREACHABLE] = "unreachable",
		[REPORT_WITHDRAWN] = "withdrawn",
	};

	return names[cloud];
}

static json_t *encode_leaks(const struct report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; i < report->n_leaks; i++) {
		const struct report_leak *leak = &report->leaks[i];

		(void)json_array_append_new(
			list, json_pack("{s:s, s:s, s:i, s:i}", "gpu", leak->gpu, "flavor",
					leak->flavor, "used", leak->used, "sold", leak->sold));
	}
	return list;
}

json_t *fleet_report_encode(const struct report *report)
{
	return json_pack("{s:s, s:s, s:s?, s:i, s:o, s:{s:i, s:i, s:i}, s:i}", "state",
			 fleet_report_cloud_name(report->cloud), "cloud",
			 report->address[0] ? report->address : "none", "problem",
			 report->problem[0] ? report->problem : NULL, "unverified",
			 report->unverified, "leaks", encode_leaks(report), "migrations",
			 "requested", report->migrations_requested, "completed",
			 report->migrations_completed, "failed", report->migrations_failed, "ttl_s",
			 REPORT_TTL_S);
}

int fleet_report_send(struct client *client, const struct report *report, struct err *reterr)
{
	struct client_call call = {.method = "PUT", .path = "/v1/fleet"};
	CLEANUP_REPLY struct reply reply = {0};
	json_t *body = fleet_report_encode(report);
	int r;

	if (!body)
		return err_fail(reterr, EILSEQ, "report: a text is not UTF-8");
	call.body = body;
	r = client_request(client, &call, &reply, reterr);
	json_decref(body);
	if (r != CLIENT_REFUSED)
		return r;
	return reply.status == 404 || reply.status == 405 ? 1 : -EPROTO;
}
