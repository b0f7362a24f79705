/* SPDX-License-Identifier: MIT */
/*
 * Scopes of users and their names, what an address discloses about a caller, and the messages of
 * refused requests.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "gover-d/auth/access.h"
#include "gover-d/auth/users.h"
#include "gover-d/config/config.h"

#define WORDS_MAX 512

static const char *const scope_names[] = {
	[ACCESS_NONE] = "none",	      [ACCESS_OPEN] = "open",	[ACCESS_READ] = "read",
	[ACCESS_OPERATE] = "operate", [ACCESS_ADMIN] = "admin",
};

static bool is_in(gid_t wanted, gid_t gid, const gid_t *groups, size_t n_groups)
{
	if (wanted == ACCESS_NO_GROUP)
		return false;
	for (size_t i = 0; i < n_groups; i++)
		if (groups[i] == wanted)
			return true;
	return gid == wanted;
}

enum access_scope access_of_peer(const struct access_rules *rules, uid_t uid, gid_t gid,
				 const gid_t *groups, size_t n_groups)
{
	if (uid == 0 || uid == rules->own_uid)
		return ACCESS_ADMIN;
	if (is_in(rules->operate_gid, gid, groups, n_groups))
		return ACCESS_OPERATE;
	if (is_in(rules->read_gid, gid, groups, n_groups))
		return ACCESS_READ;
	return ACCESS_NONE;
}

const char *access_scope_name(enum access_scope scope)
{
	return scope_names[scope];
}

enum access_scope access_scope_find(const char *name)
{
	for (int scope = ACCESS_READ; scope <= ACCESS_ADMIN; scope++)
		if (strcmp(scope_names[scope], name) == 0)
			return (enum access_scope)scope;
	return ACCESS_NONE;
}

static bool is_loopback_v4(uint32_t address)
{
	return ntohl(address) >> 24 == IN_LOOPBACKNET;
}

bool access_is_loopback(const struct sockaddr *address)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)address;
	uint32_t mapped;

	if (address->sa_family == AF_INET)
		return is_loopback_v4(v4->sin_addr.s_addr);
	if (address->sa_family != AF_INET6)
		return false;
	if (!IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
		return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
	memcpy(&mapped, v6->sin6_addr.s6_addr + 12, sizeof(mapped));
	return is_loopback_v4(mapped);
}

bool access_host_is_local(const char *host)
{
	char name[INET6_ADDRSTRLEN] = "";
	struct in_addr v4;
	size_t n;

	if (!host)
		return true;
	if (strncmp(host, "[::1]", 5) == 0)
		return host[5] == '\0' || host[5] == ':';
	n = strcspn(host, ":");
	if (n >= sizeof(name))
		return false;
	memcpy(name, host, n);
	return strcasecmp(name, "localhost") == 0 ||
	       (inet_pton(AF_INET, name, &v4) == 1 && is_loopback_v4(v4.s_addr));
}

bool access_origin_is_own(const char *origin, const char *host)
{
	static const char scheme[] = "https://";
	const size_t n = sizeof(scheme) - 1;

	if (!origin)
		return true;
	return host && strncasecmp(origin, scheme, n) == 0 && strcasecmp(origin + n, host) == 0;
}

/*
 * --- messages of refused requests ---
 * A message contains only facts that the caller knows or that the caller's credentials have proved:
 * a user of this host is named, a caller over TCP without a valid token is not.
 */

/* HTTP status and message for each reason why a principal has no access. */
static const struct {
	unsigned int status;
	const char *message;
} faults[] = {
	[ACCESS_NO_FAULT] = {403, "not permitted for any user"},
	[ACCESS_NOT_IN_GROUP] = {403, "permission denied"},
	[ACCESS_NO_TOKEN] = {401, "a token is required: Authorization: Bearer gvr_..."},
	[ACCESS_BAD_TOKEN] = {401, "unknown or revoked token"},
	[ACCESS_EXPIRED] = {401, "expired token"},
	[ACCESS_BACK_OFF] = {429, "too many invalid tokens from this address: retry later"},
	[ACCESS_TOO_MANY] =
		{429, "too many requests per second from this token, client or address (limit: "
		      "requests_per_s of [access])"},
	[ACCESS_FOREIGN_HOST] = {403, "the Host header names another host (without a token "
				      "only localhost is allowed)"},
	[ACCESS_BAD_CERTIFICATE] = {401,
				    "client certificate: expired, or not issued for clients by "
				    "a CA of tls_client_ca"},
	[ACCESS_UNKNOWN_SUBJECT] = {403, "no section [client NAME] of gover.conf(5) has this "
					 "subject"},
	[ACCESS_FOREIGN_ORIGIN] = {403,
				   "the Origin header names another host (a client certificate "
				   "is not accepted from the page of another host)"},
};

/* What a caller without this scope may not do. */
static const char *const activities[] = {
	[ACCESS_NONE] = "do this",
	[ACCESS_OPEN] = "do this",
	[ACCESS_READ] = "read anything",
	[ACCESS_OPERATE] = "change anything",
	[ACCESS_ADMIN] = "manage tokens or read the audit log",
};

