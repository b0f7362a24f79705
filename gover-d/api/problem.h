/* SPDX-License-Identifier: MIT */
/* Refusals: RFC 9457 problem documents, and which status an errno is. */
#ifndef GOVER_D_API_PROBLEM_H
#define GOVER_D_API_PROBLEM_H

#include "base/err.h"
#include "gover-d/api/request.h"

/* Answers with a problem whose detail is the sentence. */
void problem_reply(struct api_request *request, unsigned int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Answers with what the negative errno @r of control.h means to a client. */
void problem_reply_error(struct api_request *request, int r, const struct err *err);

#endif
