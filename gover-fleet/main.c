/* SPDX-License-Identifier: MIT */
/*
 * The main thread only handles signals and the watchdog. Each other thread has one task and waits
 * for one peer, so that a peer that does not answer delays no other. All other code is in a
 * library, so that tests can link it.
 */
#include <curl/curl.h>
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/terminal/cmdline.h"
#include "base/xalloc.h"
#include "gover-fleet/claim/hook.h"
#include "gover-fleet/config/fleet-config.h"
#include "gover-fleet/model/fleet-log.h"
#include "gover-fleet/model/mapping.h"
#include "gover-fleet/publish.h"

/* limits of one request to the cloud */
#define PUBLISH_LIMIT_MS    5000
#define RECONCILER_LIMIT_MS 2000
#define MOVER_LIMIT_MS	    10000
#define WITHDRAW_LIMIT_MS   3000
/* A claim needs at most four requests to the cloud: half of the time is left for gover-d. */
#define HOOK_LIMIT_MS(timeout_s) ((timeout_s)*1000 / 8)

struct fleet {
	const struct fleet_config *config;
	sd_event *event;
	struct bell publish_bell, reconciler_bell;
	struct cloud *hook_cloud, *reconciler_cloud, *mover_cloud;
	struct follower *follower;
	struct domains *domains;
	struct reconciler *reconciler;
	struct hook_server *server;
	struct mover *mover;
	struct publish *publish;
};

/* --- signals --- */

static int on_reload(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
	(void)source, (void)info, (void)userdata;
	fleet_log_notice("SIGHUP is ignored: the configuration is read at the start only (run "
			 "`systemctl restart gover-fleet`)");
	return 0;
}

static int make_loop(struct fleet *fleet)
{
	static const int ignored[] = {SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE, SIGXFSZ};
	sigset_t signals;
	int r;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		if (signal(ignored[i], SIG_IGN) == SIG_ERR)
			return -errno;
	r = -pthread_sigmask(SIG_BLOCK, &signals, NULL);
	if (r >= 0)
		r = sd_event_new(&fleet->event);
	if (r >= 0)
		r = sd_event_add_signal(fleet->event, NULL, SIGTERM, NULL, NULL);
	if (r >= 0)
		r = sd_event_add_signal(fleet->event, NULL, SIGINT, NULL, NULL);
	if (r >= 0)
		r = sd_event_add_signal(fleet->event, NULL, SIGHUP, on_reload, NULL);
	if (r >= 0)
		r = sd_event_set_watchdog(fleet->event, 1);
	return r;
}

/* --- threads --- */

static void on_change(void *userdata)
{
	struct fleet *fleet = userdata;

	bell_ring(&fleet->publish_bell);
	bell_ring(&fleet->reconciler_bell);
}

static void on_count(void *userdata)
{
	struct fleet *fleet = userdata;

	bell_ring(&fleet->publish_bell);
}

/* Makes a claimer with a connection to the cloud of its own. */
static int make_claimer(struct fleet *fleet, int limit_ms, struct cloud **cloud,
			struct claimer **ret_claimer, struct err *reterr)
{
	int r = cloud_new(fleet->config, limit_ms, cloud, reterr);

	return r < 0 ? r
		     : claimer_new(fleet->config->gover_socket, cloud_placement(*cloud),
				   fleet->config->host, ret_claimer, reterr);
}

static int start_reconciler(struct fleet *fleet, struct err *reterr)
{
	/* A hook that was not answered in time has ended after this time. */
	int grace_s = 2 * fleet->config->hook_timeout_s;
	struct claimer *claimer;
	int r = make_claimer(fleet, RECONCILER_LIMIT_MS, &fleet->reconciler_cloud, &claimer,
			     reterr);

	if (r < 0)
		return r;
	r = domains_new(fleet->config->uri, on_change, fleet, &fleet->domains, reterr);
	if (r < 0) {
		claimer_free(claimer);
		return r;
	}
	return reconciler_new(fleet->domains, fleet->follower, claimer, &fleet->reconciler_bell,
			      grace_s, on_count, fleet, &fleet->reconciler, reterr);
}

static int start_server(struct fleet *fleet, struct err *reterr)
{
	struct claimer *claimer;
	int r = make_claimer(fleet, HOOK_LIMIT_MS(fleet->config->hook_timeout_s),
			     &fleet->hook_cloud, &claimer, reterr);

	return r < 0 ? r
		     : hook_server_new(fleet->config, claimer, on_count, fleet, &fleet->server,
				       reterr);
}

static void log_move(void *userdata, int priority, const char *vgpu, const char *text)
{
	const char level[] = {'<', (char)('0' + priority), '>', '\0'};

	(void)userdata;
	fleet_log_line(level, "%s%s%s%s", vgpu[0] ? "vGPU " : "", vgpu, vgpu[0] ? ": " : "", text);
}

static int start_mover(struct fleet *fleet, struct err *reterr)
{
	const struct mover_events events = {log_move, on_count, fleet};
	struct mover_config config = {
		.host = fleet->config->host,
		.gover_socket = fleet->config->gover_socket,
		.libvirt_uri = fleet->config->uri,
		.to_uri = fleet->config->to_uri,
	};
	int r;

	mover_config_default(&config);
	if (!mover_find_by(fleet->config->migrate_by, &config.by) || config.by == MOVER_NONE)
		return 0;
	r = cloud_new(fleet->config, MOVER_LIMIT_MS, &fleet->mover_cloud, reterr);
	return r < 0 ? r
		     : mover_new(&config, cloud_keystone(fleet->mover_cloud), &events,
				 &fleet->mover, reterr);
}

