/* SPDX-License-Identifier: MIT */
/*
 * The rule for requests with an idempotency key, which sell a vGPU. A sale and its key are stored
 * and applied together (store/sale-keys.h), so a key that was answered with 2xx is known after a
 * crash. A request that failed has no key. Each caller has its own keys.
 */
#ifndef GOVER_D_CHANGE_KEYS_H
#define GOVER_D_CHANGE_KEYS_H

#include "gover-d/change/change.h"

/* The idempotency key of a request. */
struct control_key {
	const char *owner; /* name of the caller */
	const char *given; /* the key as the client sent it; NULL: none */
	const json_t *body;
};

/* True if @given has 1 to 127 printable characters without spaces. */
bool keys_valid(const char *given);

/*
 * Returns the stored form of @key, for a request that sells @vgpu through @offer (0: without an
 * offer). Its key is "" if the request has none. The caller sets created_ms.
 */
struct sale_key keys_make(const struct control_key *key, int64_t offer, const char *vgpu);

/*
 * Returns 0 if the key of @sale is unknown or "": the request is to be executed. Otherwise returns
 * CONTROL_E_REPEATED if the sale of the first request is still in force, or CONTROL_E_KEY_USED or
 * CONTROL_E_GONE with a message. @given: the key as the client sent it.
 */
int keys_check(struct changes *changes, const struct sale_key *sale, const char *given,
	       struct err *reterr);

#endif
