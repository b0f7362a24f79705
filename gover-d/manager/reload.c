/* SPDX-License-Identifier: MIT */
/* Reads the configuration in a job of the worker, and applies it in the event loop. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <systemd/sd-daemon.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "gover-d/manager/reload.h"
#include "gover-d/util/log.h"

#define RETRY_US 100000

struct reload {
	sd_event_source *source;
	struct worker *worker;
	struct changes *changes;
	const struct reload_calls *calls;
	void *userdata;
	bool running; /* a job runs, or its change is being stored */
	bool again;   /* SIGHUP came meanwhile */
	sd_event_source *retry;
};

struct read_job {
	struct worker_job job; /* must be the first member */
	struct reload *reload;
	struct config config;
	int result;
	struct err err;
};

static void begin(struct reload *reload);

static void end(struct reload *reload)
{
	reload->running = false;
	reload->calls->ended(reload->userdata);
	if (reload->again)
		begin(reload);
	else
		(void)sd_notify(0, "READY=1");
}

static void run_read(struct worker_job *job)
{
	struct read_job *read = (struct read_job *)job;

	read->result = read->reload->calls->read(read->reload->userdata, &read->config, &read->err);
}

static void on_applied(void *userdata, int result, const struct err *err)
{
	if (result != 0 && result != -ESHUTDOWN)
		log_error("the configuration was not reloaded: %s", err->msg);
	end(userdata);
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata)
{
	(void)source, (void)usec;
	begin(userdata);
	return 0;
}

/* Reads the files again later, because a change of the policy is in progress. */
static int try_later(struct reload *reload)
{
	int r = sd_event_source_set_time_relative(reload->retry, RETRY_US);

	return r < 0 ? r : sd_event_source_set_enabled(reload->retry, SD_EVENT_ONESHOT);
}

static void on_read(struct worker_job *job)
{
	struct read_job *read = (struct read_job *)job;
	const struct change_done done = {.call = on_applied, .userdata = read->reload};
	struct reload *reload = read->reload;
	int r = read->result;

	if (r == 0)
		r = control_reload(reload->changes, &read->config, done, &read->err);
	if (r == -EBUSY && try_later(reload) >= 0)
		r = 0;
	if (r != 0)
		on_applied(reload, r, &read->err);
	free(read);
}

static void begin(struct reload *reload)
{
	struct read_job *read = xcalloc(1, sizeof(*read));
	int r;

	reload->running = true;
	reload->again = false;
	read->job.run = run_read;
	read->job.done = on_read;
	read->reload = reload;
	r = worker_submit(reload->worker, &read->job);
	if (r == 0)
		return;
	read->result = err_fail(&read->err, -r, "too many requests are waiting for the disk");
	on_read(&read->job);
}

static int on_hangup(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata)
{
	struct reload *reload = userdata;

	(void)source, (void)si;
	(void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock_now().mono_ns / 1000);
	if (reload->running)
		reload->again = true;
	else
		begin(reload);
	return 0;
}

int reload_new(sd_event *event, struct worker *worker, struct changes *changes,
	       const struct reload_calls *calls, void *userdata, struct reload **ret_reload)
{
	struct reload *reload = xcalloc(1, sizeof(*reload));
	int r;

	reload->worker = worker;
	reload->changes = changes;
	reload->calls = calls;
	reload->userdata = userdata;
	r = sd_event_add_signal(event, &reload->source, SIGHUP, on_hangup, reload);
	if (r >= 0)
		r = sd_event_add_time_relative(event, &reload->retry, CLOCK_MONOTONIC, RETRY_US, 0,
					       on_retry, reload);
	if (r >= 0)
		r = sd_event_source_set_enabled(reload->retry, SD_EVENT_OFF);
	if (r < 0) {
		reload_free(reload);
		return r;
	}
	*ret_reload = reload;
	return 0;
}

struct reload *reload_free(struct reload *reload)
{
	if (reload) {
		sd_event_source_disable_unref(reload->source);
		sd_event_source_disable_unref(reload->retry);
	}
	free(reload);
	return NULL;
}
