/* SPDX-License-Identifier: MIT */
/* The command line. Must never print and never accept a value of the wrong form. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "gover-ctl/args.h"
#include "base/nearest.h"

#define FPS_MAX_LIMIT 100000 /* far above any display, still a sane number */
#define LONG_BASE     256    /* getopt's values of long options: above every character */

/* The type of a contract field's option. */
#define TYPE_ID	    OPTION_TEXT
#define TYPE_TEXT   OPTION_TEXT
#define TYPE_WHOLE  OPTION_INT
#define TYPE_INT64  OPTION_INT
#define TYPE_CID    OPTION_INT
#define TYPE_NUMBER OPTION_NUMBER
#define TYPE_SWITCH OPTION_FLAG
#define TYPE_LABELS OPTION_PAIR
#define OPTION_ROW(NAME, MEMBER, JSON, KIND, MIN, MAX, SINCE, USES, ...) \
	[OPTION_##NAME] = OPTION_INFO(TYPE_##KIND, MIN, MAX, __VA_ARGS__),
#define OPTION_INFO(TYPE, MIN, MAX, WORD, ARG, HELP) \
	{                                            \
		WORD, ARG, TYPE, MIN, MAX, HELP      \
	}

static const struct option_info infos[OPTION_COUNT] = {
	[OPTION_SOCKET] = {"socket", "PATH", OPTION_TEXT, 0, 0,
			   "the daemon's unix socket (GOVER_SOCKET, else /run/gover/gover.sock)"},
	[OPTION_URL] = {"url", "URL", OPTION_TEXT, 0, 0, "the daemon over TCP instead"},
	[OPTION_TOKEN_FILE] = {"token-file", "FILE", OPTION_TEXT, 0, 0,
			       "holds the token for --url (GOVER_TOKEN_FILE)"},
	[OPTION_CACERT] = {"cacert", "FILE", OPTION_TEXT, 0, 0,
			   "certificates to trust for --url https://... (GOVER_CACERT)"},
	[OPTION_JSON] = {"json", NULL, OPTION_FLAG, 0, 0, "the daemon's answer, for programs"},
	[OPTION_HELP] = {"help", NULL, OPTION_FLAG, 0, 0, "how to use this verb"},
	[OPTION_VERSION] = {"version", NULL, OPTION_FLAG, 0, 0, "the version of gover-ctl"},
	CONTRACT_FIELDS(OPTION_ROW)[OPTION_CAP_ALIAS] = {"initial-cap", "PCT", OPTION_INT, 1, 100,
							 "the same as --cap"},
	[OPTION_NO_BURST] = {"no-burst", NULL, OPTION_FLAG, 0, 0,
			     "the sold share is the highest cap"},
	[OPTION_HOLD_CAP] = {"cap", "PCT", OPTION_INT, 1, 100,
			     "fix the cap here instead of where it stands"},
	[OPTION_RUN_CAP] = {"cap", "PCT", OPTION_INT, 1, 100,
			    "share that is sold, where the vGPU is still to be made"},
	[OPTION_VGPU] = {"vgpu", "ID", OPTION_TEXT, 0, 0, "which vGPU"},
	[OPTION_FPS_MAX] =
		{"fps-max", "N", OPTION_NUMBER, 0, FPS_MAX_LIMIT,
		 "pace it to N frames a second (else just above its target); 0: not at all"},
	[OPTION_FROM] = {"from", "TIME", OPTION_TEXT, 0, 0,
			 "RFC 3339, unix seconds, or back from now such as -1h or -90m"},
	[OPTION_TO] = {"to", "TIME", OPTION_TEXT, 0, 0, "the same; now unless told"},
	[OPTION_STEP] = {"step", "TIME", OPTION_TEXT, 0, 0,
			 "one row for each such span: seconds, or 30s, 5m, 1h, 1d"},
	[OPTION_ALL] = {"all", NULL, OPTION_FLAG, 0, 0, "also those that are over"},
	[OPTION_AFTER] = {"after", "ID", OPTION_INT, 0, 1e15, "only those after this one"},
	[OPTION_LIMIT] = {"limit", "N", OPTION_INT, 1, 1000, "at most so many"},
	[OPTION_NEWCOMER] = {"id", "ID", OPTION_TEXT, 0, 0, "what the new vGPU shall be called"},
	[OPTION_KEY] = {"key", "KEY", OPTION_TEXT, 0, 0,
			"idempotency key: the same one again claims nothing twice (random)"},
	[OPTION_ONCE] = {"once", NULL, OPTION_FLAG, 0, 0, "print one picture and end"},
	[OPTION_BATCH] = {"batch", NULL, OPTION_FLAG, 0, 0,
			  "print picture after picture, without taking the terminal"},
	[OPTION_PICTURES] = {"count", "N", OPTION_INT, 1, 1e9, "print so many pictures and end"},
	[OPTION_DELAY] = {"delay", "S", OPTION_NUMBER, 0.1, 3600,
			  "seconds from one picture to the next (1)"},
	[OPTION_SORT] = {"sort", "COLUMN", OPTION_TEXT, 0, 0,
			 "vgpu, vm, gpu, util, load, fps, target, cap, sold, broken; -COLUMN: "
			 "turned round"},
	[OPTION_FILTER] = {"filter", "TEXT", OPTION_TEXT, 0, 0,
			   "only vGPUs with this in their id, VM, GPU, labels or note"},
	[OPTION_POLICY] = {"policy", "NAME", OPTION_TEXT, 0, 0,
			   "which policy to try instead of the one in force"},
	[OPTION_SET] = {"set", "KEY=VALUE", OPTION_PAIR, 0, 0,
			"try it with this parameter, as of policy set; may be repeated"},
	[OPTION_SEED] = {"seed", "N", OPTION_INT, 0, 2147483647,
			 "of whom newcomers are drawn from (1)"},
	[OPTION_NEWCOMER_WORKLOAD] = {"newcomer", "WORKLOAD", OPTION_TEXT, 0, 0,
				      "what newcomers do, instead of what was recorded"},
	[OPTION_NO_NEWCOMERS] = {"no-newcomers", NULL, OPTION_FLAG, 0, 0,
				 "nobody takes what is offered"},
	[OPTION_KINDS] =
		{"kinds", "KINDS", OPTION_TEXT, 0, 0,
		 "which, with commas: decision, alert, offer, change, tick (all but tick)"},
	[OPTION_SCOPE] = {"scope", "SCOPE", OPTION_TEXT, 0, 0,
			  "what it is for: read, operate or admin"},
	[OPTION_EXPIRES] = {"expires", "TIME", OPTION_TEXT, 0, 0,
			    "good for so long: seconds, or 30m, 12h, 90d; else for ever"},
	[OPTION_TOKEN_OUT] = {"out", "FILE", OPTION_TEXT, 0, 0,
			      "write the token to this new file, readable by you alone"},
	[OPTION_ALERT] = {"alert", "NAME", OPTION_TEXT, 0, 0,
			  "alerts of this name, such as contract_limit"},
	[OPTION_FOR] = {"for", "TIME", OPTION_TEXT, 0, 0, "how long: seconds, or 30s, 90m, 2h, 1d"},
	[OPTION_UNTIL] = {"until", "TIME", OPTION_TEXT, 0, 0,
			  "instead of --for: RFC 3339, or unix seconds"},
	[OPTION_REASON] = {"reason", "TEXT", OPTION_TEXT, 0, 0, "why, for whoever wonders"},
	[OPTION_NO_REDACT] = {"no-redact", NULL, OPTION_FLAG, 0, 0,
			      "leave names as they are; secrets are taken out all the same"},
};

const struct option_info *args_get_option(enum option_id id)
{
	return &infos[id];
}

bool args_has(const struct args *args, enum option_id id)
{
	return args->values[id] != NULL;
}

double args_get_number(const struct args *args, enum option_id id)
{
	double value = NAN;

	(void)parse_double(args->values[id], infos[id].min, infos[id].max, &value);
	return value;
}

static int number_check(const struct option_info *info, const char *value, struct err *reterr)
{
	int64_t whole;
	double number;
	int r;

	if (info->type == OPTION_INT)
		r = parse_int(value, (int64_t)info->min, (int64_t)info->max, &whole);
	else
		r = parse_double(value, info->min, info->max, &number);
	if (r < 0)
		return err_fail(reterr, EINVAL,
				"--%s '%s': allowed is a %snumber from %.15g to %.15g", info->name,
				value, info->type == OPTION_INT ? "whole " : "", info->min,
				info->max);
	return 0;
}

static int pair_take(struct args *args, const struct option_info *info, const char *value,
		     struct err *reterr)
{
	const char *equals = strchr(value, '=');

	if (!equals || equals == value)
		return err_fail(reterr, EINVAL, "--%s '%s': allowed is %s", info->name, value,
				info->arg);
	if (args->n_labels == ARRAY_SIZE(args->labels))
		return err_fail(reterr, EINVAL, "--%s: more than %zu of them", info->name,
				ARRAY_SIZE(args->labels));
	args->labels[args->n_labels++] = value;
	args->values[info - infos] = value;
	return 0;
}

static int option_take(struct args *args, enum option_id id, const char *value, struct err *reterr)
{
	const struct option_info *info = &infos[id];
	int r = 0;

	if (info->type == OPTION_PAIR)
		return pair_take(args, info, value, reterr);
	if (args->values[id] && info->type != OPTION_FLAG)
		return err_fail(reterr, EINVAL, "--%s is given twice", info->name);
	if (info->type == OPTION_INT || info->type == OPTION_NUMBER)
		r = number_check(info, value, reterr);
	else if (info->type == OPTION_TEXT && value[0] == '\0')
		r = err_fail(reterr, EINVAL, "--%s is empty", info->name);
	if (r == 0)
		args->values[id] = value ? value : info->name;
	return r;
}

/* What getopt_long() could not make sense of. */
static int explain(int sign, const char *word, uint64_t allowed, struct err *reterr)
{
	int known = optopt - LONG_BASE;
	const char *guess = NULL;
	int best = NEAREST_FAR;

	if (sign == ':')
		return err_fail(reterr, ENOENT, "%s needs a value: --%s %s", word,
				infos[known].name, infos[known].arg);
	if (known >= 0 && known < OPTION_COUNT)
		return err_fail(reterr, ENOENT, "--%s takes no value", infos[known].name);
	if (optopt != 0)
		return err_fail(reterr, ENOENT, "no option -%c here", optopt);
	for (int id = 0; id < OPTION_COUNT; id++)
		if (allowed & OPTION(id))
			nearest_offer(word + strspn(word, "-"), infos[id].name, &best, &guess);
	if (guess)
		return err_fail(reterr, ENOENT, "no option %s here; did you mean --%s?", word,
				guess);
	return err_fail(reterr, ENOENT, "no option %s here", word);
}

int args_parse(struct args *args, uint64_t allowed, bool leading, int argc, char *argv[],
	       struct err *reterr)
{
	struct option longs[OPTION_COUNT + 1] = {0};
	size_t n = 0;
	int found;

	for (int id = 0; id < OPTION_COUNT; id++)
		if (allowed & OPTION(id))
			longs[n++] = (struct option){
				.name = infos[id].name,
				.has_arg = infos[id].arg ? required_argument : no_argument,
				.val = LONG_BASE + id,
			};
	optind = 0;
	opterr = 0;
	while ((found = getopt_long(argc, argv, leading ? "+:h" : ":h", longs, NULL)) != -1) {
		int r;

		if (found == '?' || found == ':')
			return explain(found, argv[optind - 1], allowed, reterr);
		r = option_take(args,
				found == 'h' ? OPTION_HELP : (enum option_id)(found - LONG_BASE),
				optarg, reterr);
		if (r < 0)
			return r;
	}
	args->words = argv + optind;
	args->n_words = argc - optind;
	return 0;
}
