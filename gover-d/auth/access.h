/* SPDX-License-Identifier: MIT */
/*
 * Who may do what. Pure: what is known of a caller and what a route wants go in, yes or the status
 * of a refusal with its sentence comes out. Must never look at a socket, a file or a clock.
 */
#ifndef GOVER_D_AUTH_ACCESS_H
#define GOVER_D_AUTH_ACCESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* What somebody may do, and what a route wants; each holds those before it. */
enum access_scope {
	ACCESS_NONE, /* may nothing. A route that wants this was forgotten: nobody has it */
	ACCESS_OPEN, /* wanted only: whoever can connect */
	ACCESS_READ,
	ACCESS_OPERATE, /* changes contracts, offers, alerts, GPUs and the policy */
	ACCESS_ADMIN,	/* says who may do what, and sees who did what */
};

/* Why a caller may nothing. */
enum access_fault {
	ACCESS_NO_FAULT,
	ACCESS_NOT_IN_GROUP, /* of the unix socket, in neither group */
	ACCESS_NO_TOKEN,     /* TCP, and it named none */
	ACCESS_BAD_TOKEN,    /* nobody's */
	ACCESS_EXPIRED,	     /* one that was good until lately */
	ACCESS_BACK_OFF,     /* nobody's, and too many such came from this address */
	ACCESS_TOO_MANY,     /* requests with this token, or from this address */
	ACCESS_FOREIGN_HOST, /* a web page of somewhere else that asks as if it were from here */
};

#define ACCESS_NAME_MAX 80 /* "token " and a name */
#define ACCESS_FROM_MAX 64

struct principal {
	char name[ACCESS_NAME_MAX]; /* "root", "uid 1000", "token NAME", "anonymous"; "": nobody */
	char from[ACCESS_FROM_MAX]; /* "pid 4321", or an address */
	enum access_scope scope;
	enum access_fault fault;    /* where scope is ACCESS_NONE */
	unsigned int retry_after_s; /* of ACCESS_BACK_OFF and ACCESS_TOO_MANY */
};

#define ACCESS_NO_GROUP ((gid_t)-1)

struct access_rules {
	uid_t own_uid;		     /* of the daemon */
	gid_t operate_gid, read_gid; /* ACCESS_NO_GROUP: there is none */
	bool anonymous_read;	     /* over TCP, on loopback */
};

/* 0, or the status of the refusal (401, 403, 429) with its sentence. */
unsigned int access_check(const struct principal *principal, enum access_scope wanted,
			  struct err *reterr);

/* What a process at the other end of the unix socket may do. */
enum access_scope access_of_peer(const struct access_rules *rules, uid_t uid, gid_t gid,
				 const gid_t *groups, size_t n_groups);

/* "read", "operate", "admin"; and back: ACCESS_NONE where it is none of them. */
const char *access_scope_name(enum access_scope scope);
enum access_scope access_scope_find(const char *name);

/* Is the address on this host alone? What is neither IPv4 nor IPv6 is not. */
bool access_is_loopback(const struct sockaddr *address);

/*
 * Does the Host header of a request over loopback name this host? A page of somewhere else whose
 * name was made to lead here names that. NULL, no header, does.
 */
bool access_host_is_local(const char *host);

#endif
