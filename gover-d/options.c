/* SPDX-License-Identifier: MIT */
/* The command line of gover-d. Its options override the configuration file. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "gover-d/config/config.h"
#include "gover-d/core/manager.h"
#include "gover-d/daemon.h"
#include "gover-d/options.h"
#include "gover-d/util/log.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

enum verb { VERB_RUN, VERB_CHECK_CONFIG, VERB_PRINT_CONFIG, VERB_RESTORE };

struct options {
	enum verb verb;
	const char *config, *state_dir, *socket, *listen;
	bool dry_run;
};

static const char usage_text[] =
	"Usage: gover-d [OPTION]...\n"
	"Oversells GPUs and keeps every customer's contract.\n\n"
	"  --config FILE      read FILE instead of " CONFIG_PATH_DEFAULT "\n"
	"  --state-dir DIR    store contracts, caps and history in DIR\n"
	"  --socket PATH      serve REST on the unix socket PATH\n"
	"  --listen ADDR:PORT also serve REST on TCP\n"
	"  --dry-run          log decisions without applying them\n"
	"  --check-config     check the configuration and exit\n"
	"  --print-config     print the effective configuration and exit\n"
	"  --restore          set the initial cap of every contract and exit\n"
	"  --help             print this help and exit\n"
	"  --version          print the version and exit\n\n"
	"Exit status: 0 success, 1 failure, 2 wrong usage. See gover-d(8), gover.conf(5).\n";

enum {
	OPT_CONFIG = 256,
	OPT_STATE_DIR,
	OPT_SOCKET,
	OPT_LISTEN,
	OPT_DRY_RUN,
	OPT_CHECK_CONFIG,
	OPT_PRINT_CONFIG,
	OPT_RESTORE,
	OPT_HELP,
	OPT_VERSION
};

static const struct option long_options[] = {
	{"config", required_argument, NULL, OPT_CONFIG},
	{"state-dir", required_argument, NULL, OPT_STATE_DIR},
	{"socket", required_argument, NULL, OPT_SOCKET},
	{"listen", required_argument, NULL, OPT_LISTEN},
	{"dry-run", no_argument, NULL, OPT_DRY_RUN},
	{"check-config", no_argument, NULL, OPT_CHECK_CONFIG},
	{"print-config", no_argument, NULL, OPT_PRINT_CONFIG},
	{"restore", no_argument, NULL, OPT_RESTORE},
	{"help", no_argument, NULL, OPT_HELP},
	{"version", no_argument, NULL, OPT_VERSION},
	{NULL, 0, NULL, 0},
};

/* Returns 0 to continue, 1 after --help or --version, -EINVAL after a message on stderr. */
static int parse_options(int argc, char *argv[], struct options *options)
{
	int c;

	while ((c = getopt_long(argc, argv, "", long_options, NULL)) >= 0) {
		switch (c) {
		case OPT_CONFIG:
			options->config = optarg;
			break;
		case OPT_STATE_DIR:
			options->state_dir = optarg;
			break;
		case OPT_SOCKET:
			options->socket = optarg;
			break;
		case OPT_LISTEN:
			options->listen = optarg;
			break;
		case OPT_DRY_RUN:
			options->dry_run = true;
			break;
		case OPT_CHECK_CONFIG:
			options->verb = VERB_CHECK_CONFIG;
			break;
		case OPT_PRINT_CONFIG:
			options->verb = VERB_PRINT_CONFIG;
			break;
		case OPT_RESTORE:
			options->verb = VERB_RESTORE;
			break;
		case OPT_HELP:
			fputs(usage_text, stdout);
			return 1;
		case OPT_VERSION:
			puts("gover-d " GOVER_VERSION);
			return 1;
		default: /* getopt_long() has printed the error */
			fputs("Try 'gover-d --help'.\n", stderr);
			return -EINVAL;
		}
	}
	if (options->dry_run && options->verb == VERB_RESTORE) {
		fputs("gover-d: --restore and --dry-run cannot be combined\n", stderr);
		return -EINVAL;
	}
	if (optind < argc) {
		fprintf(stderr, "gover-d: unexpected argument '%s'. Try 'gover-d --help'.\n",
			argv[optind]);
		return -EINVAL;
	}
	return 0;
}

static int override(char *field, size_t size, const char *value, const char *option,
		    struct err *reterr)
{
	if (!value)
		return 0;
	if (value[0] == '\0' || strlen(value) >= size)
		return err_fail(reterr, EINVAL, "%s: empty or too long", option);
	memcpy(field, value, strlen(value) + 1);
	return 0;
}

