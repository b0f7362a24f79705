/* SPDX-License-Identifier: MIT */
/* alerts, ack. Must never clear an alert: only the daemon sees when its cause has ended. */
#include "base/parse.h"
#include "gover-ctl/field.h"
#include "gover-ctl/verb/tables.h"
#include "gover-ctl/verb/verbs.h"

enum ctl_exit verb_alerts(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply reply = {0};
	enum ctl_exit r = ctl_request(ctl, "GET", NULL, &reply, "/v1/alerts%s",
				      args_has(args, OPTION_ALL) ? "?all=true" : "");

	return r == CTL_DONE ? tables_print_reply(&ctl->writer, &table_alerts, &reply) : r;
}

enum ctl_exit verb_alert_ack(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply reply = {0};
	enum ctl_exit r;
	int64_t id;

	if (parse_int(args->words[0], 1, INT64_MAX, &id) < 0)
		return ctl_fail(CTL_USAGE, "ack: '%s' is not the number of an alert",
				args->words[0]);
	r = ctl_request(ctl, "POST", NULL, &reply, "/v1/alerts/%lld/ack", (long long)id);
	if (r != CTL_DONE)
		return r;
	if (ctl->writer.json)
		writer_reply(&ctl->writer, &reply);
	else
		writer_line(&ctl->writer, "acknowledged: alert %lld, %s: %s", (long long)id,
			    field_text(reply.json, "name"), field_text(reply.json, "text"));
	return CTL_DONE;
}
