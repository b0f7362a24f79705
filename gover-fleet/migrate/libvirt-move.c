/* SPDX-License-Identifier: MIT */
/*
 * virDomainMigrateToURI3() blocks until the migration has ended. A second thread ends it at its
 * time limit or when the process stops, because libvirt permits an abort of the job from any
 * thread.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>

#include "base/thread.h"
#include "base/xalloc.h"
#include "gover-fleet/migrate/libvirt-move.h"
#include "gover-fleet/migrate/nova.h"

/* An abort before the job has begun has no effect, so it is repeated. */
#define ABORT_AGAIN_MS 200

struct libvirt_move {
	const char *uri, *to_uri;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool stopped;	     /* by libvirt_move_stop() */
	bool running;	     /* virDomainMigrateToURI3() has not returned yet */
	bool aborted;	     /* by the time limit or by libvirt_move_stop() */
	virDomainPtr domain; /* NULL: no migration in progress */
	struct timespec limit;
};

struct libvirt_move *libvirt_move_new(const char *uri, const char *to_uri)
{
	struct libvirt_move *move = xcalloc(1, sizeof(*move));
	pthread_condattr_t attr;

	move->uri = uri;
	move->to_uri = to_uri;
	pthread_mutex_init(&move->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&move->changed, &attr);
	pthread_condattr_destroy(&attr);
	return move;
}

struct libvirt_move *libvirt_move_free(struct libvirt_move *move)
{
	if (!move)
		return NULL;
	pthread_cond_destroy(&move->changed);
	pthread_mutex_destroy(&move->lock);
	free(move);
	return NULL;
}

void libvirt_move_stop(struct libvirt_move *move)
{
	pthread_mutex_lock(&move->lock);
	move->stopped = true;
	pthread_cond_broadcast(&move->changed);
	pthread_mutex_unlock(&move->lock);
}

static void add_ms(struct timespec *time, long ms)
{
	time->tv_sec += ms / 1000;
	time->tv_nsec += ms % 1000 * 1000000;
	if (time->tv_nsec >= 1000000000) {
		time->tv_nsec -= 1000000000;
		time->tv_sec++;
	}
}

/* Waits for the end of the migration, its limit or a stop, and then aborts it until it ends. */
static void *watch(void *userdata)
{
	struct libvirt_move *move = userdata;
	struct timespec until = move->limit;

	pthread_mutex_lock(&move->lock);
	while (move->running) {
		int r = move->stopped && !move->aborted
				? 0
				: pthread_cond_timedwait(&move->changed, &move->lock, &until);

		if (!move->running || (r != ETIMEDOUT && !move->stopped))
			continue;
		move->aborted = true;
		pthread_mutex_unlock(&move->lock);
		(void)virDomainAbortJob(move->domain);
		pthread_mutex_lock(&move->lock);
		clock_gettime(CLOCK_MONOTONIC, &until);
		add_ms(&until, ABORT_AGAIN_MS);
	}
	pthread_mutex_unlock(&move->lock);
	return NULL;
}

static virDomainPtr find_domain(virConnectPtr connection, const char *vm)
{
	return nova_is_uuid(vm) ? virDomainLookupByUUIDString(connection, vm)
				: virDomainLookupByName(connection, vm);
}

static int migrate(struct libvirt_move *move)
{
	unsigned int flags = VIR_MIGRATE_LIVE | VIR_MIGRATE_PEER2PEER | VIR_MIGRATE_AUTO_CONVERGE |
			     VIR_MIGRATE_ABORT_ON_ERROR;

	/* A transient machine is transient there too. */
	if (virDomainIsPersistent(move->domain) == 1)
		flags |= VIR_MIGRATE_PERSIST_DEST | VIR_MIGRATE_UNDEFINE_SOURCE;
	return virDomainMigrateToURI3(move->domain, move->to_uri, NULL, 0, flags);
}

static int run_watched(struct libvirt_move *move, const char *vm, int limit_s, struct err *reterr)
{
	pthread_t watcher;
	bool aborted;
	int r;

	clock_gettime(CLOCK_MONOTONIC, &move->limit);
	move->limit.tv_sec += limit_s;
	move->running = true;
	move->aborted = false;
	r = thread_start(&watcher, watch, move, "libvirt-limit");
	if (r < 0)
		return err_fail(reterr, -r, "the thread of the time limit did not start");
	r = migrate(move);
	if (r < 0)
		(void)err_fail(reterr, 0, "libvirt did not migrate %s to %s: %s", vm, move->to_uri,
			       virGetLastErrorMessage());
	pthread_mutex_lock(&move->lock);
	move->running = false;
	aborted = move->aborted;
	pthread_cond_broadcast(&move->changed);
	pthread_mutex_unlock(&move->lock);
	pthread_join(watcher, NULL);
	if (r < 0 && aborted)
		return err_fail(reterr, ECANCELED,
				"the migration of %s was aborted (time limit %d s)", vm, limit_s);
	return r < 0 ? -EIO : 0;
}

int libvirt_move_run(struct libvirt_move *move, const char *vm, int limit_s, struct err *reterr)
{
	virConnectPtr connection = virConnectOpen(move->uri);
	int r;

	if (!connection)
		return err_condition(reterr, LIBVIRT_MOVE_REFUSED, "libvirt at %s: %s", move->uri,
				     virGetLastErrorMessage());
	move->domain = find_domain(connection, vm);
	if (!move->domain) {
		r = err_condition(reterr, LIBVIRT_MOVE_REFUSED, "libvirt has no machine %s: %s", vm,
				  virGetLastErrorMessage());
	} else {
		r = run_watched(move, vm, limit_s, reterr);
		virDomainFree(move->domain);
		move->domain = NULL;
	}
	virConnectClose(connection);
	return r;
}

/* Returns -EIO if libvirt does not answer. */
static int find_place(virDomainPtr domain, enum libvirt_place *ret_place)
{
	virDomainJobInfo job = {.type = VIR_DOMAIN_JOB_NONE};
	int active = virDomainIsActive(domain);

	/* A driver without jobs has no migrations. */
	if (active < 0 || (active && virDomainGetJobInfo(domain, &job) < 0 &&
			   virGetLastErrorCode() != VIR_ERR_NO_SUPPORT))
		return -EIO;
	if (!active)
		*ret_place = LIBVIRT_GONE;
	else
		*ret_place = job.type == VIR_DOMAIN_JOB_NONE ? LIBVIRT_HERE : LIBVIRT_LEAVING;
	return 0;
}

int libvirt_move_look(struct libvirt_move *move, const char *vm, enum libvirt_place *ret_place,
		      struct err *reterr)
{
	virConnectPtr connection = virConnectOpen(move->uri);
	virDomainPtr domain = connection ? find_domain(connection, vm) : NULL;
	int r = -EIO;

	if (domain) {
		r = find_place(domain, ret_place);
	} else if (connection && virGetLastErrorCode() == VIR_ERR_NO_DOMAIN) {
		*ret_place = LIBVIRT_GONE;
		r = 0;
	}
	if (r < 0)
		(void)err_fail(reterr, EIO, "libvirt at %s: %s", move->uri,
			       virGetLastErrorMessage());
	if (domain)
		virDomainFree(domain);
	if (connection)
		virConnectClose(connection);
	return r;
}