static int load_config(const struct options *options, struct config *config, struct err *reterr)
{
	int r;

	config_default(config);
	r = config_load(config, options->config, reterr);
	if (r >= 0)
		r = override(config->state_dir, sizeof(config->state_dir), options->state_dir,
			     "--state-dir", reterr);
	if (r >= 0)
		r = override(config->socket, sizeof(config->socket), options->socket, "--socket",
			     reterr);
	if (r >= 0)
		r = override(config->listen, sizeof(config->listen), options->listen, "--listen",
			     reterr);
	if (r >= 0)
		r = config_check(config, reterr);
	return r;
}

/*
 * Limit of open files; each vGPU needs five files. The limit is finite, because hooks inherit it
 * and some programs close every possible descriptor when they start.
 */
#define FILES_MAX 131072

static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= FILES_MAX)
		return;
	limit.rlim_cur = limit.rlim_max < FILES_MAX ? limit.rlim_max : FILES_MAX;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

/*
 * Writes the path of the saved configuration of the last start. --restore uses that configuration
 * if the current configuration is invalid.
 */
static int last_config_path(const char *state_dir, char path[PATH_MAX])
{
	return (size_t)snprintf(path, PATH_MAX, "%s/config.last", state_dir) < PATH_MAX
		       ? 0
		       : -ENAMETOOLONG;
}

static void save_config(const struct config *config)
{
	CLEANUP_FREE char *text = NULL;
	char path[PATH_MAX];
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	int r = out ? last_config_path(config->state_dir, path) : -ENOMEM;

	if (out) {
		config_print(config, out);
		if (fclose(out) != 0)
			r = -ENOMEM;
	}
	if (r >= 0)
		r = file_replace(path, text, length);
	if (r < 0)
		log_warning("copy of the configuration for --restore: cannot be written: %s",
			    strerror(-r));
}

/*
 * Frees *@config before the event loop runs: the struct is large, and the daemon has its own copy.
 */
static int run_daemon(struct config **config, bool dry_run, struct err *reterr)
{
	struct daemon *daemon;
	int r;

	raise_file_limit();
	r = daemon_new(*config, dry_run, &daemon, reterr);
	if (r >= 0 && !dry_run)
		save_config(*config);
	free(*config);
	*config = NULL;
	if (r < 0)
		return r;
	r = daemon_run(daemon);
	daemon_free(daemon);
	return r < 0 ? err_fail(reterr, -r, "event loop: %s", strerror(-r)) : 0;
}

/*
 * Loads the configuration of the last start, so that a typing error in the current configuration
 * does not prevent --restore. @reterr contains the error of the current configuration.
 */
static int load_last_config(const struct options *options, struct config *config,
			    struct err *reterr)
{
	struct err why = {""};
	char path[PATH_MAX];
	int r;

	config_default(config);
	r = last_config_path(options->state_dir ? options->state_dir : config->state_dir, path);
	if (r >= 0)
		r = config_load(config, path, &why);
	if (r >= 0)
		r = override(config->state_dir, sizeof(config->state_dir), options->state_dir,
			     "--state-dir", &why);
	if (r >= 0)
		r = config_check(config, &why);
	if (r < 0)
		return r;
	log_error("%s", reterr->msg);
	log_notice("restoring the caps with %s, the configuration of the last start", path);
	return 0;
}

static int run_verb(const struct options *options, struct config **config, struct err *reterr)
{
	switch (options->verb) {
	case VERB_RUN:
		return run_daemon(config, options->dry_run, reterr);
	case VERB_CHECK_CONFIG:
		puts("the configuration is valid");
		return 0;
	case VERB_PRINT_CONFIG:
		config_print(*config, stdout);
		return 0;
	case VERB_RESTORE:
		return manager_restore(*config, reterr);
	}
	return -EINVAL;
}

int options_main(int argc, char *argv[])
{
	CLEANUP_FREE struct config *config = malloc(sizeof(*config));
	struct options options = {0};
	struct err err = {""};
	int r;

	if (!config)
		return EXIT_FAILED;
	r = parse_options(argc, argv, &options);
	if (r != 0)
		return r > 0 ? EXIT_DONE : EXIT_USAGE;
	r = load_config(&options, config, &err);
	if (r < 0 && options.verb == VERB_RESTORE)
		r = load_last_config(&options, config, &err) < 0 ? r : 0;
	if (r >= 0)
		r = run_verb(&options, &config, &err);
	if (r < 0)
		log_error("%s", err.msg[0] ? err.msg : strerror(-r));
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}
