/* SPDX-License-Identifier: MIT */
/* Creates the parts of the daemon in order, connects them, and frees them in reverse. */
#include <errno.h>
#include <stdlib.h>
#include <systemd/sd-daemon.h>

#include "base/xalloc.h"
#include "gover-d/api/api.h"
#include "gover-d/auth/authn.h"
#include "gover-d/auth/tls.h"
#include "gover-d/core/manager.h"
#include "gover-d/core/view.h"
#include "gover-d/daemon.h"
#include "gover-d/http/http.h"

struct daemon {
	struct manager *manager;
	struct authn *authn;
	struct api *api;
	struct http *http;
};

static void tick_authn(void *userdata, const struct host *host, bool gap, struct instant now)
{
	struct daemon *d = userdata;

	(void)host, (void)gap;
	authn_tick(d->authn, manager_view(d->manager)->queries, now.mono_ns);
}

static void hold_authn_conditions(void *userdata, struct alerts *alerts, struct instant now)
{
	const struct daemon *d = userdata;
	const struct tls *tls = authn_tls(d->authn);
	const char *tokens = authn_tokens_problem(d->authn);
	const char *certificate = tls ? tls_problem(tls) : NULL;

	if (tokens)
		alerts_hold(alerts, ALERT_TOKENS_UNREADABLE, NULL, NULL, now.wall_ms,
			    "%s: all tokens are invalid until the file is repaired or removed",
			    tokens);
	if (certificate)
		alerts_hold(alerts, ALERT_CERTIFICATE_UNREADABLE, NULL, NULL, now.wall_ms,
			    "the previous certificate stays in use: %s", certificate);
}

static const struct observer authn_observer = {
	.conditions = hold_authn_conditions,
	.tick = tick_authn,
};

static int make_api(struct daemon *d, struct err *reterr)
{
	d->authn = authn_new();
	d->api = api_new(d->manager, manager_view(d->manager), d->authn);
	if (!d->api || manager_observe(d->manager, &authn_observer, d) < 0 ||
	    manager_observe(d->manager, &api_observer, d->api) < 0)
		return err_fail(reterr, EIO, "the API cannot be created");
	return 0;
}

/*
 * Gives the next step of the start the time of TimeoutStartSec in gover-d.service. A step that
 * takes longer counts as hung.
 */
#define START_STEP_US 6000000

static void begin_step(void)
{
	(void)sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%d", START_STEP_US);
}

/* Opens the sockets before the GPUs, so that a second daemon fails before it accesses a vGPU. */
static int start(struct daemon *d, const struct config *config, bool dry_run, struct err *reterr)
{
	const struct config *in_force;
	int r;

	begin_step();
	r = manager_new(config, dry_run, &d->manager, reterr);
	if (r >= 0)
		r = make_api(d, reterr);
	if (r < 0)
		return r;
	begin_step();
	in_force = manager_view(d->manager)->config;
	r = authn_open(d->authn, in_force, reterr);
	if (r >= 0)
		r = http_new(manager_event(d->manager), in_force->socket, in_force->listen, d->api,
			     d->authn, &d->http, reterr);
	if (r < 0)
		return r;
	begin_step();
	return manager_start(d->manager, reterr);
}

int daemon_new(const struct config *config, bool dry_run, struct daemon **ret_daemon,
	       struct err *reterr)
{
	struct daemon *d = xcalloc(1, sizeof(*d));
	int r;

	r = start(d, config, dry_run, reterr);
	if (r < 0) {
		daemon_free(d);
		return r;
	}
	*ret_daemon = d;
	return 0;
}

int daemon_run(struct daemon *d)
{
	return manager_run(d->manager);
}

struct daemon *daemon_free(struct daemon *d)
{
	if (!d)
		return NULL;
	if (d->manager)
		/* Stop the core before api and http are freed: deferred replies need both. */
		manager_stop(d->manager);
	http_free(d->http);
	api_free(d->api);
	authn_free(d->authn);
	manager_free(d->manager);
	free(d);
	return NULL;
}
