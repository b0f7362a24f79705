/* SPDX-License-Identifier: MIT */
/* Who is behind a connection. Must never decide what he may do: the gate and access.h do. */
#include <stdint.h>
#include <stdlib.h>

#include "gover-d/auth/tls.h"
#include "gover-d/http/caller.h"

/* As GnuTLS writes it: nothing older than TLS 1.2. */
#define TLS_PRIORITIES "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

void http_who_connection(const struct gate *gate, struct MHD_Connection *connection,
			 void **socket_context, enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		free(*socket_context);
		*socket_context = NULL;
		return;
	}
	/* Who is not known, or cannot be remembered, may nothing. */
	*socket_context = calloc(1, sizeof(struct peer));
	if (*socket_context && info)
		(void)peer_read(info->connect_fd, gate_rules(gate), *socket_context);
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

void http_who_asks(struct gate *gate, struct MHD_Connection *connection, struct access_who *ret_who)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	*ret_who = (struct access_who){.scope = ACCESS_NONE};
	if (info && info->socket_context)
		gate_identify(gate, info->socket_context,
			      header(connection, MHD_HTTP_HEADER_AUTHORIZATION),
			      header(connection, MHD_HTTP_HEADER_HOST), clock_now(), ret_who);
}

/* libmicrohttpd takes texts and functions as pointers to what may change, and changes none. */
static struct MHD_OptionItem option(enum MHD_OPTION which, uintptr_t value)
{
	return (struct MHD_OptionItem){.option = which, .ptr_value = (void *)value};
}

bool http_who_tls(const struct gate *gate, struct MHD_OptionItem options[HTTP_WHO_TLS_OPTIONS])
{
	int n = 0;

	if (gate_tls(gate)) {
		options[n++] = option(MHD_OPTION_HTTPS_CERT_CALLBACK, (uintptr_t)gate_tls_show);
		options[n++] = option(MHD_OPTION_HTTPS_PRIORITIES, (uintptr_t)TLS_PRIORITIES);
	}
	options[n] = option(MHD_OPTION_END, 0);
	return n > 0;
}
