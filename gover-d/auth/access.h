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

/* What a principal may do, and what a route requires; each scope includes the ones before it. */
enum access_scope {
	ACCESS_NONE, /* no access; as the requirement of a route: refuse everybody */
	ACCESS_OPEN, /* only as a requirement: every caller */
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
	ACCESS_EXPIRED,	     /* known, but expired */
	ACCESS_BACK_OFF,     /* unknown, after too many failures from this address */
	ACCESS_TOO_MANY,     /* requests per second with this token, or from this address */
	ACCESS_FOREIGN_HOST, /* the Host header is not this host: a DNS rebinding attack */
};

#define ACCESS_NAME_MAX 80 /* "token " and a name */
#define ACCESS_FROM_MAX 64

struct principal {
	char name[ACCESS_NAME_MAX]; /* "root", "uid 1000", "token NAME", "anonymous"; "": unknown */
	char from[ACCESS_FROM_MAX]; /* "pid 4321", or an address */
	enum access_scope scope;
	enum access_fault fault;    /* where scope is ACCESS_NONE */
	unsigned int retry_after_s; /* with ACCESS_BACK_OFF and ACCESS_TOO_MANY */
};

#define ACCESS_NO_GROUP ((gid_t)-1)

struct access_rules {
	uid_t own_uid;		     /* user of the daemon */
	gid_t operate_gid, read_gid; /* ACCESS_NO_GROUP: none */
	bool anonymous_read;	     /* over TCP, on loopback */
};

/* 0, or the HTTP status of the refusal (401, 403, 429) with its message. */
unsigned int access_check(const struct principal *principal, enum access_scope wanted,
			  struct err *reterr);

/* The scope of a process connected to the unix socket. */
enum access_scope access_of_peer(const struct access_rules *rules, uid_t uid, gid_t gid,
				 const gid_t *groups, size_t n_groups);

/* "read", "operate", "admin", and the reverse; ACCESS_NONE: unknown name. */
const char *access_scope_name(enum access_scope scope);
enum access_scope access_scope_find(const char *name);

/* False for addresses that are neither IPv4 nor IPv6. */
bool access_is_loopback(const struct sockaddr *address);

/* True if the Host header names this host, or is missing (NULL). With DNS rebinding, a foreign web
 * page reaches the loopback address under its own host name. */
bool access_host_is_local(const char *host);

#endif
