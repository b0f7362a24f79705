/* SPDX-License-Identifier: MIT */
/*
 * Encodes what the daemon reports to the outside: alerts, silences, decisions and offers. REST,
 * webhooks and hooks use the same objects. Each function returns a new document, or NULL without
 * memory. A value that is not valid now is null.
 */
#ifndef GOVER_D_CORE_ENCODE_H
#define GOVER_D_CORE_ENCODE_H

#include "gover-d/alert/silence.h"
#include "gover-d/core/offers.h"
#include "gover-d/model/decisions.h"

json_t *encode_alert(const struct alert *alert);
json_t *encode_silence(const struct silence *silence);
json_t *encode_decision(const struct decision *decision);
json_t *encode_offer(const struct offer *offer, struct instant now);

#endif
