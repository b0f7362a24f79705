/* SPDX-License-Identifier: MIT */
/*
 * The input and the finding of a check, and helpers that several checks use.
 */
#ifndef GOVER_CTL_DOCTOR_FINDING_H
#define GOVER_CTL_DOCTOR_FINDING_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

/* Input of the checks. */
struct doctor_input {
	const char *root;	 /* prefix of all paths; "" except in tests */
	const char *search_path; /* value of PATH */
	const char *exe;	 /* path of gover-ctl; the FPS library may be in the same folder */
	const char *library;	 /* value of GOVER_FPS_LIB; NULL: unset */
	const char *layer;	 /* value of GOVER_CL_LIB; NULL: unset */
	const char *where;	 /* the daemon's address */
	const json_t *host;	 /* reply to GET /v1/host; NULL: no reply */
	const char *no_answer;	 /* the reason why @host is NULL */
};

enum doctor_state { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL, DOCTOR_SKIPPED };

struct doctor_finding {
	enum doctor_state state;
	char text[512];	  /* description of the state */
	char advice[256]; /* recommended action; "": none */
};

/* Sets the finding of a check. @format describes the state. */
void doctor_find(struct doctor_finding *finding, enum doctor_state state, const char *advice,
		 const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Returns true if the daemon controls a GPU with this backend. */
bool doctor_uses_backend(const struct doctor_input *input, const char *backend);
/* Writes input->root followed by @path to @full. */
void doctor_under_root(const struct doctor_input *input, const char *path, char full[PATH_MAX]);
/*
 * Returns the number of entries in a folder whose names begin with @prefix, or -1 if there is no
 * such folder.
 */
int doctor_count(const struct doctor_input *input, const char *folder, const char *prefix);

#endif
