/* SPDX-License-Identifier: MIT */
/* The table of options, and the parser of the command line. */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "base/text.h"
#include "gover-ctl/shared/args.h"

#define FPS_MAX_LIMIT 100000 /* maximum of --fps-max, in frames per second */
#define LONG_BASE     256    /* getopt_long() returns LONG_BASE + id for a long option */

/* The option type of each kind of contract field. */
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
#define OPTION_INFO(TYPE, MIN, MAX, WORD, ARG, HELP)    \
	{                                               \
		WORD, ARG, TYPE, MIN, MAX, .help = HELP \
	}

static const struct option_info infos[OPTION_COUNT] = {
	[OPTION_SOCKET] = {"socket", "PATH", OPTION_TEXT, 0, 0,
			   .help = "use this unix socket (default: GOVER_SOCKET, else "
				   "/run/gover/gover.sock)"},
	[OPTION_URL] = {"url", "URL", OPTION_TEXT, 0, 0,
			.help = "connect over TCP instead of the unix socket"},
	[OPTION_TOKEN_FILE] =
		{"token-file", "FILE", OPTION_TEXT, 0, 0,
		 .help = "read the token for --url from this file (default: GOVER_TOKEN_FILE)"},
	[OPTION_CACERT] =
		{"cacert", "FILE", OPTION_TEXT, 0, 0,
		 .help = "trust these certificates for --url https://... (default: GOVER_CACERT)"},
	[OPTION_CERT] = {"cert", "FILE", OPTION_TEXT, 0, 0,
			 .help = "present this client certificate for --url https://... (default: "
				 "GOVER_CERT)"},
	[OPTION_CERT_KEY] = {"cert-key", "FILE", OPTION_TEXT, 0, 0,
			     .help = "read the private key of --cert from this file (default: "
				     "GOVER_CERT_KEY for GOVER_CERT, "
				     "else the file of --cert)"},
	[OPTION_JSON] = {"json", NULL, OPTION_FLAG, 0, 0,
			 .help = "print the daemon's reply as JSON, and errors, too (-o json)"},
	[OPTION_OUTPUT] = {"output", "FORMAT", OPTION_TEXT, 0, 0,
			   .help = "print table or json; lists also wide or name", .letter = 'o'},
	[OPTION_HELP] = {"help", NULL, OPTION_FLAG, 0, 0, .help = "show how to use this verb",
			 .letter = 'h'},
	[OPTION_VERSION] = {"version", NULL, OPTION_FLAG, 0, 0,
			    .help = "print the version of gover-ctl"},
	CONTRACT_FIELDS(OPTION_ROW)[OPTION_CAP_ALIAS] = {"initial-cap", "PCT", OPTION_INT, 1, 100,
							 .help = "same as --cap"},
	[OPTION_NO_BURST] = {"no-burst", NULL, OPTION_FLAG, 0, 0,
			     .help = "do not raise the cap above the sold cap"},
	[OPTION_HOLD_CAP] = {"cap", "PCT", OPTION_INT, 1, 100,
			     .help = "hold the cap at PCT instead of at its present value"},
	[OPTION_RUN_CAP] = {"cap", "PCT", OPTION_INT, 1, 100,
			    .help = "create the vGPU with this sold cap, if it does not exist"},
	[OPTION_VGPU] = {"vgpu", "ID", OPTION_TEXT, 0, 0, .help = "select this vGPU"},
	[OPTION_FPS_MAX] = {"fps-max", "N", OPTION_NUMBER, 0, FPS_MAX_LIMIT,
			    .help = "limit the frame rate to N; 0: no limit (default: slightly "
				    "above the target)"},
	[OPTION_FROM] = {"from", "TIME", OPTION_TEXT, 0, 0,
			 .help = "start at this time: RFC 3339, unix seconds, or relative to now "
				 "such as -1h"},
	[OPTION_TO] = {"to", "TIME", OPTION_TEXT, 0, 0, .help = "end at this time (default: now)"},
	[OPTION_STEP] = {"step", "TIME", OPTION_TEXT, 0, 0,
			 .help = "print one row for each interval of this length: seconds, or 30s, "
				 "5m, 1h, 1d"},
	[OPTION_ALL] = {"all", NULL, OPTION_FLAG, 0, 0, .help = "include entries that have ended"},
	[OPTION_AFTER] = {"after", "ID", OPTION_INT, 0, 1e15,
			  .help = "list only entries with a higher id than ID"},
	[OPTION_LIMIT] = {"limit", "N", OPTION_INT, 1, 1000, .help = "list at most N entries"},
	[OPTION_NEWCOMER] = {"id", "ID", OPTION_TEXT, 0, 0, .help = "set the id of the new vGPU"},
	[OPTION_KEY] =
		{"key", "KEY", OPTION_TEXT, 0, 0,
		 .help = "set the idempotency key, so that a repeated claim claims only once "
			 "(default: random)"},
	[OPTION_ONCE] = {"once", NULL, OPTION_FLAG, 0, 0, .help = "print the lists once and exit"},
	[OPTION_BATCH] = {"batch", NULL, OPTION_FLAG, 0, 0,
			  .help = "print the lists again and again"},
	[OPTION_PICTURES] = {"count", "N", OPTION_INT, 1, 1e9,
			     .help = "print the lists N times and exit"},
	[OPTION_DELAY] = {"delay", "S", OPTION_NUMBER, 0.1, 3600,
			  .help = "refresh every S seconds (default: 1)"},
	[OPTION_SORT] =
		{"sort", "COLUMN", OPTION_TEXT, 0, 0,
		 .help = "sort by worst, vgpu, vm, gpu, used, load, fps, target, cap, sold, broken "
			 "(default: worst; -COLUMN: reverse)"},
	[OPTION_FILTER] =
		{"filter", "TEXT", OPTION_TEXT, 0, 0,
		 .help = "show only vGPUs with TEXT in their id, VM, GPU, labels or note"},
	[OPTION_POLICY] = {"policy", "NAME", OPTION_TEXT, 0, 0,
			   .help = "simulate this policy (default: the policy in force)"},
	[OPTION_SET] = {"set", "KEY=VALUE", OPTION_PAIR, 0, 0,
			.help = "override a policy parameter; may be repeated"},
	[OPTION_SEED] = {"seed", "N", OPTION_INT, 0, 2147483647,
			 .help = "seed the random choice of newcomers (default: 1)"},
	[OPTION_NEWCOMER_WORKLOAD] =
		{"newcomer", "WORKLOAD", OPTION_TEXT, 0, 0,
		 .help = "give newcomers this workload instead of a recorded load"},
	[OPTION_NO_NEWCOMERS] = {"no-newcomers", NULL, OPTION_FLAG, 0, 0,
				 .help = "leave all offers unclaimed"},
	[OPTION_KINDS] = {"kinds", "KINDS", OPTION_TEXT, 0, 0,
			  .help = "print these kinds of events: decision,alert,offer,change,tick "
				  "(default: all but tick)"},
	[OPTION_SCOPE] = {"scope", "SCOPE", OPTION_TEXT, 0, 0,
			  .help = "set the scope of the token: read, operate or admin"},
	[OPTION_EXPIRES] =
		{"expires", "TIME", OPTION_TEXT, 0, 0,
		 .help = "let the token expire after this time: seconds, or 30m, 12h, 90d "
			 "(default: never)"},
	[OPTION_TOKEN_OUT] = {"out", "FILE", OPTION_TEXT, 0, 0,
			      .help = "write the token to this new file, with mode 0600"},
	[OPTION_ALERT] = {"alert", "NAME", OPTION_TEXT, 0, 0,
			  .help = "select alerts of this name, such as contract_limit"},
	[OPTION_FOR] = {"for", "TIME", OPTION_TEXT, 0, 0,
			.help = "end the silence after this time: seconds, or 30s, 90m, 2h, 1d"},
	[OPTION_UNTIL] = {"until", "TIME", OPTION_TEXT, 0, 0,
			  .help = "end the silence at this time: RFC 3339 or unix seconds"},
	[OPTION_REASON] = {"reason", "TEXT", OPTION_TEXT, 0, 0,
			   .help = "set the reason of the silence"},
	[OPTION_ON_GPU] = {"gpu", "GPU", OPTION_TEXT, 0, 0, .help = "select this GPU"},
	[OPTION_LIST_SORT] = {"sort", "KEY", OPTION_TEXT, 0, 0,
			      .help = "sort by this column or JSON field (-KEY: descending)"},
	[OPTION_NO_HEADERS] = {"no-headers", NULL, OPTION_FLAG, 0, 0,
			       .help = "print the table without its line of headings"},
	[OPTION_PID] = {"pid", "PID", OPTION_INT, 1, 4194304,
			.help = "explain why the frames of this program are counted or not"},
	[OPTION_SELECTOR] =
		{"selector", "TERMS", OPTION_TEXT, 0, 0,
		 .help = "select by labels: KEY=VALUE, KEY!=VALUE, KEY, !KEY, separated by "
			 "commas",
		 'l'},
};

