/* SPDX-License-Identifier: MIT */
/* Error responses: RFC 9457 problem documents. */
#ifndef GOVER_D_API_PROBLEM_H
#define GOVER_D_API_PROBLEM_H

#include "base/err.h"
#include "gover-d/api/request.h"
#include "gover-d/core/error.h"

/* Replies with a problem document whose detail is the formatted text. */
void problem_reply(struct api_request *request, unsigned int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Replies with the status for @r, an error code from a function of core (core/error.h). A negative
 * errno gives status 500, because it is a failure of the host and not an error in the request.
 */
void problem_reply_error(struct api_request *request, int r, const struct err *err);

#endif
