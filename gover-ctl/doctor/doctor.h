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

/*
 * Runs the check @index; the finding of a check of a backend is FINDING_SKIPPED. Returns the name
 * of the check, or NULL if @index is past the last check.
 */
const char *doctor_check(size_t index, const struct doctor_input *input,
			 struct finding *ret_finding);

/* --- checks in files of their own --- */

/* Checks whether the daemon answers; if not, why, and the command that starts it. */
void doctor_service_check(const struct doctor_input *input, struct finding *finding);

/* Checks whether the groups of this user permit reading and changing over the unix socket. */
void doctor_access_check(const struct doctor_input *input, struct finding *finding);

/* Check the libraries that count frames: for 64-bit, 32-bit and Vulkan programs. */
void doctor_library_check(const struct doctor_input *input, struct finding *finding);
void doctor_library32_check(const struct doctor_input *input, struct finding *finding);
void doctor_vulkan_check(const struct doctor_input *input, struct finding *finding);

/* Checks the OpenCL layer of backend lib. */
void doctor_layer_check(const struct doctor_input *input, struct finding *finding);

#endif
