/* SPDX-License-Identifier: MIT */
/* The only file that calls libvirt. Its default event loop runs in the thread. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/thread.h"
#include "base/xalloc.h"
#include "gover-fleet/claim/domains.h"
#include "gover-fleet/model/bell.h"
#include "gover-fleet/model/fleet-log.h"

#define REFRESH_NS   (60 * NS_PER_S)
#define LOOP_WAKE_MS 500 /* the loop checks at least this often whether it must end */
#define KEEPALIVE_S  5	 /* libvirtd that does not answer three of these is disconnected */
#define PAUSE_NS     (1 * NS_PER_S)
#define END_LIMIT_S  3

/*
 * Further readings after an event. When libvirt reports that a domain has left by a migration, it
 * still lists the domain, and it reports no later change.
 */
static const uint64_t again_after_ns[] = {1 * NS_PER_S, 4 * NS_PER_S};
#define AGAIN_MAX ARRAY_SIZE(again_after_ns)

struct domains {
	char *uri;
	void (*changed)(void *userdata);
	void *userdata;
	struct bell bell; /* ends a pause */
	pthread_t thread;
	pthread_mutex_t lock; /* guards @view */
	struct domains_view view;
	atomic_bool stale; /* the list must be read again */
	/* used by the thread only */
	virConnectPtr connection;
	bool lost;
	uint64_t read_ns;
	uint64_t event_ns; /* time of the last event */
	size_t n_again;	   /* readings of again_after_ns that were made since */
};

/* --- lists --- */

struct domain_list *domain_list_unref(struct domain_list *list)
{
	if (!list || atomic_fetch_sub(&list->references, 1) > 1)
		return NULL;
	free(list->domains);
	free(list);
	return NULL;
}

const struct domain *domain_list_find(const struct domain_list *list, const char *uuid)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->domains[i].uuid, uuid) == 0)
			return &list->domains[i];
	return NULL;
}

/* A domain whose XML cannot be read or parsed wants nothing; the next list tries again. */
static void read_wish(virDomainPtr handle, struct domain *domain)
{
	char *xml = virDomainGetXMLDesc(handle, 0);
	struct err err = {""};

	if (xml && domain_xml_parse(xml, strlen(xml), &domain->wish, &err) < 0)
		fleet_log_warning("domain %s: %s", domain->name, err.msg);
	free(xml);
}

static void read_domain(virDomainPtr handle, const struct domain_list *before,
			struct domain *domain)
{
	const struct domain *known;

	snprintf(domain->name, sizeof(domain->name), "%s", virDomainGetName(handle));
	if (virDomainGetUUIDString(handle, domain->uuid) < 0)
		domain->uuid[0] = '\0';
	domain->active = virDomainGetID(handle) != (unsigned int)-1;
	known = before ? domain_list_find(before, domain->uuid) : NULL;
	if (known && known->active && known->wish.uuid[0])
		domain->wish = known->wish;
	else if (domain->active)
		read_wish(handle, domain);
}

static struct domain_list *make_list(virDomainPtr *handles, int n, const struct domain_list *before)
{
	struct domain_list *list = xcalloc(1, sizeof(*list));

	atomic_init(&list->references, 1);
	list->domains = xcalloc((size_t)n + 1, sizeof(list->domains[0]));
	for (int i = 0; i < n; i++)
		read_domain(handles[i], before, &list->domains[list->n++]);
	return list;
}

/* Stores a new list. Returns -EIO if libvirt fails; the list then stays as it is. */
static int read_list(struct domains *d, bool whole)
{
	int64_t read_ms = clock_now().wall_ms;
	struct domain_list *list = NULL, *before = d->view.list;
	virDomainPtr *handles = NULL;
	int n;

	atomic_store(&d->stale, false);
	n = virConnectListAllDomains(d->connection, &handles, 0);
	if (n >= 0 && n <= DOMAINS_MAX)
		list = make_list(handles, n, whole ? NULL : before);
	for (int i = 0; i < n; i++)
		virDomainFree(handles[i]);
	free(handles);
	if (!list)
		return -EIO;
	list->read_ms = read_ms;
	d->read_ns = clock_now().mono_ns;
	pthread_mutex_lock(&d->lock);
	d->view.list = list;
	d->view.connected = true;
	d->view.problem[0] = '\0';
	pthread_mutex_unlock(&d->lock);
	domain_list_unref(before);
	d->changed(d->userdata);
	return 0;
}

/* --- callbacks of libvirt, in the thread --- */

static int on_life(virConnectPtr connection, virDomainPtr domain, int event, int detail,
		   void *userdata)
{
	struct domains *d = userdata;

	(void)connection, (void)domain, (void)event, (void)detail;
	d->event_ns = clock_now().mono_ns;
	d->n_again = 0;
	atomic_store(&d->stale, true);
	return 0;
}

static void on_close(virConnectPtr connection, int reason, void *userdata)
{
	struct domains *d = userdata;

	(void)connection, (void)reason;
	d->lost = true;
}

static void ignore_error(void *userdata, virErrorPtr error)
{
	(void)userdata, (void)error;
}

