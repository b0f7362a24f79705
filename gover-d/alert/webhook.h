/* SPDX-License-Identifier: MIT */
/*
 * Webhook: sends each message as one POST of JSON, in order, in a thread of its own. It does not
 * use the worker's thread, because a slow receiver would delay history queries and writes of the
 * contracts file.
 */
#ifndef GOVER_D_ALERT_WEBHOOK_H
#define GOVER_D_ALERT_WEBHOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define WEBHOOK_WAITING_MAX 256	 /* messages; if exceeded, the oldest is dropped and counted */
#define WEBHOOK_GIVE_UP_S   3600 /* an undelivered message is dropped after this time */
#define WEBHOOK_PAUSE_MAX_S 60	 /* limit of the pause between tries: 1, 2, 4, ... s */

struct webhook;

struct webhook_stats {
	uint64_t sent;	  /* answered with 2xx */
	uint64_t retried; /* further tries of messages */
	uint64_t refused; /* answered with a permanent error */
	uint64_t dropped; /* too old, or the queue was full */
	int waiting;
	int failed_tries;  /* since the last success */
	int lost;	   /* messages refused or dropped since then */
	char problem[256]; /* of the last try; "": success. Never contains the URL, a possible
			      secret */
};

int webhook_new(const char *url, int timeout_s, struct webhook **ret_webhook, struct err *reterr);
/* Tries waiting messages once more, for one second in total, and ends the thread. If the thread
 * hangs in a DNS lookup, it is left running. NULL is fine; returns NULL. */
struct webhook *webhook_free(struct webhook *webhook);

/*
 * Takes ownership of @body (text from malloc; NULL: out of memory, counted as dropped); never
 * blocks. A waiting message with the same @replaces (0: none) is replaced by this one.
 */
void webhook_send(struct webhook *webhook, char *body, int64_t replaces);

void webhook_stats(struct webhook *webhook, struct webhook_stats *ret_stats);

#endif
