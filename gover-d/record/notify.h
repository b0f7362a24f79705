/* SPDX-License-Identifier: MIT */
/*
 * An observer that passes alerts, offers and migrations to the hooks (hook.h), and alerts to the
 * webhook (webhook.h). Silenced alerts are not passed on. In a dry run nothing is passed on. A
 * second observer writes each decision, alert, silence and offer to the log.
 */
#ifndef GOVER_D_RECORD_NOTIFY_H
#define GOVER_D_RECORD_NOTIFY_H

#include <limits.h>

#include <systemd/sd-event.h>

#include "gover-d/alert/webhook.h"
#include "gover-d/config/settings.h"
#include "gover-d/record/observer.h"
#include "gover-d/util/hook.h"

struct notifier {
	const struct settings *settings;
	struct alerts *alerts; /* gets the alert about the webhook */
	struct hooks *hooks;
	struct webhook *webhook; /* NULL: not configured */
	bool failing;		 /* the webhook was failing at the last tick */
	uint64_t lost;		 /* total of lost messages at the last tick */
	char hostname[HOST_NAME_MAX + 1];
};

extern const struct observer notify_observer; /* the userdata of this observer is the notifier */
extern const struct observer notify_log_observer; /* the userdata of this observer is not used */

/* Creates the hooks and, if configured, the webhook. Set notifier->settings before. */
int notify_open(struct notifier *notifier, sd_event *event, struct err *reterr);
/*
 * Logs failures of the webhook and reports its alert. If a webhook is configured, call this
 * function once a period, before alerts_end_tick().
 */
void notify_tick(struct notifier *notifier, struct instant now);

/*
 * Returns a JSON text for the webhook and the hook on_alert. The caller frees the text. @runbooks:
 * the key runbook_url of section [alerts].
 */
char *notify_alert_text(const char *host, const char *runbooks, const struct alert *alert,
			enum alert_event event);

#endif
