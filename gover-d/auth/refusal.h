/* SPDX-License-Identifier: MIT */
/*
 * Compares the scope of a principal with the scope that a route requires. Pure: no socket, file or
 * clock.
 */
#ifndef GOVER_D_AUTH_REFUSAL_H
#define GOVER_D_AUTH_REFUSAL_H

#include "gover-d/auth/access.h"

/*
 * Returns 0 if the scope of @principal is sufficient for @wanted, otherwise the HTTP status of the
 * refusal (401, 403, 429) with a message. The message names the caller and the command that grants
 * the scope. @request is a method and a path, for the message.
 */
unsigned int refusal_check(const struct principal *principal, enum access_scope wanted,
			   const char *request, struct err *reterr);

#endif