static int start(struct fleet *fleet, struct err *reterr)
{
	struct publish_parts parts = {.config = fleet->config, .bell = &fleet->publish_bell};
	struct cloud *cloud;
	int r = start_server(fleet, reterr);

	if (r == 0)
		r = follower_new(fleet->config->gover_socket, on_change, fleet, &fleet->follower,
				 reterr);
	if (r == 0 && fleet->config->uri[0])
		r = start_reconciler(fleet, reterr);
	if (r == 0)
		r = start_mover(fleet, reterr);
	if (r == 0)
		r = cloud_new(fleet->config, PUBLISH_LIMIT_MS, &cloud, reterr);
	if (r < 0)
		return r;
	parts.follower = fleet->follower;
	parts.domains = fleet->domains;
	parts.reconciler = fleet->reconciler;
	parts.server = fleet->server;
	parts.mover = fleet->mover;
	return publish_new(&parts, cloud, &fleet->publish, reterr);
}

/* @result and @err: of the daemon. If libvirt does not return, the process ends here. */
static void stop(struct fleet *fleet, int result, const struct err *err)
{
	publish_free(fleet->publish);
	mover_free(fleet->mover);
	hook_server_free(fleet->server);
	reconciler_free(fleet->reconciler);
	follower_free(fleet->follower);
	if (!domains_free(fleet->domains)) {
		fleet_log_warning("libvirt does not return: ending without it");
		if (result < 0)
			fleet_log_error("%s", err->msg);
		_exit(result < 0);
	}
	cloud_free(fleet->reconciler_cloud);
	cloud_free(fleet->hook_cloud);
	cloud_free(fleet->mover_cloud);
	bell_fini(&fleet->publish_bell);
	bell_fini(&fleet->reconciler_bell);
	sd_event_unref(fleet->event);
}

/*
 * Runs until SIGTERM or SIGINT. Returns 0, or a negative errno with a message. Does not return if a
 * thread cannot be ended, because libvirt does not return: the process then ends, with status 1 and
 * the message in the log after an error.
 */
static int run_daemon(const struct fleet_config *config, struct err *reterr)
{
	struct fleet fleet = {.config = config};
	int r;

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0)
		return err_fail(reterr, ENOMEM, "libcurl: initialisation failed");
	bell_init(&fleet.publish_bell);
	bell_init(&fleet.reconciler_bell);
	r = make_loop(&fleet);
	if (r < 0)
		(void)err_fail(reterr, -r, "event loop: %s", strerror(-r));
	else
		r = start(&fleet, reterr);
	if (r == 0) {
		(void)sd_notifyf(0, "READY=1\nSTATUS=cloud %s", config->cloud.kind);
		fleet_log_notice("ready on %s, cloud %s", config->hook_socket, config->cloud.kind);
		r = sd_event_loop(fleet.event);
		if (r < 0)
			(void)err_fail(reterr, -r, "event loop: %s", strerror(-r));
		(void)sd_notify(0, "STOPPING=1");
		fleet_log_notice("stopping; the contracts stay");
	}
	stop(&fleet, r, reterr);
	return r;
}

/* --- withdrawal --- */

/* Publishes the contracts without offers, if gover-d answers. */
static int withdraw(struct cloud *cloud, struct client *client, struct err *reterr)
{
	struct report report = {.problem = ""};
	struct host_state *state = NULL;
	struct wanted wanted;

	if (follower_read(client, &state, reterr) < 0)
		return cloud_withdraw(cloud, reterr);
	(void)mapping_want(state, false, 0, &wanted);
	host_state_unref(state);
	(void)cloud_publish(cloud, &wanted, &report);
	return report.cloud == REPORT_UNREACHABLE ? err_fail(reterr, EIO, "%s", report.problem) : 0;
}

/*
 * Withdraws all offers of this host from the cloud, and reports this to gover-d. For the time in
 * which no gover-fleet runs; the contracts stay.
 */
static int run_withdrawal(const struct fleet_config *config, struct err *reterr)
{
	const struct report report = {.cloud = REPORT_WITHDRAWN};
	struct client *client = NULL;
	struct cloud *cloud = NULL;
	struct err err; /* not used: the withdrawal succeeds even if gover-d does not answer */
	int r = client_new(config->gover_socket, NULL, &client, reterr);

	if (r < 0)
		return r;
	client_set_timeout(client, WITHDRAW_LIMIT_MS);
	r = cloud_new(config, WITHDRAW_LIMIT_MS, &cloud, reterr);
	if (r == 0 && cloud)
		r = withdraw(cloud, client, reterr);
	if (r == 0)
		(void)fleet_report_send(client, &report, &err);
	cloud_free(cloud);
	client_free(client);
	return r;
}

/* --- options --- */

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = CMDLINE_USAGE };

/* After --hook come the arguments of libvirt. */
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
		return run_withdrawal(config, reterr);
	case VERB_RUN:
	case VERB_HOOK:
		break;
	}
	return run_daemon(config, reterr);
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
