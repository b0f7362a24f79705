/* SPDX-License-Identifier: MIT */
/* A finding of a check of this host. `gover-d --diagnose` and `gover-ctl doctor` print findings. */
#ifndef BASE_FINDING_H
#define BASE_FINDING_H

#include <jansson.h>

enum finding_state { FINDING_OK, FINDING_WARN, FINDING_FAIL, FINDING_SKIPPED };

struct finding {
	enum finding_state state;
	char text[768];	  /* description of the state */
	char advice[512]; /* recommended action; "": none */
};

/* Sets the finding of a check. @format describes the state. */
void finding_set(struct finding *finding, enum finding_state state, const char *advice,
		 const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Does the same, with a formatted advice. @text describes the state. */
void finding_advise(struct finding *finding, enum finding_state state, const char *text,
		    const char *format, ...) __attribute__((format(printf, 4, 5)));

const char *finding_state_name(enum finding_state state);

/* Adds {"check", "state", "text", "advice"} to @list, unless the check was skipped. */
void finding_add(json_t *list, const char *check, const struct finding *finding);

#endif
