/* SPDX-License-Identifier: MIT */
/* Between libmicrohttpd and the gate: who is behind a connection, who asks, and TLS. */
#ifndef GOVER_D_HTTP_CALLER_H
#define GOVER_D_HTTP_CALLER_H

#include <microhttpd.h>

#include "gover-d/auth/gate.h"

/* For MHD_OPTION_NOTIFY_CONNECTION: the peer is looked at once and kept as the connection's socket
 * context, until it is closed. */
void http_who_connection(const struct gate *gate, struct MHD_Connection *connection,
			 void **socket_context, enum MHD_ConnectionNotificationCode code);

/* Who asks with the headers that have come. */
void http_who_asks(struct gate *gate, struct MHD_Connection *connection,
		   struct access_who *ret_who);

/* For MHD_OPTION_ARRAY, of a daemon that serves TCP. True: with MHD_USE_TLS. */
#define HTTP_WHO_TLS_OPTIONS 3
bool http_who_tls(const struct gate *gate, struct MHD_OptionItem options[HTTP_WHO_TLS_OPTIONS]);

#endif
