/* SPDX-License-Identifier: MIT */
/* Writes each decision, alert, silence and offer to the log. */
#ifndef GOVER_D_CORE_EVENT_LOG_H
#define GOVER_D_CORE_EVENT_LOG_H

#include "gover-d/core/observer.h"

extern const struct observer event_log_observer; /* the userdata of this observer is not used */

#endif
