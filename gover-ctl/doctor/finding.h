/* SPDX-License-Identifier: MIT */
/*
 * The input and the finding of a check, and helpers that several checks use.
 */
#ifndef GOVER_CTL_DOCTOR_FINDING_H
#define GOVER_CTL_DOCTOR_FINDING_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

struct config;
struct installation;

/* Input of the checks. */
struct doctor_input {
	const char *root;	 /* prefix of all paths; "" except in tests */
	const char *search_path; /* value of PATH */
	const char *exe;	 /* path of gover-ctl; the FPS library may be in the same folder */
	const char *library;	 /* value of GOVER_FPS_LIB; NULL: unset */
	const char *layer;	 /* value of GOVER_CL_LIB; NULL: unset */
	const char *where;	 /* the daemon's address */
	bool over_socket;	 /* @where is a unix socket of this host */
	bool refused;		 /* the daemon has refused the request of this user */
	bool anonymous;		 /* the user of gover-ctl must not be named */
	const json_t *host;	 /* reply to GET /v1/host; NULL: no reply */
	const char *no_answer;	 /* the reason why @host is NULL */
	/* the installation on this host; NULL: unknown */
	const struct installation *installation;
	const struct config *config; /* the configuration in its file; NULL: it cannot be read */
};

enum doctor_state { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL, DOCTOR_SKIPPED };

struct doctor_finding {
	enum doctor_state state;
	char text[768];	  /* description of the state */
	char advice[512]; /* recommended action; "": none */
};

/* Sets the finding of a check. @format describes the state. */
void doctor_find(struct doctor_finding *finding, enum doctor_state state, const char *advice,
		 const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Does the same, with a formatted advice. @text describes the state. */
void doctor_advise(struct doctor_finding *finding, enum doctor_state state, const char *text,
		   const char *format, ...) __attribute__((format(printf, 4, 5)));
/*
 * Returns true if the daemon controls a GPU with this backend; without a reply, if its
 * configuration file has such a GPU.
 */
bool doctor_uses_backend(const struct doctor_input *input, const char *backend);
/* Writes input->root followed by @path to @full. */
void doctor_under_root(const struct doctor_input *input, const char *path, char full[PATH_MAX]);
/*
 * Returns the number of entries in a folder whose names begin with @prefix, or -1 if there is no
 * such folder.
 */
int doctor_count(const struct doctor_input *input, const char *folder, const char *prefix);

#endif
