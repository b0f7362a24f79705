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
#include "gover-fleet/model/domain-xml.h"

/*
 * Where the cloud is asked for the allocation of a server. find = NULL: there is no cloud.
 * @find returns 0 with the slot and the GPU of the allocation, 1 if the server has no slot on this
 * host, or a negative errno if the cloud cannot be asked. It bounds its time itself.
 */
struct claim_source {
	int (*find)(void *userdata, const char *uuid, char ret_slot[WANTED_CLASS_MAX],
		    char ret_gpu[ID_MAX], struct err *reterr);
	void *userdata;
};

struct claimer; /* used by one thread */

/* @source is copied. */
int claimer_new(const char *gover_socket, const struct claim_source *source,
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
 * Asks the cloud whether it has an allocation for @uuid. Results as of claim_source.find(); 0
 * without a cloud.
 */
int claim_verify(struct claimer *claimer, const char *uuid, struct err *reterr);

#endif
