/* SPDX-License-Identifier: MIT */
/*
 * Makes and ends the contracts of domains, through gover-d. A contract has the label
 * fleet = libvirt and the UUID of its domain. The UUID is also the idempotency key, so that any
 * claim can be repeated, by any thread and after any crash.
 */
#ifndef GOVER_FLEET_CLAIM_CLAIM_H
#define GOVER_FLEET_CLAIM_CLAIM_H

#include <stdint.h>

#include "base/err.h"
#include "gover-fleet/cloud/service.h"
#include "gover-fleet/model/domain-xml.h"

struct claimer; /* used by one thread */

/*
 * @placement: where the cloud is asked for the allocation of a server on @host; it bounds the time
 * of its requests itself. NULL: there is no cloud. Both must stay valid.
 */
int claimer_new(const char *gover_socket, struct service *placement, const char *host,
		struct claimer **ret_claimer, struct err *reterr);
struct claimer *claimer_free(struct claimer *claimer); /* accepts NULL; returns NULL */

enum claim_result {
	CLAIM_NOT_OURS, /* the domain wants no vGPU */
	CLAIM_MADE,	/* the contract is in force */
	CLAIM_EXISTED,	/* it was already */
	CLAIM_NO_OFFER, /* there is no open offer of this slot; a text is in the error */
};

struct claim {
	enum claim_result result;
	char vgpu[ID_MAX]; /* of CLAIM_MADE and CLAIM_EXISTED */
	bool unverified;   /* of CLAIM_MADE: the cloud did not confirm the allocation */
};

/*
 * Makes the contract of a domain, if it wants one. Returns 0 and the result, or a negative errno if
 * gover-d (or the cloud, if only it knows the flavour) does not answer before @until_ns of
 * CLOCK_MONOTONIC.
 */
int claim_make(struct claimer *claimer, const struct domain_wish *wish, uint64_t until_ns,
	       struct claim *ret_claim, struct err *reterr);

/*
 * Ends the contract of vGPU @id. Returns 0 if it was ended, 1 if it no longer exists or was not
 * made by gover-fleet (it is then left alone), or a negative errno.
 */
int claim_end(struct claimer *claimer, const char *id, uint64_t until_ns, struct err *reterr);

/* Removes the label "unverified" of vGPU @id, other labels stay. Results as of claim_end(). */
int claim_confirm(struct claimer *claimer, const char *id, uint64_t until_ns, struct err *reterr);

/*
 * Asks the cloud whether it has an allocation for @uuid. Returns as allocation_find(), and 0
 * without a cloud.
 */
int claim_verify(struct claimer *claimer, const char *uuid, struct err *reterr);

#endif
