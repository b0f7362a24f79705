/* SPDX-License-Identifier: MIT */
/*
 * Runs a command line: finds the verb, checks its arguments, calls its function and returns the
 * exit code. All other code is in the static library that tests link.
 */
#include <errno.h>
#include <jansson.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "gover-ctl/main/usage.h"
#include "gover-ctl/main/verbs.h"

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

int main(int argc, char *argv[])
{
	struct option_set first = {.has = {[OPTION_VERSION] = true}};
	struct args args = {0};
	const struct verb *verb;
	struct err err;
	int used, at;

	xalloc_init("gover-ctl");
	json_set_alloc_funcs(xmalloc, free);
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
