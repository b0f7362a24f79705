/* SPDX-License-Identifier: MIT */
/*
 * Authorisation: principals, their scopes, and the scopes that routes require. Pure: no socket,
 * file or clock.
 */
#ifndef GOVER_D_AUTH_ACCESS_H
#define GOVER_D_AUTH_ACCESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * The scope of a principal or of a route. A principal with a scope also has the rights of all
 * scopes listed before it.
 */
enum access_scope {
	ACCESS_NONE, /* the principal has no access; the route refuses every caller */
	ACCESS_OPEN, /* only for routes: every caller is accepted */
	ACCESS_READ,
	ACCESS_OPERATE, /* permits changes of contracts, offers, alerts, GPUs and the policy */
	ACCESS_ADMIN,	/* permits management of tokens and reading of the audit log */
};

/* Reasons why a principal has no access. */
enum access_fault {
	ACCESS_NO_FAULT,
	ACCESS_NOT_IN_GROUP, /* unix socket: the user is in no group of [access] */
	ACCESS_NO_TOKEN,     /* TCP: the request has no token */
	ACCESS_BAD_TOKEN,    /* the token is unknown or revoked */
	ACCESS_EXPIRED,	     /* the token has expired */
	/* the token is unknown, and its address is blocked after too many invalid tokens */
	ACCESS_BACK_OFF,
	ACCESS_TOO_MANY, /* this token, client or address has sent too many requests in this second
			  */
	/* the Host header names another host: possibly a DNS rebinding attack */
	ACCESS_FOREIGN_HOST,
	ACCESS_BAD_CERTIFICATE, /* the client certificate is expired or not trusted */
	ACCESS_UNKNOWN_SUBJECT, /* no section [client NAME] has the subject of the certificate */
	/* the request comes from a page of another origin, for which a browser sent a certificate
	 */
	ACCESS_FOREIGN_ORIGIN,
};

#define ACCESS_NAME_MAX	 80 /* size of principal.name; the longest name is "client NAME" */
#define ACCESS_FROM_MAX	 64
#define ACCESS_GROUP_MAX 64

struct access_rules;
struct users;

struct principal {
	/*
	 * name of the caller: "root", "uid 1000", "token NAME", "client NAME" or "anonymous"; "":
	 * unknown
	 */
	char name[ACCESS_NAME_MAX];
	char from[ACCESS_FROM_MAX]; /* origin of the request: "pid 4321" or an IP address */
	enum access_scope scope;
	/* why the caller has no access; set if @scope is ACCESS_NONE */
	enum access_fault fault;
	/* seconds after which the caller may retry; set with ACCESS_BACK_OFF and ACCESS_TOO_MANY */
	unsigned int retry_after_s;
	/*
	 * A caller on the unix socket: its user id, and the rules, for the message of a refusal.
	 * Otherwise @rules is NULL.
	 */
	uid_t uid;
	const struct access_rules *rules;
	/*
	 * A caller with a trusted client certificate: its subject, valid as long as the connection,
	 * the time at which it expires, and tls_generation(). Otherwise @subject is NULL.
	 */
	const char *subject;
	int64_t expires_s;
	unsigned int tls_generation;
};

#define ACCESS_NO_GROUP ((gid_t)-1)

struct access_rules {
	uid_t own_uid;	   /* user id of the daemon */
	gid_t operate_gid; /* group with scope operate; ACCESS_NO_GROUP: no group */
	gid_t read_gid;	   /* group with scope read; ACCESS_NO_GROUP: no group */
	/* names of these groups; "": no group is configured */
	char operate_group[ACCESS_GROUP_MAX], read_group[ACCESS_GROUP_MAX];
	struct users *users; /* names of users; NULL: unknown */
	bool anonymous_read; /* callers on loopback may read without a token */
};

/* Returns the scope that a user with these groups has on the unix socket. */
enum access_scope access_of_peer(const struct access_rules *rules, uid_t uid, gid_t gid,
				 const gid_t *groups, size_t n_groups);

/*
 * Convert a scope to its name ("read", "operate" or "admin") and a name to its scope. An unknown
 * name gives ACCESS_NONE.
 */
const char *access_scope_name(enum access_scope scope);
enum access_scope access_scope_find(const char *name);

/* Returns true for a loopback address; false for addresses that are neither IPv4 nor IPv6. */
bool access_is_loopback(const struct sockaddr *address);

/*
 * Returns true if the Host header @host names localhost or a loopback address, or if the header is
 * missing (NULL). In a DNS rebinding attack, a foreign web page sends requests to the loopback
 * address with the host name of that web page.
 */
bool access_host_is_local(const char *host);

/*
 * Returns true if the Origin header @origin names the host of the Host header, over https. A
 * browser sends a client certificate also with the requests that another web page makes, and names
 * that page in @origin. Both may be NULL; other programs send no Origin header.
 */
bool access_origin_is_own(const char *origin, const char *host);

/*
 * Returns 0 if the scope of @principal is sufficient for @wanted, otherwise the HTTP status of the
 * refusal (401, 403, 429) with a message. The message names the caller and the command that grants
 * the scope. @request is a method and a path, for the message.
 */
unsigned int access_check(const struct principal *principal, enum access_scope wanted,
			  const char *request, struct err *reterr);

#endif
