/* SPDX-License-Identifier: MIT */
/*
 * Watches the domains of libvirt in a thread. The list is read at each connection, after each event
 * about the life of a domain, and once a minute, so that a missed event loses nothing. Only this
 * thread calls libvirt; it connects again if libvirtd ends.
 */
#ifndef GOVER_FLEET_CLAIM_DOMAINS_H
#define GOVER_FLEET_CLAIM_DOMAINS_H

#include <stdatomic.h>

#include "gover-fleet/model/domain-xml.h"

#define DOMAINS_MAX 4096

struct domain {
	char uuid[HOST_STATE_UUID_MAX], name[HOST_STATE_NAME_MAX];
	bool active;		 /* runs, or is being started or ended */
	struct domain_wish wish; /* of an active domain whose XML could be read */
};

/* All domains that libvirt knows, active or defined, at one time. Does not change. */
struct domain_list {
	atomic_int references;
	int64_t read_ms; /* wall clock before libvirt was asked */
	struct domain *domains;
	size_t n;
};
struct domain_list *domain_list_unref(struct domain_list *list); /* accepts NULL; returns NULL */

const struct domain *domain_list_find(const struct domain_list *list, const char *uuid);

struct domains;

struct domains_view {
	struct domain_list *list; /* a reference; NULL: libvirt has not answered yet */
	bool connected;
	char problem[256]; /* why libvirt does not answer; "" if connected */
};

/* Starts the thread. @changed is called in it after each new list and each lost connection. */
int domains_new(const char *uri, void (*changed)(void *userdata), void *userdata,
		struct domains **ret_domains, struct err *reterr);
/*
 * Ends the thread. Returns false if libvirt did not return within 3 s: the thread then still uses
 * @domains, which is not freed, and the process must end. Accepts NULL.
 */
bool domains_free(struct domains *domains);

/* Reads the list again within half a second. */
void domains_refresh(struct domains *domains);

/* The caller frees the view with domains_view_fini(). */
void domains_view(struct domains *domains, struct domains_view *ret_view);
void domains_view_fini(struct domains_view *view);

#endif
