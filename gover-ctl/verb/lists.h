/* SPDX-License-Identifier: MIT */
/* The verbs `status`, `alerts`, `ack`, `audit`, `decisions`, `history` and `silence ...`. */
#ifndef GOVER_CTL_VERB_LISTS_H
#define GOVER_CTL_VERB_LISTS_H

#include "gover-ctl/shared/tables.h"

extern const struct table table_audit;

enum ctl_exit verb_status(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_alerts(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_alert_ack(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_audit(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_decisions(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_history(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_silence_add(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_silence_list(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_silence_remove(struct ctl *ctl, const struct args *args);

#endif
