/* SPDX-License-Identifier: MIT */
/*
 * Scopes of users and their names, and what an address discloses about a caller.
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
