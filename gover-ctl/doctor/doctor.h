/* SPDX-License-Identifier: MIT */
/*
 * Checks of the requirements on this host; each check yields one finding. Read-only: nothing is
 * created, loaded or written.
 */
#ifndef GOVER_CTL_DOCTOR_DOCTOR_H
#define GOVER_CTL_DOCTOR_DOCTOR_H

#include <jansson.h>

/* Input of the checks. */
struct doctor_input {
	const char *root;	 /* prefix of the host's paths: ""; a folder in tests */
	const char *search_path; /* PATH */
	const char *exe;	 /* path of this program: the library may be next to it */
	const char *library;	 /* GOVER_FPS_LIB; NULL: unset */
	const char *where;	 /* the daemon's address */
	const json_t *host;	 /* GET /v1/host; NULL: no reply */
	const char *no_answer;	 /* the reason */
};

enum doctor_state { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL, DOCTOR_SKIPPED };

struct doctor_finding {
	enum doctor_state state;
	char text[512];	  /* the state */
	char advice[256]; /* what to do; "": nothing */
};

/* Runs the check @index; returns its name, NULL past the end. */
const char *doctor_check(size_t index, const struct doctor_input *input,
			 struct doctor_finding *ret_finding);

const char *doctor_state_name(enum doctor_state state);

#endif