const enum option_id options_global[] = {
	OPTION_SOCKET,	 OPTION_URL,  OPTION_TOKEN_FILE, OPTION_CACERT, OPTION_CERT,
	OPTION_CERT_KEY, OPTION_JSON, OPTION_OUTPUT,	 OPTION_HELP,	OPTION_COUNT,
};

void option_set_add(struct option_set *set, const enum option_id *list)
{
	for (; list && *list != OPTION_COUNT; list++)
		if (*list != OPTION_SKIP)
			set->has[*list] = true;
}

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
				"--%s '%s': not allowed (allowed: a %snumber from %.15g to %.15g)",
				info->name, value, info->type == OPTION_INT ? "whole " : "",
				info->min, info->max);
	return 0;
}

static bool is_utf8(const char *text)
{
	json_t *string = json_string(text);
	bool valid = string;

	json_decref(string);
	return valid;
}

/* Files may have any name; the other texts become JSON. */
static bool is_file(const struct option_info *info)
{
	return strcmp(info->arg, "FILE") == 0 || strcmp(info->arg, "PATH") == 0;
}

static int pair_take(struct args *args, const struct option_info *info, const char *value,
		     struct err *reterr)
{
	const char *equals = strchr(value, '=');

	if (!equals || equals == value)
		return err_fail(reterr, EINVAL, "--%s '%s': not allowed (allowed: %s)", info->name,
				value, info->arg);
	if (args->n_labels == ARRAY_SIZE(args->labels))
		return err_fail(reterr, EINVAL, "--%s: too many (limit %zu)", info->name,
				ARRAY_SIZE(args->labels));
	args->labels[args->n_labels++] = value;
	args->values[info - infos] = value;
	return 0;
}

