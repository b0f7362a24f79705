/* SPDX-License-Identifier: MIT */
/* The options of gover-fleet. After --hook come the arguments of libvirt. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "gover-fleet/claim/hook.h"
#include "gover-fleet/config/fleet-config.h"
#include "gover-fleet/daemon.h"
#include "gover-fleet/model/fleet-log.h"
#include "gover-fleet/options.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, GO_ON = -1 };

enum verb { VERB_RUN, VERB_CHECK_CONFIG, VERB_PRINT_CONFIG, VERB_HOOK, VERB_WITHDRAW };

struct options {
	enum verb verb;
	const char *config;
	const char *domain, *operation; /* of VERB_HOOK */
};

static const char usage_text[] =
	"Usage: gover-fleet [OPTION]...\n"
	"       gover-fleet [--config FILE] --hook DOMAIN OPERATION [ARGUMENT]...\n"
	"Sells the offers of gover-d through a cloud.\n\n"
	"  --config FILE   read FILE instead of " FLEET_CONFIG_PATH_DEFAULT "\n"
	"  --check-config  check the configuration and exit\n"
	"  --print-config  print the effective configuration and exit\n"
	"  --hook          ask gover-fleet if a domain may start, as a hook of libvirt\n"
	"  --withdraw      withdraw all offers from the cloud and exit\n"
	"  --help          print this help and exit\n"
	"  --version       print the version and exit\n\n"
	"Exit status: 0 success, 1 failure, 2 wrong usage. See gover-fleet(8), fleet.conf(5).\n";

enum {
	OPT_CONFIG = 256,
	OPT_CHECK_CONFIG,
	OPT_PRINT_CONFIG,
	OPT_HOOK,
	OPT_WITHDRAW,
	OPT_HELP,
	OPT_VERSION
};

static const struct option long_options[] = {
	{"config", required_argument, NULL, OPT_CONFIG},
	{"check-config", no_argument, NULL, OPT_CHECK_CONFIG},
	{"print-config", no_argument, NULL, OPT_PRINT_CONFIG},
	{"hook", no_argument, NULL, OPT_HOOK},
	{"withdraw", no_argument, NULL, OPT_WITHDRAW},
	{"help", no_argument, NULL, OPT_HELP},
	{"version", no_argument, NULL, OPT_VERSION},
	{NULL, 0, NULL, 0},
};

/* Returns GO_ON, or an exit status after a text was printed. */
static int set_option(struct options *options, int option)
{
	switch (option) {
	case OPT_CONFIG:
		options->config = optarg;
		return GO_ON;
	case OPT_CHECK_CONFIG:
		options->verb = VERB_CHECK_CONFIG;
		return GO_ON;
	case OPT_PRINT_CONFIG:
		options->verb = VERB_PRINT_CONFIG;
		return GO_ON;
	case OPT_HOOK:
		options->verb = VERB_HOOK;
		return GO_ON;
	case OPT_WITHDRAW:
		options->verb = VERB_WITHDRAW;
		return GO_ON;
	case OPT_HELP:
		fputs(usage_text, stdout);
		return EXIT_DONE;
	case OPT_VERSION:
		puts("gover-fleet " GOVER_VERSION);
		return EXIT_DONE;
	default: /* getopt_long() has printed the error */
		fputs("Try 'gover-fleet --help'.\n", stderr);
		return EXIT_USAGE;
	}
}

static int parse_arguments(struct options *options, int argc, char *argv[])
{
	if (options->verb == VERB_HOOK && argc - optind >= 2) {
		options->domain = argv[optind];
		options->operation = argv[optind + 1];
		return GO_ON;
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
	return GO_ON;
}

static int parse_options(struct options *options, int argc, char *argv[])
{
	int option, r = GO_ON;

	/* "+": the arguments of libvirt are no options */
	while (r == GO_ON && (option = getopt_long(argc, argv, "+", long_options, NULL)) != -1)
		r = set_option(options, option);
	return r == GO_ON ? parse_arguments(options, argc, argv) : r;
}

static int run_verb(const struct options *options, const struct fleet_config *config,
		    struct err *reterr)
{
	switch (options->verb) {
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

int fleet_options_main(int argc, char *argv[])
{
	struct options options = {.verb = VERB_RUN};
	struct fleet_config config;
	struct err err = {""};
	int r = parse_options(&options, argc, argv);

	if (r != GO_ON)
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
