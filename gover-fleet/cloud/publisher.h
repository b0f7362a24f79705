/* SPDX-License-Identifier: MIT */
/*
 * Makes the providers of a compute node in Placement equal to a wanted state. Level-triggered: each
 * call compares the whole state, so that a lost or repeated call does no harm. Calls block, each
 * request for at most the time limit of the keystone. Not thread-safe.
 *
 * A write contains the generation of the last read. If the wanted state has changed, the publisher
 * writes at once; if not, it reads the list of providers, one request, and reads a provider again
 * only if its generation has changed. After an outage it also writes at once, and asks for a read
 * soon. The first success creates the traits that flavors can forbid.
 */
#ifndef GOVER_FLEET_CLOUD_PUBLISHER_H
#define GOVER_FLEET_CLOUD_PUBLISHER_H

#include <stdint.h>

#include "gover-fleet/cloud/keystone.h"
#include "gover-fleet/cloud/placement.h"
#include "gover-fleet/model/mapping.h"

struct published_class {
	char name[PLACEMENT_WORD_MAX];
	int used; /* allocated slots */
	int sold; /* contracts + offers of the wanted state; 0: not wanted */
};

struct published_gpu {
	char name[ID_MAX];
	char uuid[PLACEMENT_UUID_MAX]; /* of its provider */
	struct published_class classes[PLACEMENT_CLASSES_MAX];
	size_t n_classes;
};

/* The state of Placement after a successful call. used > sold: an allocation has no contract. */
struct published {
	int writes;				       /* number of changes made by the call */
	struct published_gpu gpus[PLACEMENT_GPUS_MAX]; /* with GPUs that are no longer wanted */
	size_t n_gpus;
};

struct publisher;

/*
 * @host: name of the provider that nova-compute creates for this host; letters, digits, '.', '-',
 * '_'. Otherwise returns -EINVAL. @keystone must stay valid.
 */
int publisher_new(const char *host, struct keystone *keystone, struct publisher **ret_publisher,
		  struct err *reterr);
/* Changes how long the list of providers counts as read (60 s), and the longest pause (4 s). */
void publisher_set_times(struct publisher *publisher, int read_ms, int retry_max_ms);
struct publisher *publisher_free(struct publisher *publisher); /* accepts NULL; returns NULL */

/*
 * Makes Placement equal to @wanted. Returns 0 if it is equal; @ret_published may be NULL. Otherwise
 * @reterr has the message, the caller tries again after publisher_pause_ms(), and the result is:
 * PUBLISHER_NO_ROOT  nova-compute has not created the provider of this host
 * PUBLISHER_BUSY     other clients changed the providers during each attempt
 * negative errno     see service_request(): the cloud does not answer or refuses; -E2BIG and
 *                    -ENAMETOOLONG: the state does not fit into Placement
 */
#define PUBLISHER_NO_ROOT 1
#define PUBLISHER_BUSY	  2
int publisher_publish(struct publisher *publisher, const struct wanted *wanted,
		      struct published *ret_published, struct err *reterr);

/*
 * Ends all sales without knowing the contracts: sets the total of each class to its allocated
 * slots. Results as above.
 */
int publisher_withdraw(struct publisher *publisher, struct err *reterr);

/*
 * Returns the time in ms to wait before the next call, or 0: the next call may wait for a change.
 * The pause doubles with each failure, and its second half is random.
 */
int publisher_pause_ms(const struct publisher *publisher);

struct backoff {
	int first_ms, max_ms; /* 1 <= first_ms <= max_ms */
	int failures;	      /* since the last success */
};

void backoff_succeed(struct backoff *backoff);
void backoff_fail(struct backoff *backoff);

/*
 * Returns the pause in ms: 0 without a failure, otherwise between one half of and the whole of
 * min(first_ms * 2^(failures - 1), max_ms). @random: any number, the source of the choice.
 */
int backoff_pause_ms(const struct backoff *backoff, uint32_t random);

#endif