static int option_take(struct args *args, enum option_id id, const char *value, struct err *reterr)
{
	const struct option_info *info = &infos[id];
	int r = 0;

	if (value && !is_file(info) && !is_utf8(value))
		return err_fail(reterr, EINVAL, "--%s: not UTF-8", info->name);
	if (info->type == OPTION_PAIR)
		return pair_take(args, info, value, reterr);
	if (args->values[id] && info->type != OPTION_FLAG)
		return err_fail(reterr, EINVAL, "--%s: given twice", info->name);
	if (info->type == OPTION_INT || info->type == OPTION_NUMBER)
		r = number_check(info, value, reterr);
	else if (info->type == OPTION_TEXT && value[0] == '\0')
		r = err_fail(reterr, EINVAL, "--%s: empty", info->name);
	if (r == 0)
		args->values[id] = value ? value : info->name;
	return r;
}

/* Returns the allowed option with this short name; -1: none. */
static int find_letter(const struct option_set *allowed, int letter)
{
	for (int id = 0; id < OPTION_COUNT; id++)
		if (allowed->has[id] && letter != 0 && infos[id].letter == letter)
			return id;
	return -1;
}

/*
 * Sets @reterr to the reason why getopt_long() failed. @sign is the return value of getopt_long(),
 * '?' or ':'. @word is the rejected argument.
 */
static int explain(int sign, const char *word, const struct option_set *allowed, struct err *reterr)
{
	int known = optopt < LONG_BASE ? find_letter(allowed, optopt) : optopt - LONG_BASE;
	const char *guess = NULL;
	int best = NEAREST_FAR;

	if (sign == ':')
		return err_fail(reterr, ENOENT, "%s: value missing (usage: --%s %s)", word,
				infos[known].name, infos[known].arg);
	if (known >= 0 && known < OPTION_COUNT)
		return err_fail(reterr, ENOENT, "--%s: takes no value", infos[known].name);
	if (optopt != 0 && optopt < LONG_BASE)
		return err_fail(reterr, ENOENT, "-%c: unknown option", optopt);
	for (int id = 0; id < OPTION_COUNT; id++)
		if (allowed->has[id])
			nearest_offer(word + strspn(word, "-"), infos[id].name, &best, &guess);
	if (guess)
		return err_fail(reterr, ENOENT, "%s: unknown option (did you mean --%s?)", word,
				guess);
	return err_fail(reterr, ENOENT, "%s: unknown option", word);
}

int args_parse(struct args *args, const struct option_set *allowed, bool leading, int argc,
	       char *argv[], struct err *reterr)
{
	struct option longs[OPTION_COUNT + 1] = {0};
	char shorts[2 * OPTION_COUNT + 3] = "+:";
	size_t n = 0;
	int found;

	for (int id = 0; id < OPTION_COUNT; id++)
		if (allowed->has[id]) {
			size_t used = strlen(shorts);

			longs[n++] = (struct option){
				.name = infos[id].name,
				.has_arg = infos[id].arg ? required_argument : no_argument,
				.val = LONG_BASE + id,
			};
			if (infos[id].letter)
				snprintf(shorts + used, sizeof(shorts) - used, "%c%s",
					 infos[id].letter, infos[id].arg ? ":" : "");
		}
	optind = 0;
	opterr = 0;
	while ((found = getopt_long(argc, argv, shorts + !leading, longs, NULL)) != -1) {
		int r;

		if (found == '?' || found == ':')
			return explain(found, argv[optind - 1], allowed, reterr);
		found = found < LONG_BASE ? find_letter(allowed, found) : found - LONG_BASE;
		r = option_take(args, (enum option_id)found, optarg, reterr);
		if (r < 0)
			return r;
	}
	args->words = argv + optind;
	args->n_words = argc - optind;
	for (int i = 0; !leading && i < args->n_words; i++)
		if (!is_utf8(args->words[i]))
			return err_fail(reterr, EINVAL, "argument %d: not UTF-8", i + 1);
	return 0;
}
