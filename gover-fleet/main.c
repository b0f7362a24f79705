/* SPDX-License-Identifier: MIT */
/*
 * The options of gover-fleet; after --hook come the arguments of libvirt. All other code is in a
 * library, so that tests can link it.
 */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/terminal/cmdline.h"
#include "base/xalloc.h"
#include "gover-fleet/claim/hook.h"
#include "gover-fleet/config/fleet-config.h"
#include "gover-fleet/daemon.h"
#include "gover-fleet/model/fleet-log.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = CMDLINE_USAGE };

enum verb { VERB_RUN, VERB_CHECK_CONFIG, VERB_PRINT_CONFIG, VERB_HOOK, VERB_WITHDRAW };

struct options {
	int verb; /* enum verb */
	const char *config;
	const char *domain, *operation; /* of VERB_HOOK */
};

static int parse_arguments(struct options *options, int argc, char *argv[])
{
	if (options->verb == VERB_HOOK && argc - optind >= 2) {
		options->domain = argv[optind];
		options->operation = argv[optind + 1];
		return CMDLINE_GO_ON;
	}
	if (options->verb == VERB_HOOK) {
		fputs("gover-fleet: --hook: the arguments of libvirt are required (allowed: DOMAIN "
		      "OPERATION [ARGUMENT]...)\n",
		      stderr);
		return EXIT_USAGE;
	}
	if (optind < argc) {
		fprintf(stderr,
			"gover-fleet: unexpected argument '%s'. Try 'gover-fleet --help'.\n",
			argv[optind]);
		return EXIT_USAGE;
	}
	return CMDLINE_GO_ON;
}

static int parse_options(struct options *o, int argc, char *argv[])
{
	const struct cmdline_row rows[] = {
		CMDLINE_LINES(
			"Usage: gover-fleet [OPTION]...\n"
			"       gover-fleet [--config FILE] --hook DOMAIN OPERATION [ARGUMENT]...\n"
			"Sells the offers of gover-d through a cloud.\n\n"),
		CMDLINE_ROW(WORD, "config", "FILE", &o->config,
			    "read FILE instead of " FLEET_CONFIG_PATH_DEFAULT),
		CMDLINE_ROW(CHOICE, "check-config", NULL, &o->verb,
			    "check the configuration and exit", .min = VERB_CHECK_CONFIG),
		CMDLINE_ROW(CHOICE, "print-config", NULL, &o->verb,
			    "print the effective configuration and exit", .min = VERB_PRINT_CONFIG),
		CMDLINE_ROW(CHOICE, "hook", NULL, &o->verb,
			    "ask gover-fleet if a domain may start, as a hook of libvirt",
			    .min = VERB_HOOK),
		CMDLINE_ROW(CHOICE, "withdraw", NULL, &o->verb,
			    "withdraw all offers from the cloud and exit", .min = VERB_WITHDRAW),
		CMDLINE_ENDS,
		CMDLINE_LINES(
			"\nExit status: 0 success, 1 failure, 2 wrong usage. See gover-fleet(8), "
			"fleet.conf(5).\n"),
	};
	/* "+": the arguments of libvirt are no options */
	int r = cmdline_parse("gover-fleet", rows, ARRAY_SIZE(rows), "+", argc, argv, NULL);

	return r == CMDLINE_GO_ON ? parse_arguments(o, argc, argv) : r;
}

static int run_verb(const struct options *options, const struct fleet_config *config,
		    struct err *reterr)
{
	switch ((enum verb)options->verb) {
	case VERB_CHECK_CONFIG:
		puts("the configuration is valid");
		return 0;
	case VERB_PRINT_CONFIG:
		fleet_config_print(config, stdout);
		return 0;
	case VERB_WITHDRAW:
		return fleet_daemon_withdraw(config, reterr);
	case VERB_RUN:
	case VERB_HOOK:
		break;
	}
	return fleet_daemon_run(config, reterr);
}

int main(int argc, char *argv[])
{
	struct options options = {.verb = VERB_RUN};
	struct fleet_config config;
	struct err err = {""};
	int r;

	xalloc_init("gover-fleet");
	json_set_alloc_funcs(xmalloc, free);
	r = parse_options(&options, argc, argv);
	if (r != CMDLINE_GO_ON)
		return r;
	fleet_config_default(&config);
	r = fleet_config_load(&config, options.config, &err);
	/* A configuration that cannot be read may have on_failure = closed, so the start fails. */
	if (r >= 0 && options.verb == VERB_HOOK)
		return hook_run(&config, options.domain, options.operation);
	if (r >= 0)
		r = run_verb(&options, &config, &err);
	if (r < 0)
		fleet_log_error("%s", err.msg[0] ? err.msg : strerror(-r));
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}
