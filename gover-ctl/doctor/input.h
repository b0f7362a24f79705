/* SPDX-License-Identifier: MIT */
/* The input of the checks. */
#ifndef GOVER_CTL_DOCTOR_INPUT_H
#define GOVER_CTL_DOCTOR_INPUT_H

#include <jansson.h>
#include <stdbool.h>

#include "base/finding.h"

struct installation;

struct doctor_input {
	const char *root;	 /* prefix of all paths; "" except in tests */
	const char *search_path; /* value of PATH */
	const char *exe;	 /* path of gover-ctl; the FPS library may be in the same folder */
	const char *library;	 /* value of GOVER_FPS_LIB; NULL: unset */
	const char *layer;	 /* value of GOVER_CL_LIB; NULL: unset */
	const char *where;	 /* the daemon's address */
	bool over_socket;	 /* @where is a unix socket of this host */
	bool refused;		 /* the daemon has refused the request of this user */
	const json_t *host;	 /* reply to GET /v1/host; NULL: no reply */
	const char *no_answer;	 /* the reason why @host is NULL */
	/* the installation on this host; NULL: unknown */
	const struct installation *installation;
	const json_t *config; /* member of that name of `gover-d --diagnose`; NULL: unknown */
};

/*
 * Returns true if the daemon controls a GPU with this backend; without a reply, if its
 * configuration file has such a GPU.
 */
bool doctor_uses_backend(const struct doctor_input *input, const char *backend);

#endif
