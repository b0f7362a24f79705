/* SPDX-License-Identifier: MIT */
/*
 * Authorisation: compares the scope of a principal with the scope that a route requires. Pure: no
 * socket, file or clock.
 */
#ifndef GOVER_D_AUTH_ACCESS_H
#define GOVER_D_AUTH_ACCESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * The scope of a principal, and the scope that a route requires. Each scope includes the scopes
 * before it.
 */
enum access_scope {
	ACCESS_NONE, /* principal: no access; route: every caller is refused */
	ACCESS_OPEN, /* route only: every caller is accepted */
	ACCESS_READ,
	ACCESS_OPERATE, /* changes contracts, offers, alerts, GPUs and the policy */
	ACCESS_ADMIN,	/* manages tokens and reads the audit */
};

/* Why a principal has no access. */
enum access_fault {
	ACCESS_NO_FAULT,
	ACCESS_NOT_IN_GROUP, /* unix socket: the user is in neither group */
	ACCESS_NO_TOKEN,     /* TCP: the request has no token */
	ACCESS_BAD_TOKEN,    /* unknown */
	ACCESS_EXPIRED,	     /* the token is known, but expired */
	/* the token is unknown, and the address is blocked after too many failures */
	ACCESS_BACK_OFF,
	ACCESS_TOO_MANY,     /* too many requests per second with this token or from this address */
	ACCESS_FOREIGN_HOST, /* the Host header is not this host: a DNS rebinding attack */
};

#define ACCESS_NAME_MAX 80 /* size of "token " and a name */
#define ACCESS_FROM_MAX 64

struct principal {
	char name[ACCESS_NAME_MAX]; /* "root", "uid 1000", "token NAME", "anonymous"; "": unknown */
	char from[ACCESS_FROM_MAX]; /* "pid 4321", or an address */
	enum access_scope scope;
	enum access_fault fault;    /* reason, if scope is ACCESS_NONE */
	unsigned int retry_after_s; /* set with ACCESS_BACK_OFF and ACCESS_TOO_MANY */
};

#define ACCESS_NO_GROUP ((gid_t)-1)

struct access_rules {
	uid_t own_uid;		     /* user id of the daemon */
	gid_t operate_gid, read_gid; /* ACCESS_NO_GROUP: no group has this scope */
	bool anonymous_read;	     /* read without a token, over TCP on loopback */
};

/*
 * Returns 0 if the scope of @principal is sufficient for @wanted, otherwise the HTTP status of the
 * refusal (401, 403, 429) with a message.
 */
unsigned int access_check(const struct principal *principal, enum access_scope wanted,
			  struct err *reterr);

/* Returns the scope of a process that is connected to the unix socket. */
enum access_scope access_of_peer(const struct access_rules *rules, uid_t uid, gid_t gid,
				 const gid_t *groups, size_t n_groups);

/*
 * Map scopes to the names "read", "operate" and "admin", and names to scopes. An unknown name is
 * ACCESS_NONE.
 */
const char *access_scope_name(enum access_scope scope);
enum access_scope access_scope_find(const char *name);

/* Returns true for a loopback address; false for addresses that are neither IPv4 nor IPv6. */
bool access_is_loopback(const struct sockaddr *address);

/*
 * Returns true if the Host header contains a name of this host, or is missing (NULL). In a DNS
 * rebinding attack, a foreign web page sends requests to the loopback address under the host name
 * of that web page.
 */
bool access_host_is_local(const char *host);

#endif
