/* SPDX-License-Identifier: MIT */
/*
 * Telling a URL what happened: one POST of JSON for each message, in a thread of its own, in the
 * order they were given. Not the worker's thread: a receiver that is slow may take seconds for
 * each, and history queries and the contracts file wait behind nobody.
 */
#ifndef GOVER_D_ALERT_WEBHOOK_H
#define GOVER_D_ALERT_WEBHOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define WEBHOOK_WAITING_MAX 256	 /* messages; beyond that the oldest is dropped, and counted */
#define WEBHOOK_GIVE_UP_S   3600 /* after which a message that nobody took is dropped */
#define WEBHOOK_PAUSE_MAX_S 60	 /* between two tries: 1, 2, 4, ... s up to this */

struct webhook;

struct webhook_stats {
	uint64_t sent;	  /* answered with 2xx */
	uint64_t retried; /* tries that were not the first of their message */
	uint64_t refused; /* answered with a status that another try would not change */
	uint64_t dropped; /* too old, or too many waited */
	int waiting;
	int failed_tries;  /* since the last that was sent */
	int lost;	   /* since then: messages that were refused or dropped */
	char problem[256]; /* of the last try; "": it was sent. Without the URL, which may be secret
			    */
};

int webhook_new(const char *url, int timeout_s, struct webhook **ret_webhook, struct err *reterr);
/* Tries once more what waits, for a second together, then ends the thread, or leaves it to the end
 * of the process where it waits for a name server. NULL is fine; returns NULL. */
struct webhook *webhook_free(struct webhook *webhook);

/*
 * Takes over @body (text from malloc; NULL: no memory, counted as dropped); never waits. Where a
 * message with the same @replaces (0: none) still waits, this one takes its place.
 */
void webhook_send(struct webhook *webhook, char *body, int64_t replaces);

void webhook_stats(struct webhook *webhook, struct webhook_stats *ret_stats);

#endif
