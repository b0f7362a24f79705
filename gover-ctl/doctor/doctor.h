/* SPDX-License-Identifier: MIT */
/*
 * What a host has and lacks for gover, one finding a check. Looks and asks only; must never create,
 * load or write anything.
 */
#ifndef GOVER_CTL_DOCTOR_DOCTOR_H
#define GOVER_CTL_DOCTOR_DOCTOR_H

#include <jansson.h>

/* What the checks look at. */
struct doctor_look {
	const char *root;	 /* of the host's files: "" ; tests give a folder */
	const char *search_path; /* PATH */
	const char *exe;	 /* this program: the library may lie beside it */
	const char *library;	 /* GOVER_FPS_LIB; NULL: not set */
	const char *where;	 /* the daemon's address */
	const json_t *host;	 /* GET /v1/host; NULL: no answer */
	const char *no_answer;	 /* why */
};

enum doctor_state { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL, DOCTOR_NOT_ASKED };

struct doctor_finding {
	enum doctor_state state;
	char text[512];	  /* what is */
	char advice[256]; /* what to do; "" : nothing */
};

/* The check's name, and what it finds. NULL past the end. */
const char *doctor_check(size_t index, const struct doctor_look *look,
			 struct doctor_finding *ret_finding);

const char *doctor_state_name(enum doctor_state state);

#endif
