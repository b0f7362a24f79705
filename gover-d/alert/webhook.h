/* SPDX-License-Identifier: MIT */
/*
 * Webhook: sends the messages in order, each as one POST of JSON. It has a thread of its own,
 * because a slow receiver would delay the other jobs of a worker, such as writes of the contracts
 * file.
 */
#ifndef GOVER_D_ALERT_WEBHOOK_H
#define GOVER_D_ALERT_WEBHOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* maximum number of waiting messages; a full queue drops its oldest message */
#define WEBHOOK_WAITING_MAX 256
#define WEBHOOK_GIVE_UP_S   3600 /* time after which an undelivered message is dropped */
#define WEBHOOK_PAUSE_MAX_S 60	 /* longest pause between tries; the pauses are 1, 2, 4, ... s */

struct webhook;

struct webhook_stats {
	uint64_t sent;	  /* messages answered with status 2xx */
	uint64_t retried; /* tries after the first try of a message */
	uint64_t refused; /* messages that the receiver rejected with a permanent error */
	uint64_t dropped; /* messages dropped because they were too old or the queue was full */
	int waiting;
	int failed_tries; /* failed tries since the last success */
	int lost;	  /* messages refused or dropped since the last success */
	/*
	 * error of the last try; "": success. The text never contains the URL, because a URL may
	 * contain a secret.
	 */
	char problem[256];
};

int webhook_new(const char *url, int timeout_s, struct webhook **ret_webhook, struct err *reterr);
/*
 * Sends each waiting message at most once more, for at most one second in total, and ends the
 * thread. A thread that is blocked in a DNS lookup keeps running. @webhook may be NULL. Returns
 * NULL.
 */
struct webhook *webhook_free(struct webhook *webhook);

/*
 * Queues a message without blocking. Takes ownership of @body, which was allocated with malloc().
 * If @replaces is not 0, the new message replaces a waiting message that was queued with the same
 * @replaces.
 */
void webhook_send(struct webhook *webhook, char *body, int64_t replaces);

void webhook_stats(struct webhook *webhook, struct webhook_stats *ret_stats);

#endif
