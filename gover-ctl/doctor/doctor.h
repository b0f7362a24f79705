/* SPDX-License-Identifier: MIT */
/*
 * Checks of the requirements on this host; each check yields one finding. Read-only: nothing is
 * created, loaded or written.
 */
#ifndef GOVER_CTL_DOCTOR_DOCTOR_H
#define GOVER_CTL_DOCTOR_DOCTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/finding.h"
#include "gover-ctl/shared/ctl.h"

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
 * Runs the check @index. The finding is FINDING_SKIPPED for a row whose checks gover-d makes.
 * Returns the name of the check, or NULL if @index is
 * past the last check.
 */
const char *doctor_check(size_t index, const struct doctor_input *input,
			 struct finding *ret_finding);

/* The verb `doctor`. */
enum ctl_exit verb_doctor(struct ctl *ctl, const struct args *args);

#endif
