/* SPDX-License-Identifier: MIT */
/* The table of verbs. */
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-ctl/verb/tables.h"
#include "gover-ctl/verb/usage.h"
#include "gover-ctl/verb/verbs.h"

static const struct verb verbs[] = {
	{"status", VERB_WATCH, "", 0, 0, .json = true, .run = verb_status,
	 .summary = "show the daemon, its GPUs and vGPUs, alerts and offers"},
	{"top", VERB_WATCH, "", 0, 0, .run = verb_top,
	 .optional = OPTIONS(OPTION_ONCE, OPTION_BATCH, OPTION_PICTURES, OPTION_DELAY, OPTION_SORT,
			     OPTION_FILTER),
	 .summary = "show a live view, refreshed each second; ? lists the keys, q quits"},
	{"watch", VERB_WATCH, "", 0, 0, .json = true, .run = verb_watch,
	 .optional = OPTIONS(OPTION_KINDS), .summary = "print events as they occur, one per line"},
	{"why", VERB_WATCH, "VGPU", 1, 1, .json = true, .run = verb_why,
	 .optional = OPTIONS(OPTION_LIMIT),
	 .summary = "explain whether the promise to a vGPU is kept, why not, and what would help"},
	{"alerts", VERB_WATCH, "", 0, 0, .table = &table_alerts, .json = true, .run = verb_alerts,
	 .optional = OPTIONS(LISTING_OPTIONS, OPTION_ALL),
	 .summary = "list active alerts with their causes and the next commands"},
	{"vgpu list", VERB_WATCH, "", 0, 0, .table = &table_vgpus, .json = true,
	 .run = verb_vgpu_list,
	 .optional = OPTIONS(OPTION_SELECTOR, LISTING_OPTIONS, OPTION_ON_GPU),
	 .summary = "list all vGPUs with their caps, load and frame rate"},
	{"vgpu show", VERB_WATCH, "ID", 1, 1, .json = true, .run = verb_vgpu_show,
	 .summary = "show all fields of one vGPU"},
	{"vgpu add", VERB_CONTRACTS, "ID", 1, 1, .json = true, .run = verb_vgpu_add,
	 .optional = OPTIONS(OPTIONS_CREATE OPTION_SKIP),
	 .summary = "add a contract for a vGPU (and create the vGPU if the backend can)"},
	{"vgpu set", VERB_CONTRACTS, "ID", 1, 1, .json = true, .run = verb_vgpu_set,
	 .optional = OPTIONS(OPTIONS_CHANGE OPTION_CAP_ALIAS, OPTION_NO_BURST),
	 .summary = "change a contract; --label KEY= removes a label"},
	{"vgpu remove", VERB_CONTRACTS, "ID", 1, 1, .json = true, .run = verb_vgpu_remove,
	 .summary = "end a contract; its share goes to the other vGPUs"},
	{"vgpu hold", VERB_CONTRACTS, "ID", 1, 1, .json = true, .run = verb_vgpu_hold,
	 .optional = OPTIONS(OPTION_HOLD_CAP),
	 .summary = "hold the cap of a vGPU, so that the policy does not change it"},
	{"vgpu release", VERB_CONTRACTS, "ID", 1, 1, .json = true, .run = verb_vgpu_release,
	 .summary = "end a hold, so that the policy sets the cap again"},
	{"policy show", VERB_POLICY, "", 0, 0, .json = true, .run = verb_policy_show,
	 .summary = "show the policy's parameters; * marks values that differ from the file"},
	{"policy set", VERB_POLICY, "KEY=VALUE...", 1, INT_MAX, .json = true,
	 .run = verb_policy_set,
	 .summary = "change parameters; KEY=default restores the value in the configuration file"},
	{"freeze", VERB_POLICY, "[GPU]", 0, 1, .json = true, .run = verb_gpu_freeze,
	 .summary = "stop changing caps and selling"},
	{"thaw", VERB_POLICY, "[GPU]", 0, 1, .json = true, .run = verb_gpu_thaw,
	 .summary = "resume changing caps and selling"},
	{"drain", VERB_POLICY, "[GPU]", 0, 1, .json = true, .run = verb_gpu_drain,
	 .summary = "stop selling; existing vGPUs keep running"},
	{"run", VERB_CONTRACTS, "COMMAND...", 1, INT_MAX, .command = true, .run = verb_run,
	 .required = OPTIONS(OPTION_VGPU),
	 .optional = OPTIONS(OPTION_RUN_CAP, OPTION_TARGET_FPS, OPTION_TARGET_RATE, OPTION_FPS_MAX,
			     OPTION_GPU, OPTION_LABELS),
	 .summary = "run a program in a vGPU and count its frames"},
	{"history", VERB_WATCH, "VGPU", 1, 1, .table = &table_history, .json = true,
	 .run = verb_history,
	 .optional = OPTIONS(LISTING_OPTIONS, OPTION_FROM, OPTION_TO, OPTION_STEP),
	 .summary = "show caps, load and frames of a vGPU over time (default: the last hour)"},
	{"offers", VERB_SELLING, "", 0, 0, .table = &table_offers, .json = true, .run = verb_offers,
	 .optional = OPTIONS(LISTING_OPTIONS, OPTION_ALL), .summary = "list open offers"},
	{"claim", VERB_SELLING, "OFFER", 1, 1, .json = true, .run = verb_offer_claim,
	 .required = OPTIONS(OPTION_NEWCOMER), .optional = OPTIONS(OPTIONS_CLAIM OPTION_KEY),
	 .summary = "claim an offer by its number: create one more vGPU"},
	{"economics", VERB_SELLING, "", 0, 0, .json = true, .run = verb_economics,
	 .optional = OPTIONS(OPTION_FROM, OPTION_TO),
	 .summary = "show revenue and penalties, with and without overselling (default: the last "
		    "day)"},
	{"simulate", VERB_SELLING, "", 0, 0, .json = true, .run = verb_simulate,
	 .optional = OPTIONS(OPTION_FROM, OPTION_TO, OPTION_ON_GPU, OPTION_POLICY, OPTION_SET,
			     OPTION_SEED, OPTION_NEWCOMER_WORKLOAD, OPTION_NO_NEWCOMERS),
	 .summary = "replay recorded load under another policy (default: the last day)"},
	{"ack", VERB_WATCH, "ALERT", 1, 1, .json = true, .run = verb_alert_ack,
	 .summary = "acknowledge an alert by its number"},
	{"silence add", VERB_WATCH, "", 0, 0, .json = true, .run = verb_silence_add,
	 .required = OPTIONS(OPTION_REASON),
	 .optional = OPTIONS(OPTION_ALERT, OPTION_ON_GPU, OPTION_VGPU, OPTION_FOR, OPTION_UNTIL),
	 .summary = "mute alerts that match all selectors"},
	{"silence list", VERB_WATCH, "", 0, 0, .table = &table_silences, .json = true,
	 .run = verb_silence_list, .optional = OPTIONS(LISTING_OPTIONS),
	 .summary = "list active silences"},
	{"silence remove", VERB_WATCH, "SILENCE", 1, 1, .json = true, .run = verb_silence_remove,
	 .summary = "end a silence by its number"},
	{"decisions", VERB_WATCH, "", 0, 0, .table = &table_decisions, .json = true,
	 .run = verb_decisions,
	 .optional = OPTIONS(LISTING_OPTIONS, OPTION_AFTER, OPTION_LIMIT, OPTION_VGPU),
	 .summary = "list recent decisions, newest last"},
	{"token list", VERB_HOST, "", 0, 0, .table = &table_tokens, .json = true,
	 .run = verb_token_list, .optional = OPTIONS(LISTING_OPTIONS),
	 .summary = "list tokens for access over TCP"},
	{"token add", VERB_HOST, "NAME", 1, 1, .json = true, .run = verb_token_add,
	 .required = OPTIONS(OPTION_SCOPE), .optional = OPTIONS(OPTION_EXPIRES, OPTION_TOKEN_OUT),
	 .summary = "create a token and print it once"},
	{"token remove", VERB_HOST, "NAME", 1, 1, .json = true, .run = verb_token_remove,
	 .summary = "revoke a token immediately"},
	{"audit", VERB_HOST, "", 0, 0, .table = &table_audit, .json = true, .run = verb_audit,
	 .optional = OPTIONS(LISTING_OPTIONS, OPTION_AFTER, OPTION_LIMIT),
	 .summary = "list recorded changes with principal, address and old values"},
	{"doctor", VERB_HOST, "", 0, 0, .json = true, .run = verb_doctor,
	 .summary = "check the host's requirements and suggest remedies"},
	{"config check", VERB_HOST, "[FILE]", 0, 1, .json = true, .run = verb_config_check,
	 .summary = "check a configuration file (default: /etc/gover/gover.conf)"},
	{"support", VERB_HOST, "[SOS-OPTION...]", 0, INT_MAX, .command = true, .run = verb_support,
	 .summary = "run sos to write an archive for a bug report, without secrets"},
	{"completion", VERB_HOST, "SHELL", 1, 1, .run = verb_completion,
	 .summary = "print the completion script for bash or zsh"},
	{"help", VERB_HOST, "[GROUP | VERB...]", 0, 2, .run = verb_help,
	 .summary =
		 "show how to use gover-ctl, a group of verbs or one verb (`help all`: all verbs)"},
	/* Hidden verbs must come last: verbs_at() ends at the first of them. */
	{"__complete", VERB_HOST, "WORD...", 1, INT_MAX, .command = true, .hidden = true,
	 .run = verb_complete, .summary = "list the candidates for the last word"},
};

