/* SPDX-License-Identifier: MIT */
/* Without a cloud there is nothing to publish. */
#include <errno.h>
#include <stddef.h>

#include "gover-fleet/link.h"

#define EVERY_S 60

int link_new(const struct fleet_config *config, struct link **ret_link, struct err *reterr)
{
	if (fleet_config_has_cloud(config))
		return err_fail(reterr, EINVAL, "[cloud] kind = %s: this build has no cloud",
				config->cloud.kind);
	*ret_link = NULL;
	return 0;
}

struct link *link_free(struct link *link)
{
	(void)link;
	return NULL;
}

int link_publish(struct link *link, const struct wanted *wanted, struct report *report)
{
	(void)link, (void)wanted;
	report->cloud = REPORT_WITHDRAWN;
	return EVERY_S;
}

int link_withdraw(struct link *link, struct err *reterr)
{
	(void)link, (void)reterr;
	return 0;
}

struct claim_source link_source(struct link *link)
{
	(void)link;
	return (struct claim_source){0};
}
