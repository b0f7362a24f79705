/* SPDX-License-Identifier: MIT */
/* Reads peers and identifies callers. auth/access.c decides which requests a caller may send. */
#include <stdint.h>
#include <stdlib.h>

#include "base/xalloc.h"
#include "gover-d/auth/tls.h"
#include "gover-d/http/caller.h"

/* GnuTLS priority string: TLS 1.2 or newer. */
#define TLS_PRIORITIES "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

/* The socket context of a connection. */
struct caller {
	struct peer peer;
	struct tls_client client;
};

static const union MHD_ConnectionInfo *info_of(struct MHD_Connection *connection,
					       enum MHD_ConnectionInfoType type)
{
	return MHD_get_connection_info(connection, type);
}

void caller_on_connection(const struct authn *authn, struct MHD_Connection *connection,
			  void **socket_context, enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info =
		info_of(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct caller *caller;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		free(*socket_context);
		*socket_context = NULL;
		return;
	}
	*socket_context = caller = xcalloc(1, sizeof(*caller));
	/* If the peer cannot be read, the struct stays all zero, which means no access. */
	if (info)
		(void)peer_read(info->connect_fd, authn_rules(authn), &caller->peer);
}

/* Returns the client certificate of the connection; NULL: the connection has no TLS. */
static const struct tls_client *check_client(const struct authn *authn,
					     struct MHD_Connection *connection,
					     struct caller *caller, struct instant now)
{
	const union MHD_ConnectionInfo *info =
		info_of(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);

	if (caller->peer.local || !authn_tls(authn) || !info || !info->tls_session)
		return NULL;
	tls_check_client(authn_tls(authn), info->tls_session, now.wall_ms / 1000, &caller->client);
	return &caller->client;
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

void caller_identify(struct authn *authn, struct MHD_Connection *connection, const char *host,
		     struct principal *ret_principal)
{
	const union MHD_ConnectionInfo *info =
		info_of(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct caller *caller = info->socket_context;
	struct instant now = clock_now();
	struct credentials credentials = {
		.authorization = header(connection, MHD_HTTP_HEADER_AUTHORIZATION),
		.host = host,
		.origin = header(connection, MHD_HTTP_HEADER_ORIGIN),
		.client = check_client(authn, connection, caller, now),
	};
	authn_identify(authn, &caller->peer, &credentials, now, ret_principal);
}

/* libmicrohttpd takes strings and functions as non-const pointers, but does not write to them. */
static struct MHD_OptionItem option(enum MHD_OPTION which, uintptr_t value)
{
	return (struct MHD_OptionItem){.option = which, .ptr_value = (void *)value};
}

bool caller_tls_options(const struct authn *authn,
			struct MHD_OptionItem options[CALLER_TLS_OPTIONS])
{
	int n = 0;

	if (authn_tls(authn)) {
		options[n++] =
			option(MHD_OPTION_HTTPS_CERT_CALLBACK, (uintptr_t)tls_select_certificate);
		options[n++] = option(MHD_OPTION_HTTPS_PRIORITIES, (uintptr_t)TLS_PRIORITIES);
	}
	options[n] = option(MHD_OPTION_END, 0);
	return n > 0;
}
