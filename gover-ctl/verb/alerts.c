/* SPDX-License-Identifier: MIT */
/* The verbs `alerts` and `ack`. */
#include "base/terminal/field.h"
#include "gover-ctl/verb/listing.h"
#include "gover-ctl/verb/verbs.h"

enum ctl_exit verb_alerts(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply reply = {0};
	struct listing listing;
	enum ctl_exit r = listing_open(&listing, args, &table_alerts);

	if (r == CTL_DONE)
		r = ctl_request(ctl, "GET", NULL, &reply, "/v1/alerts%s",
				args_has(args, OPTION_ALL) ? "?all=true" : "");

	return r == CTL_DONE ? listing_print(&listing, &ctl->writer, &reply) : r;
}

enum ctl_exit verb_alert_ack(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply reply = {0};
	long long id;
	enum ctl_exit r = ctl_parse_number("alert", args->words[0], &id);

	if (r == CTL_DONE)
		r = ctl_request(ctl, "POST", NULL, &reply, "/v1/alerts/%lld/ack", id);
	if (r != CTL_DONE)
		return r;
	writer_result(&ctl->writer, &reply, "acknowledged: alert %lld, %s: %s", id,
		      field_text(reply.json, "name"), field_text(reply.json, "text"));
	return CTL_DONE;
}
