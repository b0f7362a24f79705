/* SPDX-License-Identifier: MIT */
/*
 * Checks scopes and writes the message of a refusal. The result does not depend on how the caller
 * was authenticated.
 */
#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "gover-d/auth/access.h"

static const char *const scope_names[] = {
	[ACCESS_NONE] = "none",	      [ACCESS_OPEN] = "open",	[ACCESS_READ] = "read",
	[ACCESS_OPERATE] = "operate", [ACCESS_ADMIN] = "admin",
};

/* HTTP status and message for each reason why a principal has no access. */
static const struct {
	unsigned int status;
	const char *message;
} faults[] = {
	[ACCESS_NO_FAULT] = {403, "not permitted for any user"},
	[ACCESS_NOT_IN_GROUP] = {403, "permission denied: neither root nor a member of a group in "
				      "[access] of gover.conf(5)"},
	[ACCESS_NO_TOKEN] = {401, "a token is required: Authorization: Bearer gvr_... (create one "
				  "with `gover-ctl token add`)"},
	[ACCESS_BAD_TOKEN] = {401, "unknown or revoked token"},
	[ACCESS_EXPIRED] = {401, "expired token: create a new one with `gover-ctl token add`"},
	[ACCESS_BACK_OFF] = {429, "too many invalid tokens from this address: retry later"},
	[ACCESS_TOO_MANY] = {429, "too many requests per second from this token or address (limit: "
				  "requests_per_s of [access])"},
	[ACCESS_FOREIGN_HOST] = {403, "the Host header names another host (without a token "
				      "only localhost is allowed)"},
};

unsigned int access_check(const struct principal *principal, enum access_scope wanted,
			  struct err *reterr)
{
	if (wanted == ACCESS_OPEN || (wanted != ACCESS_NONE && principal->scope >= wanted))
		return 0;
	if (principal->scope == ACCESS_NONE || wanted == ACCESS_NONE) {
		enum access_fault fault =
			wanted == ACCESS_NONE ? ACCESS_NO_FAULT : principal->fault;

		(void)err_fail(reterr, 0, "%s", faults[fault].message);
		return faults[fault].status;
	}
	(void)err_fail(reterr, 0, "%s: scope %s required (has %s)", principal->name,
		       scope_names[wanted], scope_names[principal->scope]);
	return 403;
}

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
