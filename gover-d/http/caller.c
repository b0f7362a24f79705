/* SPDX-License-Identifier: MIT */
/* Reads peers and identifies callers. auth/access.c decides which requests a caller may send. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "gover-d/auth/tls.h"
#include "gover-d/http/caller.h"

/* GnuTLS priority string: TLS 1.2 or newer. */
#define TLS_PRIORITIES "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

void caller_on_connection(const struct authn *authn, struct MHD_Connection *connection,
			  void **socket_context, enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		free(*socket_context);
		*socket_context = NULL;
		return;
	}
	/* If the peer cannot be read, the struct stays all zero, which means no access. */
	*socket_context = calloc(1, sizeof(struct peer));
	if (*socket_context && info)
		(void)peer_read(info->connect_fd, authn_rules(authn), *socket_context);
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

int caller_identify(struct authn *authn, struct MHD_Connection *connection, const char *host,
		    struct principal *ret_principal)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	if (!info || !info->socket_context)
		return -ENOMEM;
	authn_identify(authn, info->socket_context,
		       header(connection, MHD_HTTP_HEADER_AUTHORIZATION), host, clock_now(),
		       ret_principal);
	return 0;
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
