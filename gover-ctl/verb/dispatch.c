/* SPDX-License-Identifier: MIT */
/*
 * Runs a command line: finds the verb, checks its arguments, calls its function and returns the
 * exit code.
 */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "gover-ctl/verb/usage.h"
#include "gover-ctl/verb/verbs.h"

static enum ctl_exit show_usage(const struct verb *verb)
{
	fputs("usage: ", stderr);
	usage_print_synopsis(stderr, verb);
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
	else
		return true;
	return false;
}

static enum ctl_exit run_verb(const struct verb *verb, const struct args *args)
{
	struct ctl ctl = {
		.socket = args->values[OPTION_SOCKET],
		.url = args->values[OPTION_URL],
		.token_file = args->values[OPTION_TOKEN_FILE],
		.cacert = args->values[OPTION_CACERT],
	};
	enum ctl_exit r;

	if (!check_args(verb, args))
		return show_usage(verb);
	writer_init(&ctl.writer, stdout, args_has(args, OPTION_JSON));
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

int dispatch_main(int argc, char *argv[])
{
	struct option_set first = {.has = {[OPTION_VERSION] = true}};
	struct args args = {0};
	const struct verb *verb;
	struct err err;
	int used, at;

	setlocale(LC_CTYPE, "");
	option_set_add(&first, options_global);
	if (args_parse(&args, &first, true, argc, argv, &err) < 0)
		return ctl_fail(CTL_USAGE, "%s", err.msg);
	if (args_has(&args, OPTION_VERSION)) {
		puts("gover-ctl " GOVER_VERSION);
		return CTL_DONE;
	}
	if (args.n_words == 0) {
		bool asked = args_has(&args, OPTION_HELP);

		usage_print_all(asked ? stdout : stderr);
		return asked ? CTL_DONE : CTL_USAGE;
	}
	verb = verbs_find(args.words, args.n_words, &used);
	if (!verb) {
		usage_explain_unknown(args.words, args.n_words, &err);
		return ctl_fail(CTL_USAGE, "%s", err.msg);
	}
	at = argc - args.n_words + used - 1;
	return parse_and_run(verb, &args, argc - at, argv + at);
}
