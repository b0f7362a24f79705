/* SPDX-License-Identifier: MIT */
/*
 * Notifies the operator's programs (hook.h) and the webhook (webhook.h) of alerts, offers and
 * migrations, as an observer. Silenced alerts and a dry run notify nothing.
 */
#ifndef GOVER_D_CORE_NOTIFY_H
#define GOVER_D_CORE_NOTIFY_H

#include "gover-d/core/observer.h"

struct manager;

extern const struct observer notify_observer; /* its userdata is the manager */

/* Creates the hooks and, if configured, the webhook. */
int notify_open(struct manager *manager, struct err *reterr);
/* Once a period, before alerts_end_tick(): logs failures of the webhook and raises its alert. */
void notify_tick(struct manager *manager, struct instant now);

/* The body of a webhook and the input of on_alert: text from malloc, NULL without memory. */
char *notify_alert_text(const char *host, const struct alert *alert, enum alert_event event);

#endif
