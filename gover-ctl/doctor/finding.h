/* SPDX-License-Identifier: MIT */
/* What a check reads and what it finds, and helpers that several checks use. */
#ifndef GOVER_CTL_DOCTOR_FINDING_H
#define GOVER_CTL_DOCTOR_FINDING_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

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

/* Sets the finding of a check. @format: the text of the state. */
void doctor_find(struct doctor_finding *finding, enum doctor_state state, const char *advice,
		 const char *format, ...) __attribute__((format(printf, 4, 5)));
/* True if the daemon controls a GPU with this backend. */
bool doctor_uses_backend(const struct doctor_input *input, const char *backend);
/* Makes the path of a file below input->root. */
void doctor_under_root(const struct doctor_input *input, const char *path, char full[PATH_MAX]);
/* Counts the entries of a folder that begin with @prefix; -1: no such folder. */
int doctor_count(const struct doctor_input *input, const char *folder, const char *prefix);

#endif