static const struct verb_group_info groups[] = {
	[VERB_WATCH] = {"watch", "see the state, its reasons and its history"},
	[VERB_CONTRACTS] = {"contracts", "sell, change and use vGPUs"},
	[VERB_SELLING] = {"selling", "offers, revenue and simulations"},
	[VERB_POLICY] = {"policy", "parameters of the policy, and stops"},
	[VERB_HOST] = {"host", "checks, access and help"},
};

const struct verb_group_info *verbs_group(enum verb_group group)
{
	return &groups[group];
}

const struct verb *verbs_at(size_t index)
{
	return index < ARRAY_SIZE(verbs) && !verbs[index].hidden ? &verbs[index] : NULL;
}

struct option_set verbs_options(const struct verb *verb)
{
	struct option_set set = {.has = {false}};

	option_set_add(&set, options_global);
	option_set_add(&set, verb->required);
	option_set_add(&set, verb->optional);
	return set;
}

const struct verb *verbs_find(char *const *words, int n_words, int *ret_used)
{
	char two[64] = "";

	if (n_words == 0)
		return NULL;
	if (n_words > 1)
		snprintf(two, sizeof(two), "%s %s", words[0], words[1]);
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		int used = strchr(verbs[i].words, ' ') ? 2 : 1;

		if (strcmp(verbs[i].words, used == 2 ? two : words[0]) != 0)
			continue;
		*ret_used = used;
		return &verbs[i];
	}
	return NULL;
}

