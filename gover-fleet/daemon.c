/* SPDX-License-Identifier: MIT */
/*
 * The main thread only handles signals and the watchdog. Each other thread has one task and waits
 * for one peer, so that a peer that does not answer delays no other.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <curl/curl.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "gover-fleet/daemon.h"
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
	sigset_t signals;
	int r;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
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

int fleet_daemon_run(const struct fleet_config *config, struct err *reterr)
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

static void report_withdrawal(struct client *client)
{
	const struct report report = {.cloud = REPORT_WITHDRAWN};
	struct err err;

	(void)fleet_report_send(client, &report, &err);
}

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

int fleet_daemon_withdraw(const struct fleet_config *config, struct err *reterr)
{
	struct client *client = NULL;
	struct cloud *cloud = NULL;
	int r = client_new(config->gover_socket, NULL, &client, reterr);

	if (r < 0)
		return r;
	client_set_timeout(client, WITHDRAW_LIMIT_MS);
	r = cloud_new(config, WITHDRAW_LIMIT_MS, &cloud, reterr);
	if (r == 0 && cloud)
		r = withdraw(cloud, client, reterr);
	if (r == 0)
		report_withdrawal(client);
	cloud_free(cloud);
	client_free(client);
	return r;
}
