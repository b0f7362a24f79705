/* SPDX-License-Identifier: MIT */
/*
 * Encodes alerts, silences, decisions and offers as JSON objects for REST, the webhook and hooks.
 * Each function returns a new object. A value that does not exist at the moment is encoded as null.
 */
#ifndef GOVER_D_RECORD_ENCODE_H
#define GOVER_D_RECORD_ENCODE_H

#include "gover-d/alert/alerts.h"
#include "gover-d/model/decisions.h"
#include "gover-d/sale/offers.h"
#include "gover-d/util/json.h"

/*
 * Adds a rate or a target under @frames or, if it @counts_work, under @work. The other member is
 * null.
 */
void encode_add_rate(json_t *object, const char *frames, const char *work, bool counts_work,
		     double value);

/* @runbooks: the key runbook_url of section [alerts] */
json_t *encode_alert(const struct alert *alert, const char *runbooks);
json_t *encode_silence(const struct db_silence *silence);
json_t *encode_decision(const struct decision *decision);
json_t *encode_offer(const struct offer *offer, struct instant now);

#endif