/* The groups that grant a scope. */
struct role {
	const char *group;  /* "": no group is configured */
	const char *larger; /* another group that also grants it; "": none */
	bool exists;	    /* @group exists */
};

static struct role role_of(const struct access_rules *rules, enum access_scope wanted)
{
	bool operates = rules->operate_gid != ACCESS_NO_GROUP;

	if (wanted == ACCESS_READ && rules->read_group[0])
		return (struct role){.group = rules->read_group,
				     .larger = operates ? rules->operate_group : "",
				     .exists = rules->read_gid != ACCESS_NO_GROUP};
	return (struct role){.group = rules->operate_group, .larger = "", .exists = operates};
}

static void write_requirement(const struct access_rules *rules, enum access_scope wanted,
			      const char *user, char words[WORDS_MAX])
{
	struct role role = role_of(rules, wanted);
	const char *group = role.group;

	if (wanted == ACCESS_ADMIN)
		snprintf(words, WORDS_MAX, "root (run the command with sudo)");
	else if (!group[0])
		snprintf(words, WORDS_MAX,
			 "root: [access] of gover.conf(5) configures no group with this right");
	else if (!role.exists)
		snprintf(words, WORDS_MAX,
			 "membership in group %s, which did not exist when gover-d started (run "
			 "`sudo groupadd --system %s && sudo usermod -aG %s %s && sudo systemctl "
			 "restart gover-d`, then log in again)",
			 group, group, group, user);
	else
		snprintf(words, WORDS_MAX,
			 "membership in group %s%s%s (run `sudo usermod -aG %s %s`, then log in "
			 "again)",
			 group, role.larger[0] ? " or " : "", role.larger, group, user);
}

static void explain_user(const struct principal *principal, enum access_scope wanted,
			 const char *request, struct err *reterr)
{
	char user[USERS_NAME_MAX], by_uid[48], who[USERS_NAME_MAX + 32], requires[WORDS_MAX];
	const struct access_rules *rules = principal->rules;
	unsigned long uid = (unsigned long)principal->uid;
	bool named = rules->users && users_find(rules->users, principal->uid, user);

	/* The shell replaces this by the name, also for users that only a name service knows. */
	snprintf(by_uid, sizeof(by_uid), "\"$(id -un %lu)\"", uid);
	if (named)
		snprintf(who, sizeof(who), "user %s (uid %lu)", user, uid);
	else
		snprintf(who, sizeof(who), "uid %lu", uid);
	write_requirement(rules, wanted, named ? user : by_uid, requires);
	(void)err_fail(reterr, 0, "%s may not %s: %s requires %s", who, activities[wanted], request,
		       requires);
}

static void explain_client(const struct principal *principal, enum access_scope wanted,
			   const char *request, struct err *reterr)
{
	const char *scope = access_scope_name(wanted);

	if (principal->subject[0] == '\0')
		(void)err_fail(reterr, 0,
			       "client certificate: its subject is empty or too long (limit %d "
			       "characters)",
			       CLIENT_SUBJECT_MAX - 1);
	else if (principal->scope == ACCESS_NONE)
		(void)err_fail(reterr, 0, "client certificate %s: %s", principal->subject,
			       faults[principal->fault].message);
	else
		(void)err_fail(reterr, 0,
			       "%s has scope %s, %s requires %s: set scope = %s in [%s] of "
			       "gover.conf(5)",
			       principal->name, access_scope_name(principal->scope), request, scope,
			       scope, principal->name);
}

static unsigned int explain(const struct principal *principal, enum access_scope wanted,
			    const char *request, struct err *reterr)
{
	const char *scope = access_scope_name(wanted);
	enum access_fault fault = wanted == ACCESS_NONE ? ACCESS_NO_FAULT : principal->fault;

	if (wanted != ACCESS_NONE && principal->rules) {
		explain_user(principal, wanted, request, reterr);
		return 403;
	}
	if (wanted != ACCESS_NONE && principal->subject) {
		explain_client(principal, wanted, request, reterr);
		return 403;
	}
	if (wanted != ACCESS_NONE && principal->scope != ACCESS_NONE) {
		(void)err_fail(reterr, 0,
			       "%s has scope %s, %s requires %s: create a token with `gover-ctl "
			       "token add NAME --scope %s`",
			       principal->name, access_scope_name(principal->scope), request, scope,
			       scope);
		return 403;
	}
	if (faults[fault].status == 401)
		(void)err_fail(reterr, 0,
			       "%s (%s requires scope %s: create a token with `gover-ctl token add "
			       "NAME --scope %s`)",
			       faults[fault].message, request, scope, scope);
	else
		(void)err_fail(reterr, 0, "%s", faults[fault].message);
	return faults[fault].status;
}

unsigned int access_check(const struct principal *principal, enum access_scope wanted,
			  const char *request, struct err *reterr)
{
	if (wanted == ACCESS_OPEN || (wanted != ACCESS_NONE && principal->scope >= wanted))
		return 0;
	return explain(principal, wanted, request, reterr);
}
