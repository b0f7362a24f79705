/* SPDX-License-Identifier: MIT */
/*
 * The command line: the table of the options of all verbs, and the parser. The parser checks the
 * form and range of numbers.
 */
#ifndef GOVER_CTL_SHARED_ARGS_H
#define GOVER_CTL_SHARED_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "gover-d/model/contract.h"

#define OPTION_OF_FIELD(NAME, ...) OPTION_##NAME,

enum option_id {
	/* options that every verb accepts, but OPTION_VERSION is accepted only without a verb */
	OPTION_SOCKET,
	OPTION_URL,
	OPTION_TOKEN_FILE,
	OPTION_CACERT,
	OPTION_CERT,
	OPTION_CERT_KEY,
	OPTION_JSON,
	OPTION_OUTPUT,
	OPTION_HELP,
	OPTION_VERSION,
	/*
	 * One id per contract field, even if the field has no option (no CONTRACT_IN_CTL).
	 * OPTION_INITIAL_CAP is the option --cap.
	 */
	CONTRACT_FIELDS(OPTION_OF_FIELD) OPTION_CAP_ALIAS,
	OPTION_NO_BURST,
	/* options that only some verbs accept */
	OPTION_HOLD_CAP,
	OPTION_RUN_CAP,
	OPTION_VGPU,
	OPTION_FPS_MAX,
	OPTION_FROM,
	OPTION_TO,
	OPTION_STEP,
	OPTION_ALL,
	OPTION_AFTER,
	OPTION_LIMIT,
	OPTION_NEWCOMER,
	OPTION_KEY,
	OPTION_ONCE,
	OPTION_BATCH,
	OPTION_PICTURES,
	OPTION_DELAY,
	OPTION_SORT,
	OPTION_FILTER,
	OPTION_POLICY,
	OPTION_SET,
	OPTION_SEED,
	OPTION_NEWCOMER_WORKLOAD,
	OPTION_NO_NEWCOMERS,
	OPTION_KINDS,
	OPTION_SCOPE,
	OPTION_EXPIRES,
	OPTION_TOKEN_OUT,
	OPTION_ALERT,
	OPTION_FOR,
	OPTION_UNTIL,
	OPTION_REASON,
	OPTION_ON_GPU,
	OPTION_LIST_SORT,
	OPTION_NO_HEADERS,
	OPTION_SELECTOR,
	OPTION_PID,
	OPTION_COUNT
};

/* A set of options. */
struct option_set {
	bool has[OPTION_COUNT];
};

/*
 * A list of options for the tables: OPTIONS(OPTION_FROM, OPTION_TO). OPTION_COUNT ends a list.
 */
#define OPTIONS(...) ((const enum option_id[]){__VA_ARGS__, OPTION_COUNT})
#define OPTION_SKIP  ((enum option_id)(OPTION_COUNT + 1)) /* an entry without an option */

/*
 * Entries of a list: the contract options for creating a vGPU (OPTIONS_CREATE), changing it
 * (OPTIONS_CHANGE) and claiming an offer (OPTIONS_CLAIM). Each ends with a comma.
 */
#define OPTION_IF_CREATE(NAME, MEMBER, JSON, KIND, MIN, MAX, SINCE, USES, ...) \
	OPTION_IF(NAME, USES, CONTRACT_IN_CREATE),
#define OPTION_IF_CHANGE(NAME, MEMBER, JSON, KIND, MIN, MAX, SINCE, USES, ...) \
	OPTION_IF(NAME, USES, CONTRACT_IN_CHANGE),
#define OPTION_IF_CLAIM(NAME, MEMBER, JSON, KIND, MIN, MAX, SINCE, USES, ...) \
	OPTION_IF(NAME, USES, CONTRACT_IN_CLAIM),
#define OPTION_IF(NAME, USES, USE) \
	(((USES) & (USE)) && ((USES)&CONTRACT_IN_CTL) ? OPTION_##NAME : OPTION_SKIP)
#define OPTIONS_CREATE CONTRACT_FIELDS(OPTION_IF_CREATE)
#define OPTIONS_CHANGE CONTRACT_FIELDS(OPTION_IF_CHANGE)
#define OPTIONS_CLAIM  CONTRACT_FIELDS(OPTION_IF_CLAIM)

/* The options that every verb accepts. */
extern const enum option_id options_global[];

/* Adds the options of a list to @set. @list may be NULL. */
void option_set_add(struct option_set *set, const enum option_id *list);

enum option_type { OPTION_FLAG, OPTION_TEXT, OPTION_INT, OPTION_NUMBER, OPTION_PAIR };

struct option_info {
	const char *name; /* without dashes; different verbs may have options of the same name */
	const char *arg;  /* name of the value in the help; NULL: the option is a flag */
	enum option_type type;
	double min, max; /* range of OPTION_INT and OPTION_NUMBER */
	const char *help;
	char letter; /* short option: 'o' for -o; 0: none */
};

const struct option_info *args_get_option(enum option_id id);

#define ARGS_LABELS_MAX 32

/* A parsed command line. All texts point into argv. */
struct args {
	/* value of each option; the value of a flag is its name; NULL: option not given */
	const char *values[OPTION_COUNT];
	const char *labels[ARGS_LABELS_MAX];
	size_t n_labels;
	char **words; /* arguments that are not options, in order */
	int n_words;
};

/*
 * Parses argv[1..] and adds the options to @args. Reorders argv. @allowed: the known options.
 * If @leading, parsing stops at the first word that is not an option. Returns -EINVAL if a value is
 * not allowed, -ENOENT if an option is unknown or has no value; @reterr has the message.
 */
int args_parse(struct args *args, const struct option_set *allowed, bool leading, int argc,
	       char *argv[], struct err *reterr);

bool args_has(const struct args *args, enum option_id id);
/* Returns the value of a numeric option, which must be given. */
double args_get_number(const struct args *args, enum option_id id);

#endif