/* --- running a command line --- */

static enum ctl_exit show_usage(const struct verb *verb)
{
	if (!ctl_has_json_errors()) {
		fputs("usage: ", stderr);
		usage_print_synopsis(stderr, verb);
	}
	return CTL_USAGE;
}

/*
 * Prints an error and returns false if the number of words is wrong or a required option is
 * missing.
 */
static bool check_args(const struct verb *verb, const struct args *args)
{
	if (args_has(args, OPTION_JSON) && !verb->json) {
		ctl_fail(CTL_USAGE, "%s: --json is not supported", verb->words);
		return false;
	}
	for (const enum option_id *id = verb->required; id && *id != OPTION_COUNT; id++) {
		const struct option_info *info = args_get_option(*id);

		if (args_has(args, *id))
			continue;
		ctl_fail(CTL_USAGE, "%s: --%s %s required", verb->words, info->name, info->arg);
		return false;
	}
	if (args->n_words < verb->min_args)
		ctl_fail(CTL_USAGE, "%s: %s required", verb->words, verb->args);
	else if (args->n_words > verb->max_args)
		ctl_fail(CTL_USAGE, "%s: unexpected argument '%s'", verb->words,
			 args->words[verb->max_args]);
	else if (args_has(args, OPTION_SOCKET) && args_has(args, OPTION_URL))
		ctl_fail(CTL_USAGE, "--socket and --url are mutually exclusive");
	else if (args_has(args, OPTION_JSON) && args_has(args, OPTION_OUTPUT) &&
		 strcmp(args->values[OPTION_OUTPUT], "json") != 0)
		ctl_fail(CTL_USAGE, "--json and --output %.60s are mutually exclusive",
			 args->values[OPTION_OUTPUT]);
	else
		return true;
	return false;
}

/* Takes the format of the output. Prints an error and returns false if the verb has no such format.
 */
static bool take_format(const struct verb *verb, const struct args *args, struct writer *writer)
{
	const char *format = args->values[OPTION_OUTPUT];
	bool list = verb->table != NULL, unused = false;
	const struct {
		const char *name;
		bool has, *flag;
	} formats[] = {
		{"table", true, &unused},
		{"wide", list, &writer->wide},
		{"json", verb->json, &writer->json},
		{"name", list, &writer->names},
	};
	char allowed[64] = "";

	writer->no_head = args_has(args, OPTION_NO_HEADERS);
	if (!format)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		size_t used = strlen(allowed);

		if (!formats[i].has)
			continue;
		snprintf(allowed + used, sizeof(allowed) - used, "%s%s", used ? ", " : "",
			 formats[i].name);
		if (strcmp(format, formats[i].name) != 0)
			continue;
		*formats[i].flag = true;
		return true;
	}
	ctl_fail(CTL_USAGE, "%s: --output '%.60s': not allowed (allowed: %s)", verb->words, format,
		 allowed);
	return false;
}

