/* SPDX-License-Identifier: MIT */
/*
 * Telling of what has changed: an alert or an offer goes to the log and the history, and to who
 * should hear of it: the operator's programs (hook.h) and the webhook (webhook.h). A silenced alert
 * and a dry run wake nobody. Must never wait.
 */
#ifndef GOVER_D_CORE_NOTIFY_H
#define GOVER_D_CORE_NOTIFY_H

#include "gover-d/alert/silence.h"
#include "gover-d/core/offers.h"

struct manager;

/* Makes hooks and webhook, as the configuration says. */
int notify_open(struct manager *manager, struct err *reterr);
/* Once a period: what became of the webhook's messages goes to the log and into an alert, and
 * silences end. Before alerts_end_tick(). */
void notify_tick(struct manager *manager, struct instant now);

/* alert_changed_fn, alert_silenced_fn and offer_changed_fn of the manager. */
void notify_alert_changed(void *userdata, const struct alert *alert, enum alert_event event);
bool notify_is_silenced(void *userdata, const struct alert *alert);
/* It was made, or ended at @ended_ms: alerts heed it from now on. */
void notify_silence_changed(struct manager *manager, const struct silence *silence,
			    int64_t ended_ms);
void notify_offer_changed(void *userdata, const struct offer *offer);

/* @vgpu should move to another host: "severe_overload" or "sale_failed". */
void notify_migrate(struct manager *manager, const char *event, const char *gpu, const char *vgpu,
		    const char *vm, const char *why);

/* The body of a webhook, and on_alert's input: text from malloc, NULL without memory. */
char *notify_alert_text(const char *host, const struct alert *alert, enum alert_event event);

#endif
