/* SPDX-License-Identifier: MIT */
/*
 * The command line: one table of options for all verbs, parsed strictly. Values are checked for
 * their form and range here, once; verbs read numbers that are known to be good.
 */
#ifndef GOVER_CTL_VERB_ARGS_H
#define GOVER_CTL_VERB_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum option_id {
	/* of every verb */
	OPTION_SOCKET,
	OPTION_URL,
	OPTION_TOKEN_FILE,
	OPTION_CACERT,
	OPTION_JSON,
	OPTION_HELP,
	OPTION_VERSION,
	/* contracts */
	OPTION_CAP,
	OPTION_INITIAL_CAP,
	OPTION_MIN_CAP,
	OPTION_TARGET_FPS,
	OPTION_FPS_LIMIT,
	OPTION_GPU,
	OPTION_VM,
	OPTION_CID,
	OPTION_LABEL,
	OPTION_WEIGHT,
	OPTION_BURST,
	OPTION_NO_BURST,
	OPTION_FLAVOR,
	/* one verb's own */
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
	OPTION_NO_REDACT,
	OPTION_COUNT
};

#define OPTION(id) (UINT64_C(1) << (id))
#define OPTIONS_GLOBAL                                                            \
	(OPTION(OPTION_SOCKET) | OPTION(OPTION_URL) | OPTION(OPTION_TOKEN_FILE) | \
	 OPTION(OPTION_CACERT) | OPTION(OPTION_JSON) | OPTION(OPTION_HELP))

enum option_type { OPTION_FLAG, OPTION_TEXT, OPTION_INT, OPTION_NUMBER, OPTION_PAIR };

struct option_info {
	const char *name; /* without its dashes; several ids may share one, never in one verb */
	const char *arg;  /* what its value is called; NULL: takes none */
	enum option_type type;
	double min, max; /* of numbers */
	const char *help;
};

/* The table; ids are its indices. */
const struct option_info *option_info(enum option_id id);

#define ARGS_LABELS_MAX 32

/* What stands on the command line. Points into argv and into itself. */
struct args {
	const char *values[OPTION_COUNT]; /* NULL: not given; a flag: its name */
	const char *labels[ARGS_LABELS_MAX];
	size_t n_labels;
	char **words; /* what is no option, in order */
	int n_words;
};

/*
 * Parses argv[1..] into @args, on top of what stands in it, taking the options in @allowed (a mask
 * of OPTION()). @leading: options end at the first word, the rest is left untouched. Permutes argv.
 * With a sentence: -EINVAL naming the option, its value and what is allowed; -ENOENT: no such
 * option here, or one that lacks its value.
 */
int args_parse(struct args *args, uint64_t allowed, bool leading, int argc, char *argv[],
	       struct err *reterr);

bool args_has(const struct args *args, enum option_id id);
/* The value of a number option that was given. */
double args_number(const struct args *args, enum option_id id);

#endif