static enum ctl_exit run_verb(const struct verb *verb, const struct args *args)
{
	struct ctl ctl = {
		.socket = args->values[OPTION_SOCKET],
		.url = args->values[OPTION_URL],
		.files = {.token = args->values[OPTION_TOKEN_FILE],
			  .cacert = args->values[OPTION_CACERT],
			  .certificate = args->values[OPTION_CERT],
			  .key = args->values[OPTION_CERT_KEY]},
		.options = verbs_options(verb),
	};
	enum ctl_exit r;

	writer_init(&ctl.writer, stdout, args_has(args, OPTION_JSON));
	if (!check_args(verb, args))
		return show_usage(verb);
	if (!take_format(verb, args, &ctl.writer))
		return CTL_USAGE;
	r = verb->run(&ctl, args);
	client_free(ctl.client);
	if ((fflush(stdout) != 0 || ferror(stdout)) && r == CTL_DONE)
		r = ctl_fail(CTL_FAILED, "standard output: %s", strerror(errno));
	return r;
}

/* Parses the options after the verb. @argv begins with the last word of the verb. */
static enum ctl_exit parse_and_run(const struct verb *verb, struct args *args, int argc,
				   char *argv[])
{
	struct err err;
	const struct option_set allowed = verbs_options(verb);
	int r = args_parse(args, &allowed, verb->command, argc, argv, &err);

	if (r < 0) {
		ctl_fail(CTL_USAGE, "%s: %s", verb->words, err.msg);
		return r == -ENOENT ? show_usage(verb) : CTL_USAGE;
	}
	if (args_has(args, OPTION_HELP)) {
		usage_print_verb(stdout, verb);
		return CTL_DONE;
	}
	return run_verb(verb, args);
}

/* Handles words that name no verb: "vgpu --help" and "vgpu" print the verbs of this family. */
static enum ctl_exit explain_no_verb(const struct args *args)
{
	const char *word = args->words[0];
	bool help = args_has(args, OPTION_HELP);
	char list[256];
	struct err err;

	for (int i = 1; i < args->n_words; i++)
		help = help || strcmp(args->words[i], "--help") == 0 ||
		       strcmp(args->words[i], "-h") == 0;
	if (help && usage_print_family(stdout, word))
		return CTL_DONE;
	usage_explain_unknown(args->words, args->n_words, &err);
	ctl_fail(CTL_USAGE, "%s", err.msg);
	if (args->n_words == 1 && usage_list_subverbs(word, list, sizeof(list)) &&
	    !ctl_has_json_errors())
		(void)usage_print_family(stderr, word);
	return CTL_USAGE;
}

/*
 * Returns true if the command line asks for JSON. Used for errors that occur before the command
 * line is parsed.
 */
static bool asks_for_json(int argc, char *argv[])
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		const char *next = i + 1 < argc ? argv[i + 1] : "";
		bool output = strcmp(argv[i], "-o") == 0 || strcmp(argv[i], "--output") == 0;

		if (strcmp(argv[i], "--json") == 0 || strcmp(argv[i], "-ojson") == 0 ||
		    strcmp(argv[i], "--output=json") == 0 || (output && strcmp(next, "json") == 0))
			return true;
	}
	return false;
}

int dispatch_main(int argc, char *argv[])
{
	struct option_set first = {.has = {[OPTION_VERSION] = true}};
	struct args args = {0};
	const struct verb *verb;
	struct err err;
	int used, at;

	setlocale(LC_CTYPE, "");
	ctl_set_json_errors(asks_for_json(argc, argv));
	option_set_add(&first, options_global);
	if (args_parse(&args, &first, true, argc, argv, &err) < 0)
		return ctl_fail(CTL_USAGE, "%s", err.msg);
	if (args_has(&args, OPTION_VERSION)) {
		puts("gover-ctl " GOVER_VERSION);
		return CTL_DONE;
	}
	if (args.n_words == 0) {
		bool asked = args_has(&args, OPTION_HELP);

		usage_print_overview(asked ? stdout : stderr);
		return asked ? CTL_DONE : CTL_USAGE;
	}
	verb = verbs_find(args.words, args.n_words, &used);
	if (!verb)
		return explain_no_verb(&args);
	if (!verb->json)
		ctl_set_json_errors(false);
	at = argc - args.n_words + used - 1;
	return parse_and_run(verb, &args, argc - at, argv + at);
}
