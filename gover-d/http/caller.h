/* SPDX-License-Identifier: MIT */
/* Connects libmicrohttpd with authentication: peers, principals and TLS. */
#ifndef GOVER_D_HTTP_CALLER_H
#define GOVER_D_HTTP_CALLER_H

#include <microhttpd.h>

#include "gover-d/auth/authn.h"

/*
 * For MHD_OPTION_NOTIFY_CONNECTION: reads the peer of a new connection. The peer and its client
 * certificate are stored as socket context until the connection is closed.
 */
void caller_on_connection(const struct authn *authn, struct MHD_Connection *connection,
			  void **socket_context, enum MHD_ConnectionNotificationCode code);

/*
 * Identifies the caller of a request by the headers of the request, and by the peer and the client
 * certificate of the connection.
 * @host: the host that the request is for; NULL: unknown.
 */
void caller_identify(struct authn *authn, struct MHD_Connection *connection, const char *host,
		     struct principal *ret_principal);

/*
 * Writes the TLS options for MHD_OPTION_ARRAY of a daemon that serves TCP. Returns true if the
 * daemon must be started with MHD_USE_TLS.
 */
#define CALLER_TLS_OPTIONS 3
bool caller_tls_options(const struct authn *authn,
			struct MHD_OptionItem options[CALLER_TLS_OPTIONS]);

#endif
