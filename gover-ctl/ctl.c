/* SPDX-License-Identifier: MIT */
/* One run of gover-ctl, from the command line to the exit code. Must never know a route. */
#include <errno.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/id.h"
#include "gover-ctl/ctl.h"
#include "gover-ctl/verb/usage.h"
#include "gover-ctl/verb/verbs.h"

enum ctl_exit ctl_fail(enum ctl_exit code, const char *format, ...)
{
	char text[2 * ERR_MSG_MAX];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	writer_defuse(text);
	fflush(stdout);
	fprintf(stderr, "gover-ctl: %s\n", text);
	return code;
}

enum ctl_exit ctl_check_id(const char *what, const char *id)
{
	if (id_valid(id))
		return CTL_DONE;
	return ctl_fail(CTL_USAGE,
			"%s '%s': allowed are 1 to %d of A-Z a-z 0-9 . _ - and neither . nor "
			"- at the beginning",
			what, id, ID_MAX - 1);
}

int ctl_open(struct ctl *ctl, struct err *reterr)
{
	const char *from_env = getenv("GOVER_SOCKET");
	const char *path = ctl->socket ? ctl->socket : from_env ? from_env : CLIENT_SOCKET_DEFAULT;

	const char *token_file = ctl->token_file ? ctl->token_file : getenv("GOVER_TOKEN_FILE");
	const char *cacert = ctl->cacert ? ctl->cacert : getenv("GOVER_CACERT");
	int r;

	if (ctl->client)
		return 0;
	r = client_new(path, ctl->url, &ctl->client, reterr);
	if (r >= 0 && cacert)
		r = client_use_cacert(ctl->client, cacert, reterr);
	if (r >= 0 && token_file)
		r = client_use_token(ctl->client, token_file, reterr);
	if (r < 0)
		ctl->client = client_free(ctl->client);
	return r;
}

int ctl_try(struct ctl *ctl, const struct client_call *call, struct reply *ret_reply,
	    struct err *reterr)
{
	int r = ctl_open(ctl, reterr);

	return r < 0 ? r : client_request(ctl->client, call, ret_reply, reterr);
}

enum ctl_exit ctl_exit_of(int result)
{
	switch (result) {
	case 0:
		return CTL_DONE;
	case -EINVAL:
		return CTL_USAGE;
	case -ENOTCONN:
	case -ECONNRESET:
		return CTL_UNREACHABLE;
	default:
		return CTL_FAILED;
	}
}

enum ctl_exit ctl_request(struct ctl *ctl, const char *method, const json_t *body,
			  struct reply *ret_reply, const char *path_format, ...)
{
	char path[CLIENT_PATH_MAX];
	struct client_call call = {.method = method, .path = path, .body = body};
	struct err err;
	va_list ap;
	int r;

	va_start(ap, path_format);
	r = vsnprintf(path, sizeof(path), path_format, ap);
	va_end(ap);
	if (r < 0 || (size_t)r >= sizeof(path))
		return ctl_fail(CTL_FAILED, "%s %.40s...: the request is too long", method, path);
	r = ctl_try(ctl, &call, ret_reply, &err);
	return r == 0 ? CTL_DONE : ctl_fail(ctl_exit_of(r), "%s", err.msg);
}

static enum ctl_exit show_usage(const struct verb *verb)
{
	fputs("usage: ", stderr);
	help_synopsis(stderr, verb);
	return CTL_USAGE;
}

/* What a verb must and may be given. Says what is wrong. */
static bool words_right(const struct verb *verb, const struct args *args)
{
	if (args_has(args, OPTION_JSON) && !verb->json) {
		ctl_fail(CTL_USAGE, "%s has no --json form", verb->words);
		return false;
	}
	for (int id = 0; id < OPTION_COUNT; id++) {
		const struct option_info *info = option_info((enum option_id)id);

		if (!(verb->required & OPTION(id)) || args_has(args, (enum option_id)id))
			continue;
		ctl_fail(CTL_USAGE, "%s needs --%s %s", verb->words, info->name, info->arg);
		return false;
	}
	if (args->n_words < verb->min_args)
		ctl_fail(CTL_USAGE, "%s needs %s", verb->words, verb->args);
	else if (args->n_words > verb->max_args)
		ctl_fail(CTL_USAGE, "%s: '%s' is one word too many", verb->words,
			 args->words[verb->max_args]);
	else if (args_has(args, OPTION_SOCKET) && args_has(args, OPTION_URL))
		ctl_fail(CTL_USAGE, "--socket and --url exclude each other");
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

	if (!words_right(verb, args))
		return show_usage(verb);
	writer_init(&ctl.writer, stdout, args_has(args, OPTION_JSON));
	r = verb->run(&ctl, args);
	client_free(ctl.client);
	if ((fflush(stdout) != 0 || ferror(stdout)) && r == CTL_DONE)
		r = ctl_fail(CTL_FAILED, "standard output: %s", strerror(errno));
	return r;
}

/* The verb's own options, after those that stood before it. @argv begins with its last word. */
static enum ctl_exit parse_and_run(const struct verb *verb, struct args *args, int argc,
				   char *argv[])
{
	struct err err;
	int r = args_parse(args, verbs_options(verb), verb->command, argc, argv, &err);

	if (r < 0) {
		ctl_fail(CTL_USAGE, "%s: %s", verb->words, err.msg);
		return r == -ENOENT ? show_usage(verb) : CTL_USAGE;
	}
	if (args_has(args, OPTION_HELP)) {
		help_verb(stdout, verb);
		return CTL_DONE;
	}
	return run_verb(verb, args);
}

int ctl_main(int argc, char *argv[])
{
	const uint64_t first = OPTIONS_GLOBAL | OPTION(OPTION_VERSION);
	struct args args = {0};
	const struct verb *verb;
	struct err err;
	int used, at;

	setlocale(LC_CTYPE, "");
	if (args_parse(&args, first, true, argc, argv, &err) < 0)
		return ctl_fail(CTL_USAGE, "%s", err.msg);
	if (args_has(&args, OPTION_VERSION)) {
		puts("gover-ctl " GOVER_VERSION);
		return CTL_DONE;
	}
	if (args.n_words == 0) {
		bool asked = args_has(&args, OPTION_HELP);

		help_all(asked ? stdout : stderr);
		return asked ? CTL_DONE : CTL_USAGE;
	}
	verb = verbs_find(args.words, args.n_words, &used);
	if (!verb) {
		help_explain_unknown(args.words, args.n_words, &err);
		return ctl_fail(CTL_USAGE, "%s", err.msg);
	}
	at = argc - args.n_words + used - 1;
	return parse_and_run(verb, &args, argc - at, argv + at);
}