/* Its only purpose is that the loop returns. */
static void on_timeout(int timer, void *userdata)
{
	(void)timer, (void)userdata;
}

/* --- the connection --- */

static int connect_libvirt(struct domains *d)
{
	/* clang 19 warns about the direct cast in libvirt's macro, but not about this type. */
	void (*const callback)(void) = (void (*)(void))on_life;

	d->lost = false;
	d->n_again = AGAIN_MAX;
	d->connection = virConnectOpenReadOnly(d->uri);
	if (!d->connection)
		return -ENOTCONN;
	/* The test driver has neither. */
	(void)virConnectSetKeepAlive(d->connection, KEEPALIVE_S, 3);
	(void)virConnectRegisterCloseCallback(d->connection, on_close, d, NULL);
	if (virConnectDomainEventRegisterAny(d->connection, NULL, VIR_DOMAIN_EVENT_ID_LIFECYCLE,
					     VIR_DOMAIN_EVENT_CALLBACK(callback), d, NULL) < 0)
		return -EIO;
	return read_list(d, true);
}

static void disconnect_libvirt(struct domains *d)
{
	if (!d->connection)
		return;
	(void)virConnectUnregisterCloseCallback(d->connection, on_close);
	(void)virConnectClose(d->connection);
	d->connection = NULL;
}

static void store_problem(struct domains *d, const char *problem)
{
	bool is_new;

	pthread_mutex_lock(&d->lock);
	is_new = d->view.connected || strncmp(d->view.problem, problem, 60) != 0;
	d->view.connected = false;
	snprintf(d->view.problem, sizeof(d->view.problem), "%.255s", problem);
	pthread_mutex_unlock(&d->lock);
	if (is_new)
		fleet_log_warning("libvirt at %s: %s", d->uri, problem);
	d->changed(d->userdata);
}

/* Returns true once for each time of again_after_ns. */
static bool is_due_again(struct domains *d, uint64_t now_ns)
{
	if (d->n_again == AGAIN_MAX || now_ns - d->event_ns < again_after_ns[d->n_again])
		return false;
	d->n_again++;
	return true;
}

/* Returns when the connection is lost or the thread must end. */
static void watch(struct domains *d)
{
	int r = 0;

	fleet_log_notice("libvirt at %s: connected, %zu domains", d->uri, d->view.list->n);
	while (r >= 0 && !d->lost && !bell_stopped(&d->bell)) {
		uint64_t now_ns = clock_now().mono_ns;
		bool whole = now_ns - d->read_ns > REFRESH_NS;
		bool again = is_due_again(d, now_ns);

		r = atomic_load(&d->stale) || whole || again ? read_list(d, whole) : 0;
		if (r >= 0)
			r = virEventRunDefaultImpl();
	}
}

static void *run_domains(void *userdata)
{
	struct domains *d = userdata;

	virSetErrorFunc(NULL, ignore_error);
	if (virEventRegisterDefaultImpl() < 0 ||
	    virEventAddTimeout(LOOP_WAKE_MS, on_timeout, NULL, NULL) < 0) {
		store_problem(d, "event loop: cannot be started");
		return NULL;
	}
	while (!bell_stopped(&d->bell)) {
		bool connected = connect_libvirt(d) == 0;

		if (connected)
			watch(d);
		if (!bell_stopped(&d->bell))
			store_problem(d, connected ? "the connection was lost"
						   : virGetLastErrorMessage());
		disconnect_libvirt(d);
		(void)bell_wait(&d->bell, clock_now().mono_ns + PAUSE_NS);
	}
	return NULL;
}

/* --- life --- */

int domains_new(const char *uri, void (*changed)(void *userdata), void *userdata,
		struct domains **ret_domains, struct err *reterr)
{
	struct domains *d = xcalloc(1, sizeof(*d));
	int r;

	d->uri = xstrdup(uri);
	d->changed = changed;
	d->userdata = userdata;
	(void)pthread_mutex_init(&d->lock, NULL);
	bell_init(&d->bell);
	r = thread_start(&d->thread, run_domains, d, "fleet-libvirt");
	if (r < 0) {
		free(d->uri);
		free(d);
		return err_fail(reterr, -r, "libvirt: %s", strerror(-r));
	}
	*ret_domains = d;
	return 0;
}

bool domains_free(struct domains *d)
{
	struct timespec limit;

	if (!d)
		return true;
	bell_stop(&d->bell);
	(void)clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += END_LIMIT_S;
	if (pthread_timedjoin_np(d->thread, NULL, &limit) != 0)
		return false;
	domain_list_unref(d->view.list);
	bell_fini(&d->bell);
	(void)pthread_mutex_destroy(&d->lock);
	free(d->uri);
	free(d);
	return true;
}

void domains_refresh(struct domains *d)
{
	atomic_store(&d->stale, true);
}

void domains_view(struct domains *d, struct domains_view *ret_view)
{
	pthread_mutex_lock(&d->lock);
	*ret_view = d->view;
	if (ret_view->list)
		atomic_fetch_add(&ret_view->list->references, 1);
	pthread_mutex_unlock(&d->lock);
}

void domains_view_fini(struct domains_view *view)
{
	view->list = domain_list_unref(view->list);
}
