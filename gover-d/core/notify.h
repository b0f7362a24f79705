/* SPDX-License-Identifier: MIT */
/*
 * An observer that passes alerts, offers and migrations to the hooks (hook.h), and alerts to the
 * webhook (webhook.h). Silenced alerts are not passed on. In a dry run nothing is passed on. A
 * second observer writes each decision, alert, silence and offer to the log.
 */
#ifndef GOVER_D_CORE_NOTIFY_H
#define GOVER_D_CORE_NOTIFY_H

#include "gover-d/core/observer.h"

struct manager;

extern const struct observer notify_observer;	  /* the userdata of this observer is the manager */
extern const struct observer notify_log_observer; /* the userdata of this observer is not used */

/* Creates the hooks and, if configured, the webhook. */
int notify_open(struct manager *manager, struct err *reterr);
/*
 * Logs failures of the webhook and reports its alert. Call this function once a period, before
 * alerts_end_tick().
 */
void notify_tick(struct manager *manager, struct instant now);

/*
 * Returns a JSON text for the webhook and the hook on_alert. The caller frees the text. @runbooks:
 * the key runbook_url of section [alerts].
 */
char *notify_alert_text(const char *host, const char *runbooks, const struct alert *alert,
			enum alert_event event);

#endif
